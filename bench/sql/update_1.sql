\set key random(1, :rows)
UPDATE @table@ SET revision = revision + 1 WHERE id = :key
