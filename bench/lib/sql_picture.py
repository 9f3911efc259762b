"""The picture of a benchmark result: server CPU per request, one panel a kind of work, as SVG."""

from html import escape

WIDTH, LEFT, BARS = 720, 206, 350     # the page's width, where bars begin, the longest bar
COST, RATIO = 644, 704                # where the columns of figures end
ROW, BAR, HEAD, GAP = 24, 14, 30, 18  # heights: a row, its bar, a panel's title, between panels

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600 }
  .quiet { fill: #6e7781 }
  .figure { text-anchor: end; font-variant-numeric: tabular-nums }
  .sql { fill: #afb8c1 }
  .cache { fill: #0d8a78 }
  .base { stroke: #6e7781; stroke-dasharray: 2 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .quiet { fill: #8b949e }
    .sql { fill: #57606a }
    .cache { fill: #2ea893 }
    .base { stroke: #8b949e }
  }
"""

PATHS = {
    "columns": ("prepared SQL, columns", "sql"),
    "row_to_json": ("prepared SQL, row_to_json", "sql"),
    "json_agg": ("prepared SQL, json_agg", "sql"),
    "mget": ("mget", "cache"),
    "mget_json": ("mget_json", "cache"),
}
PANELS = [
    ("1 key, warm", ("warm", "items", "fixed", 1)),
    ("16 keys, warm", ("warm", "items", "fixed", 16)),
    ("64 keys, warm", ("warm", "items", "fixed", 64)),
    ("64 keys, no key asked before", ("cold", "items_cold", "unasked", 64)),
    ("64 keys, 5 % of the requests are updates", ("updates", "items_mixed", "uniform", 64)),
    ("16 rows of 4 KB, incompressible", ("wide", "noise_4k", "uniform", 16)),
]


def text(x, y, content, kind=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}">{escape(content)}</text>'


def bar(row, y, scale):
    label, kind = PATHS[row["path"]]
    length = row["server_us"] * scale
    middle = y + ROW / 2 + 4
    ratio = f"{row['ratio']['median']:.2f} ×" if row["path"] != "columns" and row["ratio"] else ""
    return [
        text(16, middle, label),
        f'<rect x="{LEFT}" y="{y + (ROW - BAR) / 2:.0f}" width="{length:.1f}" height="{BAR}" rx="2" class="{kind}"/>',
        text(COST, middle, f"{row['server_us']:.1f} µs", "figure quiet"),
        text(RATIO, middle, ratio, "figure"),
    ]


def panel(title, rows, y):
    """One panel, its bars to a scale of its own; a dotted line marks prepared SQL."""
    scale = BARS / max(row["server_us"] for row in rows)
    shapes = [text(16, y + 20, title, "title")]
    y += HEAD
    base = next((row for row in rows if row["path"] == "columns"), None)
    if base:
        x = LEFT + base["server_us"] * scale
        shapes.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + len(rows) * ROW}" class="base"/>')
    for i, row in enumerate(rows):
        shapes += bar(row, y + i * ROW, scale)
    return shapes, y + len(rows) * ROW + GAP


def picture(result):
    cells = {(c["suite"], c["table"], c["keys"], c["batch"], c["path"]): c for c in result["cells"]}
    shapes = [text(16, 26, "Server CPU per request, and its ratio to prepared SQL; less is better", "quiet")]
    y = 40
    for title, group in PANELS:
        rows = [cells[group + (path,)] for path in PATHS if group + (path,) in cells]
        if rows:
            more, y = panel(title, rows, y)
            shapes += more
    body = "\n".join(shapes)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" role="img">\n'
            f'<title>Server CPU per request</title>\n<style>{STYLE}</style>\n{body}\n</svg>\n')
