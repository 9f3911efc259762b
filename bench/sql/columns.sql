SELECT id, revision, value FROM @table@ WHERE id = ANY (@keys@)
