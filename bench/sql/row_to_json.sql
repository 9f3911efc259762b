SELECT row_to_json(r) FROM @table@ r WHERE id = ANY (@keys@)
