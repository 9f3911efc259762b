#!/usr/bin/env python3
"""The report of bench/resp.sh; report.py tells what it can be asked for."""

import sys

sys.dont_write_bytecode = True  # leave no files beside the sources
from report import Report, main, number, pivot, rate, table  # noqa: E402

COLUMNS = {
    "suite": str, "keys": str, "batch": int, "pipeline": int, "server": str, "writes": int, "repeat": int,
    "server_ns": int, "postgres_ns": int, "client_s": float, "requests": int, "per_second": float,
    "p50_ms": float, "p99_ms": float, "hits": int, "misses": int, "written": int,
}
CELL = ("suite", "keys", "batch", "pipeline", "server", "writes")

SERVERS = {
    "redis": "Redis",
    "valkey": "Valkey",
    "ours": "pg_local_cache",
    "ours_2": "pg_local_cache, 2 workers",
    "floor": "(floor: a constant answer)",
}
SHAPES = {
    "1 key": {"batch": 1, "pipeline": 1},
    "16 keys": {"batch": 16, "pipeline": 1},
    "64 keys": {"batch": 64, "pipeline": 1},
    "1 key, pipelines of 16": {"batch": 1, "pipeline": 16},
}


def reads_target(text, batch, pipeline, limit):
    return [(f"{text}, {keys} keys", ("reads", keys, batch, pipeline, "ours", 0), limit) for keys in ("fixed", "random")]


TARGETS = (
    reads_target("1 key", 1, 1, 1.0)
    + reads_target("64 keys", 64, 1, 0.85)
    + reads_target("1 key, pipelines of 16", 1, 16, 0.85)
    + [("1 key, with writes beside, to the same without", ("updates", "random", 1, 1, "ours", 1), 1.1),
       ("64 keys, with writes beside, to the same without", ("updates", "random", 64, 1, "ours", 1), 1.1)]
)


# The result

def base_of(cell):
    """The cell that a cell is compared with: Redis, or with writes beside the same without."""
    suite, keys, batch, pipeline, server, writes = cell
    return (suite, keys, batch, pipeline, server if writes else "redis", 0)


def costs(sample, machine):
    requests = sample["requests"]
    sample["server_us"] = sample["server_ns"] / 1e3 / requests
    sample["postgres_us"] = sample["postgres_ns"] / 1e3 / requests if sample["server"].startswith("ours") else 0
    sample["client_us"] = sample["client_s"] / requests * 1e6
    sample["busy"] = sample["server_us"] / 1e6 * sample["per_second"]
    sample["written_share"] = sample["written"] / requests


# The tables

def cpu(row):
    if not row:
        return ""
    compared = row["ratio"] and row["server"] not in ("redis", "floor") and not row["writes"]
    return number(row["server_us"]) + (f" ({row['ratio']['median']:.2f})" if compared else "")


def busy(row):
    return f"{row['busy']:.0%}" if row else ""


def cells_of(result, **want):
    return [c for c in result["cells"] if all(c[name] == value for name, value in want.items())]


def across():
    return list(SHAPES.items())


def by_server(cells):
    down = [(title, {"server": server}) for server, title in SERVERS.items()]
    return "\n\n".join(filter(None, (
        pivot(cells, down, across(), "server CPU per request, µs", cpu),
        pivot(cells, down, across(), "requests per second", rate))))


def reads(result, keys):
    return by_server(cells_of(result, suite="reads", keys=keys))


def busyness(result):
    down = [(title, {"server": server}) for server, title in SERVERS.items()]
    return pivot(cells_of(result, suite="reads", keys="random"), down, across(), "of one core", busy)


def updates(result):
    """A row a server and batch; what the writes cost is the ratio with to without."""
    rows = []
    for server, title in SERVERS.items():
        for shape, want in SHAPES.items():
            pair = [cells_of(result, suite="updates", server=server, writes=w, **want) for w in (0, 1)]
            if all(pair):
                (without,), (beside,) = pair
                ratio = beside["ratio"]
                rows.append([f"{title}, {shape}", number(without["server_us"]), number(beside["server_us"]),
                             f"{ratio['median']:.2f}", f"{ratio['low']:.2f}–{ratio['high']:.2f}",
                             number(without["per_second"]), number(beside["per_second"]),
                             f"{beside['written_share'] * 100:.2f}"])
    return table(["server CPU per read request, µs", "without", "with", "ratio", "range", "reads/s without", "reads/s with",
                  "writes for 100 reads"], rows) if rows else ""


