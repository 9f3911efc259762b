# pg_local_cache: `make`, `make install`, `make help`.  PG_CONFIG chooses the server.

EXTENSION   = pg_local_cache
MODULE_big  = pg_local_cache
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" pg_local_cache.control)
OBJS        = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c)))
DATA_built  = sql/$(EXTENSION)--$(EXTVERSION).sql
DATA        = $(filter-out $(DATA_built),$(wildcard sql/$(EXTENSION)--*--*.sql))
EXTRA_CLEAN = $(DATA_built) output_iso results test/regress/output test/isolation/output test/tap/tmp_check \
              test/unit/bin test/fuzz/bin tmp_check

# CI passes WERROR=1; a user's newer compiler must not stop the build for a new warning.
PG_CPPFLAGS = -Isrc -DPLC_VERSION='"$(EXTVERSION)"' $(PLC_RULES)
PG_CFLAGS   = -std=gnu99 -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers \
              $(if $(WERROR),-Werror) -fno-semantic-interposition
# Nobody replaces functions of ours from outside, so they may be inlined, and called without a detour.
SHLIB_LINK  = -Wl,-Bsymbolic-functions

PG_CONFIG  ?= pg_config
PGXS       := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)

REGRESS       = $(sort $(notdir $(basename $(wildcard test/regress/sql/*.sql))))
REGRESS_OPTS  = --inputdir=test/regress --outputdir=test/regress/output --temp-instance=tmp_check/regress \
                --temp-config=test/postgresql.conf --temp-config=test/regress/regress.conf --encoding=UTF8 --no-locale --load-extension=pg_local_cache
ISOLATION      = $(sort $(notdir $(basename $(wildcard test/isolation/specs/*.spec))))
ISOLATION_OPTS = --inputdir=test/isolation --outputdir=test/isolation/output --temp-instance=tmp_check/isolation \
                 --temp-config=test/postgresql.conf --encoding=UTF8 --no-locale --load-extension=pg_local_cache

REGRESS_PREP   = test-folders

# Some targets need no server.
ifneq ($(wildcard $(PGXS)),)
include $(PGXS)
else ifneq ($(filter-out help doccheck unit unit-asan unit-tsan fuzz,$(or $(MAKECMDGOALS),all)),)
$(error no PostgreSQL to build for: "$(PG_CONFIG) --pgxs" names no makefile. \
Install postgresql-server-dev-NN for your server version NN, or set PG_CONFIG to the pg_config of a server)
endif

$(DATA_built): sql/$(EXTENSION).sql $(EXTENSION).control
	cp $< $@

# Headers are few and small: any change rebuilds all, and the bitcode that a server with JIT may inline.
$(OBJS) $(OBJS:.o=.bc): $(wildcard src/*.h src/*/*.h) $(EXTENSION).control

# pg_regress makes the last folder of a path only.
test-folders:
	mkdir -p tmp_check test/regress/output test/isolation/output

.PHONY: test-folders help unit unit-asan unit-tsan fuzz tap headercheck doccheck bench bench-resp
help:
	@sed -n 's/^## //p' Makefile

## all           build (default)
## install       install into the server of PG_CONFIG
## installcheck  regression and isolation tests, in a temporary server
## tap           tests of whole servers: restart, crash, standby, races
## unit          tests of the modules that need no server (unit-asan, unit-tsan: under sanitizers)
## fuzz          random bytes for what reads bytes of clients, with clang; 10 s, or FUZZ_SECONDS=
## headercheck   each header compiles alone, includes point one way
## doccheck      settings, functions and counters in docs agree with the code
## bench         SQL side by side with prepared statements
## bench-resp    the endpoint side by side with Redis
unit:
	$(MAKE) -C test/unit check
unit-asan:
	$(MAKE) -C test/unit asan
unit-tsan:
	$(MAKE) -C test/unit tsan
fuzz:
	$(MAKE) -C test/fuzz run
tap:
	rm -rf test/tap/tmp_check tmp_check/tap
	cd test/tap && PG_CONFIG=$(PG_CONFIG) prove -I lib $(or $(PROVE_TESTS),t/*.pl)
headercheck:
	scripts/headercheck.sh $(PG_CONFIG)
doccheck:
	scripts/doccheck.sh
bench:
	bench/sql.sh
bench-resp:
	bench/resp.sh
