SELECT local_cache.mget('@table@', @keys@)
