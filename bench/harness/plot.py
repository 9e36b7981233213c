"""Small line plots in one SVG: x is logarithmic, y starts at zero."""
import math
from html import escape

from .machine import BENCH, ROOT

WIDTH, HEIGHT, COLUMNS = 300, 190, 3
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 34, 34


def write(name, picture, results):
    """Beside the page in `results`; the page in bench/results is part of the documentation, and so is its picture."""
    directory = ROOT / "docs" / "images" if results.resolve() == BENCH / "results" else results
    (directory / f"{name}.svg").write_text(picture)


def text(x, y, words, anchor="middle", weight="normal"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'


def short(number):
    return f"{number / 1e6:g}M" if number >= 1e6 else f"{number / 1e3:g}k" if number >= 1e3 else f"{number:g}"


def panel(series, x0, y0):
    points = series["points"]
    most = max(y for _, y in points) * 1.15 or 1
    low, high = math.log10(points[0][0]), math.log10(points[-1][0])

    def at(n, value):
        share = (math.log10(n) - low) / ((high - low) or 1)
        return (x0 + LEFT + share * (WIDTH - LEFT - RIGHT), y0 + HEIGHT - BOTTOM - value / most * (HEIGHT - TOP - BOTTOM))

    bottom = y0 + HEIGHT - BOTTOM
    out = [text(x0 + WIDTH / 2, y0 + 18, f"{series['title']}, {series['unit']}", weight="bold"),
           f'<path d="M{x0 + LEFT} {y0 + TOP}V{bottom}H{x0 + WIDTH - RIGHT}" class="axis"/>']
    for share in (0.5, 1):
        y = at(points[0][0], most * share)[1]
        out += [f'<path d="M{x0 + LEFT} {y:.1f}H{x0 + WIDTH - RIGHT}" class="grid"/>',
                text(x0 + LEFT - 6, y + 4, f"{most * share:.3g}", "end")]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in points))
    out.append(f'<polyline points="{line}" class="line"/>')
    for n, value in points:
        x, y = at(n, value)
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="dot"/>', text(x, bottom + 16, short(n))]
    return out


def svg(many):
    rows = math.ceil(len(many) / COLUMNS)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * COLUMNS} {HEIGHT * rows}" role="img">',
           "<style>text{font:11px sans-serif;fill:#57606a}.axis,.grid{fill:none;stroke:#8c959f}.grid{stroke-opacity:.3}"
           ".line{fill:none;stroke:#0969da;stroke-width:2}.dot{fill:#0969da}</style>"]
    for i, series in enumerate(many):
        out += panel(series, i % COLUMNS * WIDTH, i // COLUMNS * HEIGHT)
    return "\n".join(out + ["</svg>"]) + "\n"


def bars(title, rows):
    """Name and value, the largest value widest."""
    most = max(value for _, value in rows)
    width, line, left = 720, 26, 190
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {line * len(rows) + 40}" role="img">',
           "<style>text{font:12px sans-serif;fill:#57606a}.bar{fill:#0969da}</style>", text(8, 20, title, "start", "bold")]
    for i, (name, value) in enumerate(rows):
        y = 34 + i * line
        long = max(1, value / most * (width - left - 90))
        out += [text(left - 8, y + 13, name, "end"), f'<rect x="{left}" y="{y}" width="{long:.1f}" height="18" class="bar"/>',
                text(left + long + 6, y + 13, f"{value:,.0f}", "start")]
    return "\n".join(out + ["</svg>"]) + "\n"
