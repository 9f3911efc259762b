#!/usr/bin/env python3
"""The report of bench/sql.sh; report.py tells what it can be asked for."""

import sys

sys.dont_write_bytecode = True  # leave no files beside the sources
from report import Report, main, number, pivot, rate, table  # noqa: E402

COLUMNS = {
    "suite": str, "table": str, "keys": str, "batch": int, "path": str, "repeat": int,
    "ticks": int, "client_s": float, "requests": int, "per_second": float, "hits": int, "misses": int,
}
CELL = ("suite", "table", "keys", "batch", "path")

PATHS = {
    "columns": "prepared SQL, columns",
    "row_to_json": "prepared SQL, `row_to_json`",
    "json_agg": "prepared SQL, `json_agg`",
    "mget": "`mget`",
    "mget_json": "`mget_json`",
    "mget_rows": "`mget_rows`",
    "floor": "(floor: the keys and no read)",
}
WIDE = {
    "noise_4k": "4 KB, incompressible",
    "prose_4k": "4 KB, compressible",
    "noise_40k": "40 KB, incompressible",
    "prose_40k": "40 KB, compressible",
}
TABLES = {"items_plain": "not attached", "items_attached": "attached"}

TARGETS = [
    ("`mget` of 1 key, warm, fixed keys", ("warm", "items", "fixed", 1, "mget"), 1.0),
    ("`mget` of 1 key, warm, uniform keys", ("warm", "items", "uniform", 1, "mget"), 1.0),
    ("`mget` of 64 keys, warm, fixed keys", ("warm", "items", "fixed", 64, "mget"), 0.85),
    ("`mget` of 64 keys, warm, uniform keys", ("warm", "items", "uniform", 64, "mget"), 0.85),
    ("`mget_json` of 64 keys, warm, fixed keys", ("warm", "items", "fixed", 64, "mget_json"), 0.45),
    ("`mget_json` of 64 keys, warm, uniform keys", ("warm", "items", "uniform", 64, "mget_json"), 0.45),
    ("`mget` of 64 keys, cold", ("cold", "items_cold", "unasked", 64, "mget"), 1.5),
    ("UPDATE of 1 attached row", ("writes", "items_attached", "none", 1, "update_1"), None),
    ("UPDATE of 96 attached rows", ("writes", "items_attached", "none", 1, "update_96"), None),
]


# The result

def base_of(cell):
    """The cell that a cell is compared with."""
    suite, table, keys, batch, path = cell
    return (suite, "items_plain", keys, batch, path) if suite == "writes" else (suite, table, keys, batch, "columns")


def costs(sample, machine):
    """Server CPU per request.  What it costs to connect is taken off; it is paid once a sample."""
    ticks = max(sample["ticks"] - float(machine["ticks_to_connect"]), 1)
    sample["server_us"] = ticks / float(machine["ticks_per_second"]) / sample["requests"] * 1e6
    sample["client_us"] = sample["client_s"] / sample["requests"] * 1e6


# The tables

def cpu(row):
    if not row:
        return ""
    own = row["ratio"] and row["ratio"]["median"] != 1
    return number(row["server_us"]) + (f" ({row['ratio']['median']:.2f})" if own and row["path"] != "floor" else "")


def by_path(cells, across):
    down = [(title, {"path": path}) for path, title in PATHS.items()]
    return "\n\n".join(filter(None, (
        pivot(cells, down, across, "server CPU per request, µs", cpu),
        pivot([c for c in cells if c["path"] != "floor"], down, across, "requests per second", rate))))


def keys_across(result):
    return [(f"{n} key" if n == 1 else f"{n} keys", {"batch": n}) for n in sorted({c["batch"] for c in result["cells"]})]


def reads(result, suite, keys):
    cells = [c for c in result["cells"] if c["suite"] == suite and c["keys"] == keys]
    return by_path(cells, keys_across(result))


def wide(result):
    cells = [c for c in result["cells"] if c["suite"] == "wide"]
    return by_path(cells, [(title, {"table": name}) for name, title in WIDE.items()])


