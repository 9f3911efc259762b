"""What the reports of all benchmarks share: from samples to a result, tables, a picture and a page.

A report is a program that fills in a Report and calls main():

    NAME_report.py result MACHINE.tsv SAMPLES.tsv   the result as JSON, on standard output
    NAME_report.py tables RESULT.json               Markdown tables, on standard output
    NAME_report.py publish RESULT.json DOCS         DOCS/benchmarks-NAME.md and what it shows,
                                                    below DOCS/assets/benchmarks
    NAME_report.py check DOCS                       is the page what publish makes of the result that it names?
"""

import json
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from picture import picture

NOISE = 0.02  # a median this close to 1 is no difference


@dataclass
class Report:
    name: str               # sql: bench/sql.sh, docs/benchmarks-sql.md
    columns: dict           # of SAMPLES.tsv, in order: name and type
    cell: tuple             # the columns that tell what was measured; samples that agree in them are of one cell
    costs: Callable         # (sample, machine): sets the sample's server_us and client_us, which are per request
    base_of: Callable       # the cell that a cell is compared with
    medians: dict           # what a cell has the median of: name and digits
    kept: tuple             # what is kept of each sample
    targets: list           # (text, cell, highest ratio; None: within noise)
    targets_head: str
    titles: dict            # names of parts, in the order of the tables, and their titles
    parts: Callable         # of a result: Markdown for each {{name}} of the page
    caption: str            # of the picture
    panels: Callable        # of a result: what the picture shows


# The result: from samples to medians and ratios

def read_machine(path):
    return dict(line.split("\t") for line in Path(path).read_text().splitlines())


def read_samples(path, columns):
    samples = []
    for line in Path(path).read_text().splitlines():
        fields = zip(columns.items(), line.split("\t"), strict=True)
        samples.append({name: read(text) for (name, read), text in fields})
    return samples


def ratios(samples, base):
    """Ratios of server CPU, each of two samples of the same repetition."""
    base_us = {sample["repeat"]: sample["server_us"] for sample in base}
    found = [s["server_us"] / base_us[s["repeat"]] for s in samples if s["repeat"] in base_us]
    return {"median": median(found), "low": min(found), "high": max(found)} if found else None


def summary(report, cell, samples, base):
    asked = sum(s["hits"] + s["misses"] for s in samples)
    row = dict(zip(report.cell, cell))
    for name, digits in report.medians.items():
        row[name] = round(median(s[name] for s in samples), digits)
    row["ratio"] = ratios(samples, base)
    row["hit_share"] = sum(s["hits"] for s in samples) / asked if asked else None
    row["samples"] = [{name: round(s[name], 3) for name in report.kept} for s in samples]
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


def make_result(report, machine, samples):
    cells = {}
    for sample in samples:
        report.costs(sample, machine)
        cells.setdefault(tuple(sample[name] for name in report.cell), []).append(sample)
    rows = {cell: summary(report, cell, of_cell, cells.get(report.base_of(cell), [])) for cell, of_cell in cells.items()}
    verdicts = [verdict(*target, rows) for target in report.targets]
    return {
        "benchmark": f"bench/{report.name}.sh",
        "machine": machine,
        "targets": [v for v in verdicts if v],
        "cells": [rows[cell] for cell in sorted(rows, key=list(rows).index)],
    }


# The tables

def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


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


def targets(report, result):
    rows = []
    for t in result["targets"]:
        ratio = t["ratio"]
        rows.append([t["target"], "within noise" if t["limit"] is None else f"≤ {t['limit']:.2f}",
                     f"{ratio['median']:.2f}", f"{ratio['low']:.2f}–{ratio['high']:.2f}",
                     t["outcome"] if t["outcome"] == "reached" else f"**{t['outcome']}**"])
    return table([report.targets_head, "target", "median", "range", ""], rows) if rows else ""


def parts(report, result):
    return report.parts(result) | {"targets": targets(report, result), "name": result["machine"]["machine"]}


def print_tables(report, result):
    shown = parts(report, result)
    for name, title in report.titles.items():
        if shown[name]:
            print(f"### {title}\n\n{shown[name]}\n")
    if result["machine"]["quick"] != "0":
        print("This was a smoke run: its figures mean nothing.")


# The page

def page(report, result):
    shown = parts(report, result)
    template = (Path(__file__).parent / f"benchmarks-{report.name}.md.in").read_text()
    return re.sub(r"\{\{(\w+)\}\}", lambda m: shown[m[1]], template)


def publish(report, result, source, docs):
    if result["machine"]["quick"] != "0":
        sys.exit(f"a smoke run is not for publishing; run bench/{report.name}.sh at full length")
    if not result["targets"]:
        sys.exit("this result does not tell of any target; it was measured without the extension")
    assets = docs / "assets" / "benchmarks"
    assets.mkdir(parents=True, exist_ok=True)
    kept = assets / f"{report.name}-{result['machine']['machine']}.json"
    if source.resolve() != kept.resolve():
        shutil.copyfile(source, kept)
    kept.with_suffix(".svg").write_text(picture(report.caption, report.panels(result)))
    (docs / f"benchmarks-{report.name}.md").write_text(page(report, result))


def check(report, docs):
    """No number on the page was typed: it and its picture are what publish makes of the result that it names."""
    file = docs / f"benchmarks-{report.name}.md"
    there = file.read_text()
    named = re.search(rf"\((assets/benchmarks/{report.name}-[^)]*\.json)\)", there)
    if not named:
        sys.exit(f"{file} names no result file")
    kept = docs / named[1]
    result = load(kept)
    for path, text in ((file, page(report, result)),
                       (kept.with_suffix(".svg"), picture(report.caption, report.panels(result)))):
        if not path.exists() or path.read_text() != text:
            sys.exit(f"{path} is not what its result file gives; "
                     f"run: bench/lib/{report.name}_report.py publish {kept} {docs}")


def load(path):
    return json.loads(Path(path).read_text())


def main(report, arguments):
    match arguments:
        case ["result", machine_file, samples_file]:
            samples = read_samples(samples_file, report.columns)
            json.dump(make_result(report, read_machine(machine_file), samples), sys.stdout, indent=1)
            print()
        case ["tables", result_file]:
            print_tables(report, load(result_file))
        case ["publish", result_file, docs]:
            publish(report, load(result_file), Path(result_file), Path(docs))
        case ["check", docs]:
            check(report, Path(docs))
        case _:
            sys.exit(__doc__.replace("NAME", report.name))
