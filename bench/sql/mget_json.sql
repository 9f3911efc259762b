SELECT local_cache.mget_json('@table@', @keys@)