def writes(result):
    cells = [c for c in result["cells"] if c["suite"] == "writes"]
    down = [(title, {"table": name}) for name, title in TABLES.items()]
    across = [("1 row", {"path": "update_1"}), ("96 rows", {"path": "update_96"})]
    return "\n\n".join(filter(None, (
        pivot(cells, down, across, "server CPU per UPDATE, µs", cpu),
        pivot(cells, down, across, "UPDATEs per second", rate))))


def hits(result):
    """The hit share of each kind of work: what was meant to be warm or cold was."""
    rows = []
    for suite, title in (("warm", "warm"), ("cold", "cold"), ("updates", "5 % updates"), ("wide", "large rows")):
        shares = [c["hit_share"] for c in result["cells"]
                  if c["suite"] == suite and c["path"] in ("mget", "mget_json", "mget_rows") and c["hit_share"] is not None]
        if shares:
            rows.append([title, f"{min(shares):.2%}", f"{max(shares):.2%}"])
    return table(["keys answered from the cache", "least", "most"], rows)


def machine(result):
    m = result["machine"]
    return "\n".join(f"- {line}" for line in (
        f"{m['cpu']}, {m['cores']} cores shared by server and client, {int(m['memory_mb']) / 1024:.0f} GB, {m['kernel']}",
        f"PostgreSQL {m['postgresql']}, pg_local_cache {m['extension']}, "
        f"`shared_buffers` {m['shared_buffers']}, `pg_local_cache.memory` {m['memory']}, data on {m['data_on']}",
        f"{m['clients']} connections, {m['repeats']} repetitions, {m['seconds']} s a sample, load before the run {m['load_before']}",
        f"measured on {m['date']}",
    ))


def parts(result):
    return {
        "machine": machine(result),
        "warm_fixed": reads(result, "warm", "fixed"),
        "warm_uniform": reads(result, "warm", "uniform"),
        "cold": reads(result, "cold", "unasked"),
        "updates": reads(result, "updates", "uniform"),
        "writes": writes(result),
        "wide": wide(result),
        "hits": hits(result),
    }


# The picture

DRAWN = {
    "columns": ("prepared SQL, columns", "other"),
    "row_to_json": ("prepared SQL, row_to_json", "other"),
    "json_agg": ("prepared SQL, json_agg", "other"),
    "mget": ("mget", "ours"),
    "mget_json": ("mget_json", "ours"),
}
PANELS = [
    ("1 key, warm", ("warm", "items", "fixed", 1)),
    ("16 keys, warm", ("warm", "items", "fixed", 16)),
    ("64 keys, warm", ("warm", "items", "fixed", 64)),
    ("64 keys, no key asked before", ("cold", "items_cold", "unasked", 64)),
    ("64 keys, 5 % of the requests are updates", ("updates", "items_mixed", "uniform", 64)),
    ("16 rows of 4 KB, incompressible", ("wide", "noise_4k", "uniform", 16)),
]


def panels(result):
    cells = {tuple(c[name] for name in CELL): c for c in result["cells"]}
    for title, group in PANELS:
        rows = {path: cells[group + (path,)] for path in DRAWN if group + (path,) in cells}
        bars = [(*DRAWN[path], row["server_us"], row["ratio"] and path != "columns" and row["ratio"]["median"])
                for path, row in rows.items()]
        yield title, bars, rows["columns"]["server_us"] if "columns" in rows else None


REPORT = Report(
    name="sql",
    columns=COLUMNS,
    cell=CELL,
    costs=costs,
    base_of=base_of,
    medians={"server_us": 2, "client_us": 2, "per_second": 1},
    kept=("repeat", "requests", "server_us", "client_us", "per_second", "hits", "misses"),
    targets=TARGETS,
    targets_head="server CPU, as a share of the same work without the cache",
    titles={
        "machine": "Machine", "warm_fixed": "Warm, fixed keys", "warm_uniform": "Warm, uniform keys", "cold": "Cold",
        "updates": "5 % updates", "writes": "Writes", "wide": "Large rows, 16 keys", "hits": "Hits", "targets": "Targets",
    },
    parts=parts,
    caption="Server CPU per request, and its ratio to prepared SQL; less is better",
    panels=panels,
)

if __name__ == "__main__":
    main(REPORT, sys.argv[1:])
