SELECT * FROM local_cache.mget_rows(NULL::@table@, @keys@)
