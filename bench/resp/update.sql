\set key random(0, :rows - 1)
UPDATE mixed SET revision = revision + 1 WHERE id = :key
