-- Each client has rows of its own, so that nobody waits for a lock.
\set first 1 + 96 * (:client_id + :clients * random(0, :rows / (96 * :clients) - 1))
UPDATE @table@ SET revision = revision + 1 WHERE id BETWEEN :first AND :first + 95
