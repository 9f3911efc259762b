#!/usr/bin/env python3
"""From the samples of bench/sql.sh to a result, tables, pictures and the page.

    sql_report.py result MACHINE.tsv SAMPLES.tsv   the result as JSON, on standard output
    sql_report.py tables RESULT.json               Markdown tables, on standard output
    sql_report.py publish RESULT.json DOCS         DOCS/benchmarks-sql.md and what it shows,
                                                   below DOCS/assets/benchmarks
"""

import json
import re
import shutil
import sys
from pathlib import Path
from statistics import median

sys.dont_write_bytecode = True  # leave no files beside the sources
from sql_picture import picture  # noqa: E402

COLUMNS = "suite table keys batch path repeat ticks client_s requests per_second hits misses".split()

KEPT = "repeat requests server_us client_us per_second hits misses".split()

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

# Targets: text, cell, highest ratio.  A limit of None means within noise.
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
NOISE = 0.02  # a median this close to 1 is no difference


# The result: from samples to medians and ratios

def read_machine(path):
    return dict(line.split("\t") for line in Path(path).read_text().splitlines())


def read_samples(path):
    samples = []
    for line in Path(path).read_text().splitlines():
        sample = dict(zip(COLUMNS, line.split("\t"), strict=True))
        for name in ("batch", "repeat", "ticks", "requests", "hits", "misses"):
            sample[name] = int(sample[name])
        for name in ("client_s", "per_second"):
            sample[name] = float(sample[name])
        samples.append(sample)
    return samples


def cell_of(sample):
    return tuple(sample[name] for name in ("suite", "table", "keys", "batch", "path"))


def base_of(cell):
    """The cell that a cell is compared with."""
    suite, table, keys, batch, path = cell
    return (suite, "items_plain", keys, batch, path) if suite == "writes" else (suite, table, keys, batch, "columns")


def server_us(sample, machine):
    """Server CPU per request.  What it costs to connect is taken off; it is paid once a sample."""
    ticks = max(sample["ticks"] - float(machine["ticks_to_connect"]), 1)
    return ticks / float(machine["ticks_per_second"]) / sample["requests"] * 1e6


def ratios(samples, base):
    """Ratios of server CPU, each of two samples of the same repetition."""
    base_us = {sample["repeat"]: sample["server_us"] for sample in base}
    found = [s["server_us"] / base_us[s["repeat"]] for s in samples if s["repeat"] in base_us]
    return {"median": median(found), "low": min(found), "high": max(found)} if found else None


def summary(cell, samples, base):
    asked = sum(s["hits"] + s["misses"] for s in samples)
    row = dict(zip(("suite", "table", "keys", "batch", "path"), cell))
    for name, digits in (("server_us", 2), ("client_us", 2), ("per_second", 1)):
        row[name] = round(median(s[name] for s in samples), digits)
    row["ratio"] = ratios(samples, base)
    row["hit_share"] = sum(s["hits"] for s in samples) / asked if asked else None
    row["samples"] = [{name: round(s[name], 3) for name in KEPT} for s in samples]
    return row


def verdict(text, cell, limit, rows):
    """How a target was met; None if it was not measured."""
    row = rows.get(cell)
    if not row or not row["ratio"]:
        return None
    ratio = row["ratio"]
    if ratio["median"] <= (limit or 1 + NOISE):
        outcome = "reached"
    elif limit is None and ratio["low"] <= 1:
        outcome = "undecided"
    else:
        outcome = "missed"
    return {"target": text, "limit": limit, "ratio": ratio, "outcome": outcome}


def make_result(machine, samples):
    cells = {}
    for sample in samples:
        sample["server_us"] = server_us(sample, machine)
        sample["client_us"] = sample["client_s"] / sample["requests"] * 1e6
        cells.setdefault(cell_of(sample), []).append(sample)
    rows = {cell: summary(cell, of_cell, cells.get(base_of(cell), [])) for cell, of_cell in cells.items()}
    verdicts = [verdict(*target, rows) for target in TARGETS]
    return {
        "benchmark": "bench/sql.sh",
        "machine": machine,
        "targets": [v for v in verdicts if v],
        "cells": [rows[cell] for cell in sorted(rows, key=list(rows).index)],
    }