def whole(result):
    """What all of PostgreSQL used beside the workers, with writes."""
    rows = [[shape, number(c["server_us"]), number(c["postgres_us"])]
            for shape, want in SHAPES.items()
            for c in cells_of(result, suite="updates", server="ours", writes=1, **want)]
    return table(["CPU per read request with writes beside, µs", "worker", "all of PostgreSQL"], rows) if rows else ""


def hits(result):
    """What was meant to be in the cache was."""
    rows = []
    for title, want in (("reads", {"suite": "reads"}), ("2 workers", {"suite": "workers", "server": "ours_2"}),
                        ("with writes beside", {"suite": "updates", "writes": 1})):
        shares = [c["hit_share"] for c in cells_of(result, **want)
                  if c["server"].startswith("ours") and c["hit_share"] is not None]
        if shares:
            rows.append([title, f"{min(shares):.2%}", f"{max(shares):.2%}"])
    return table(["keys answered from the cache", "least", "most"], rows) if rows else ""


def machine(result):
    m = result["machine"]
    servers = [f"Redis {m['redis']}", f"Valkey {m['valkey']}" if m["valkey"] else "Valkey not installed"]
    return "\n".join(f"- {line}" for line in (
        f"{m['cpu']}, {m['cores']} cores shared by server and client, {int(m['memory_mb']) / 1024:.0f} GB, {m['kernel']}",
        f"PostgreSQL {m['postgresql']}, pg_local_cache {m['extension']}, "
        f"`shared_buffers` {m['shared_buffers']}, `pg_local_cache.memory` {m['memory']}",
        f"{', '.join(servers)}; in brackets the allocator",
        f"redis-benchmark {m['client']}, one thread, {m['clients']} connections over TCP on 127.0.0.1",
        f"{m['repeats']} repetitions, about {m['seconds']} s a sample, load before the run {m['load_before']}",
        f"measured on {m['date']}",
    ))


def parts(result):
    return {
        "machine": machine(result),
        "fixed": reads(result, "fixed"),
        "random": reads(result, "random"),
        "workers": by_server(cells_of(result, suite="workers")),
        "updates": updates(result),
        "whole": whole(result),
        "busy": busyness(result),
        "hits": hits(result),
    }


# The picture

DRAWN = {
    "redis": ("Redis", "other"),
    "valkey": ("Valkey", "other"),
    "ours": ("pg_local_cache", "ours"),
    "floor": ("floor: a constant answer", "other"),
}


def panels(result):
    for shape, want in SHAPES.items():
        cells = {c["server"]: c for c in cells_of(result, suite="reads", keys="random", **want)}
        bars = [(*DRAWN[server], cells[server]["server_us"],
                 server in ("ours", "valkey") and cells[server]["ratio"] and cells[server]["ratio"]["median"])
                for server in DRAWN if server in cells]
        yield f"{shape}, random", bars, cells["redis"]["server_us"] if "redis" in cells else None


REPORT = Report(
    name="resp",
    columns=COLUMNS,
    cell=CELL,
    costs=costs,
    base_of=base_of,
    medians={"server_us": 2, "postgres_us": 2, "client_us": 2, "per_second": 1, "busy": 3, "written_share": 5, "p50_ms": 3,
             "p99_ms": 3},
    kept=("repeat", "requests", "server_us", "postgres_us", "client_us", "per_second", "busy", "p50_ms", "p99_ms", "hits",
          "misses", "written"),
    targets=TARGETS,
    targets_head="server CPU per request, as a share of Redis's",
    titles={
        "machine": "Machine", "fixed": "Fixed keys", "random": "Random keys", "workers": "Two workers",
        "updates": "Writes beside", "whole": "All of PostgreSQL", "busy": "How busy the server was", "hits": "Hits",
        "targets": "Targets",
    },
    parts=parts,
    caption="Server CPU per request, and its ratio to Redis; less is better",
    panels=panels,
)

if __name__ == "__main__":
    main(REPORT, sys.argv[1:])
