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
  .other { fill: #afb8c1 }
  .ours { fill: #0d8a78 }
  .base { stroke: #6e7781; stroke-dasharray: 2 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .quiet { fill: #8b949e }
    .other { fill: #57606a }
    .ours { fill: #2ea893 }
    .base { stroke: #8b949e }
  }
"""


def text(x, y, content, kind=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}">{escape(content)}</text>'


def bar(label, kind, us, ratio, y, scale):
    middle = y + ROW / 2 + 4
    return [
        text(16, middle, label),
        f'<rect x="{LEFT}" y="{y + (ROW - BAR) / 2:.0f}" width="{us * scale:.1f}" height="{BAR}" rx="2" class="{kind}"/>',
        text(COST, middle, f"{us:.1f} µs" if us >= 10 else f"{us:.2f} µs", "figure quiet"),
        text(RATIO, middle, f"{ratio:.2f} ×" if ratio else "", "figure"),
    ]


def panel(title, bars, base, y):
    """One panel, its bars to a scale of its own; a dotted line marks what they are compared with."""
    scale = BARS / max(us for _, _, us, _ in bars)
    shapes = [text(16, y + 20, title, "title")]
    y += HEAD
    if base:
        x = LEFT + base * scale
        shapes.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + len(bars) * ROW}" class="base"/>')
    for i, one in enumerate(bars):
        shapes += bar(*one, y + i * ROW, scale)
    return shapes, y + len(bars) * ROW + GAP


def picture(caption, panels):
    """Panels are (title, bars, what the dotted line marks, in µs, or None); bars are (label, kind, µs, ratio or None)."""
    shapes = [text(16, 26, caption, "quiet")]
    y = 40
    for title, bars, base in panels:
        if bars:
            more, y = panel(title, bars, base, y)
            shapes += more
    body = "\n".join(shapes)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" role="img">\n'
            f'<title>Server CPU per request</title>\n<style>{STYLE}</style>\n{body}\n</svg>\n')
