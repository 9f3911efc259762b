-- A scenario: :setup and :attach, warm the cache for :keys of :rel, then :hazard, then compare.  Three times:
--   warm    nothing has happened since the hazard
--   later   an unrelated transaction has committed since
--   cold    all entries were forgotten
-- Printed for each: the verdict, and the hits of mget before the hazard, in the first read after it, in the second.
\set state warm
\i :in_state
\set report :name ': warm ' :verdict
\set state later
\i :in_state
\set report :report ', later ' :verdict
\set state cold
\i :in_state
\echo :report, cold :verdict