# The tables

def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def cpu(row):
    if not row:
        return ""
    own = row["ratio"] and row["ratio"]["median"] != 1
    return number(row["server_us"]) + (f" ({row['ratio']['median']:.2f})" if own and row["path"] != "floor" else "")


def rate(row):
    return number(row["per_second"]) if row else ""


def pivot(cells, down, across, head, show):
    """Rows and columns are lists of (title, what a cell must have); empty rows and columns are left out."""
    def find(*wanted):
        want = {name: value for part in wanted for name, value in part.items()}
        return next((c for c in cells if all(c[n] == v for n, v in want.items())), None)

    across = [(title, want) for title, want in across if any(find(want, d) for _, d in down)]
    rows = [[title] + [show(find(want, a)) for _, a in across] for title, want in down if any(find(want, a) for _, a in across)]
    return table([head] + [title for title, _ in across], rows) if rows else ""


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


def targets(result):
    rows = []
    for t in result["targets"]:
        ratio = t["ratio"]
        rows.append([t["target"], "within noise" if t["limit"] is None else f"≤ {t['limit']:.2f}",
                     f"{ratio['median']:.2f}", f"{ratio['low']:.2f}–{ratio['high']:.2f}",
                     t["outcome"] if t["outcome"] == "reached" else f"**{t['outcome']}**"])
    return table(["server CPU, as a share of the same work without the cache", "target", "median", "range", ""], rows)


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
        "name": result["machine"]["machine"],
        "targets": targets(result),
        "warm_fixed": reads(result, "warm", "fixed"),
        "warm_uniform": reads(result, "warm", "uniform"),
        "cold": reads(result, "cold", "unasked"),
        "updates": reads(result, "updates", "uniform"),
        "writes": writes(result),
        "wide": wide(result),
        "hits": hits(result),
    }


def print_tables(result):
    titles = {
        "machine": "Machine", "warm_fixed": "Warm, fixed keys", "warm_uniform": "Warm, uniform keys", "cold": "Cold",
        "updates": "5 % updates", "writes": "Writes", "wide": "Large rows, 16 keys", "hits": "Hits", "targets": "Targets",
    }
    shown = parts(result)
    for name, title in titles.items():
        if shown[name]:
            print(f"### {title}\n\n{shown[name]}\n")
    if result["machine"]["quick"] != "0":
        print("This was a smoke run: its figures mean nothing.")


# The page

def publish(result, source, docs):
    if result["machine"]["quick"] != "0":
        sys.exit("sql_report.py: a smoke run is not for publishing; run bench/sql.sh without QUICK")
    assets = docs / "assets" / "benchmarks"
    assets.mkdir(parents=True, exist_ok=True)
    kept = assets / f"sql-{result['machine']['machine']}.json"
    if source.resolve() != kept.resolve():
        shutil.copyfile(source, kept)
    kept.with_suffix(".svg").write_text(picture(result))
    shown = parts(result)
    page = (Path(__file__).parent / "benchmarks-sql.md.in").read_text()
    (docs / "benchmarks-sql.md").write_text(re.sub(r"\{\{(\w+)\}\}", lambda m: shown[m[1]], page))


def main(arguments):
    match arguments:
        case ["result", machine_file, samples_file]:
            json.dump(make_result(read_machine(machine_file), read_samples(samples_file)), sys.stdout, indent=1)
            print()
        case ["tables", result_file]:
            print_tables(json.loads(Path(result_file).read_text()))
        case ["publish", result_file, docs]:
            publish(json.loads(Path(result_file).read_text()), Path(result_file), Path(docs))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
