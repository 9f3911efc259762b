SELECT json_agg(r) FROM @table@ r WHERE id = ANY (@keys@)
