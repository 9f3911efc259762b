\o /dev/null
:setup
:attach
SELECT plc.compare(:'rel', :'keys', :'match');
SELECT verdict AS verdict0, hits AS hits0 FROM plc.compare(:'rel', :'keys', :'match') \gset
:hazard
SELECT plc.enter_state(:'state');
SELECT verdict AS verdict1, hits AS hits1 FROM plc.compare(:'rel', :'keys', :'match') \gset
SELECT verdict AS verdict2, hits AS hits2 FROM plc.compare(:'rel', :'keys', :'match') \gset
:cleanup
SELECT string_agg(DISTINCT v, ' / ') || format(' (%s %s %s)', :hits0, :hits1, :hits2) AS verdict
FROM unnest(ARRAY[:'verdict0', :'verdict1', :'verdict2']) AS v \gset
\o
