# SPDX-License-Identifier: BSD-3-Clause
"""Drawing in SVG: shapes that are named by what they mean, and the colours of a page.

A picture is drawn once and looks right in three places.  In a page the colours are variables,
which follow the reader's light or dark setting.  A file by itself has the light colours written
into it, because many programs that show SVG do not know variables.
"""

from __future__ import annotations

import math
import re

from ..core.markup import escape

# Light and dark: ink, faint ink, lines of a grid, paper, soft paper, what is bad, cells of a heat
# map, and series.  A test computes whether each can be told from what is behind it.
LIGHT = {"ink": "#1d2430", "faint": "#5d6675", "grid": "#dfe3e9", "paper": "#ffffff",
         "soft": "#f4f6f9", "bad": "#a3271b", "heat": "#1f6fb4", "s0": "#1764ab",
         "s1": "#d1541b", "s2": "#24854a", "s3": "#8446b0", "s4": "#a87400", "s5": "#0f8794",
         "s6": "#c2366f", "s7": "#5f6b7a"}
DARK = {"ink": "#e8ebf0", "faint": "#a3acba", "grid": "#343c48", "paper": "#171b22",
        "soft": "#1f252e", "bad": "#ff9a8b", "heat": "#2f83cc", "s0": "#6fb3f2",
        "s1": "#f79a66", "s2": "#6cd190", "s3": "#c9a0ec", "s4": "#e4bd52", "s5": "#58cfdc",
        "s6": "#f48bb4", "s7": "#b4bdca"}
N_SERIES = 8

# How much of its colour the palest and the fullest cell of a heat map have: the ink of their
# numbers can be read on both, in the light and in the dark.
PALE, FULL = 0.2, 0.76

# How pictures look.  A page has this once, a file has it inside.
STYLE = """
svg text{font:12px system-ui,"DejaVu Sans",sans-serif;fill:var(--ink)}
svg .head{font-weight:600;font-size:13px}
svg .faint{fill:var(--faint)}
svg .small{font-size:11px}
svg .grid{stroke:var(--grid);stroke-width:1}
svg .axis{stroke:var(--faint);stroke-width:1}
svg .line{fill:none;stroke-width:2;stroke-linejoin:round}
svg .theory{fill:none;stroke:var(--ink);stroke-width:1.4;stroke-dasharray:2 5}
svg .quiet{pointer-events:none}
svg .heat{fill:var(--heat);stroke:var(--grid)}
svg .mark{fill:none;stroke:var(--ink);stroke-width:2}
svg .hollow{fill:var(--paper);stroke-width:1.5}
svg .waiting{stroke-dasharray:3 2}
svg .lost{fill:var(--bad)}
svg .cross{stroke:var(--paper);stroke-width:1.5}
svg .middle{stroke:var(--ink);stroke-width:3}
svg .none{fill:var(--grid)}
""" + "".join(f"svg .f{i}{{fill:var(--s{i})}}svg .k{i}{{stroke:var(--s{i})}}\n"
              for i in range(N_SERIES))


def variables(colours: dict[str, str]) -> str:
    """The colours as declarations of CSS."""
    return "".join(f"--{name}:{value};" for name, value in colours.items())


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Words whose baseline is at y; anchor is start, middle or end."""
    extra = f' class="{kind}"' if kind else ""
    if anchor != "start":
        extra += f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}"{extra}>{escape(words)}</text>'


def sloping(x: float, y: float, words: str, degrees: float) -> str:
    """Words that end at (x, y) and rise towards it."""
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="end" '
            f'transform="rotate(-{degrees:.0f} {x:.1f} {y:.1f})">{escape(words)}</text>')


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def path(points: list[tuple[float, float]], kind: str) -> str:
    """A line through points."""
    steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{steps}" class="{kind}"/>'


def box(x: float, y: float, width: float, height: float, kind: str, tip: str = "",
        more: str = "") -> str:
    """A rectangle that tells `tip` when the pointer is on it."""
    shape = (f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" '
             f'height="{max(height, 0):.1f}" class="{kind}"{more}')
    return shape + (f"><title>{escape(tip)}</title></rect>" if tip else "/>")


def mark(shape: int, x: float, y: float, kind: str, tip: str = "") -> str:
    """A mark of one of four shapes: circle, square, triangle, diamond."""
    r = 4.2
    inner = f"><title>{escape(tip)}</title>" if tip else ">"
    if shape % 4 == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" class="{kind}"{inner}</circle>'
    if shape % 4 == 1:
        points = [(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)]
    elif shape % 4 == 2:
        points = [(x, y - 5.2), (x + 5, y + 4), (x - 5, y + 4)]
    else:
        points = [(x, y - 5.6), (x + 5.6, y), (x, y + 5.6), (x - 5.6, y)]
    steps = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    return f'<polygon points="{steps}" class="{kind}"{inner}</polygon>'


def picture(width: float, height: float, name: str, parts: list[str]) -> str:
    """The parts as one picture; `name` is for readers who do not see it."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'role="img" aria-label="{escape(name, quote=True)}">' + "\n".join(parts) + "</svg>")


def alone(drawn: str) -> str:
    """A picture as a file by itself, with the light colours."""
    style = re.sub(r"var\(--(\w+)\)", lambda m: LIGHT[m[1]], STYLE)
    width, height = re.findall(r'viewBox="0 0 (\d+) (\d+)"', drawn)[0]
    paper = f'<rect width="{width}" height="{height}" fill="{LIGHT["paper"]}"/>'
    head, rest = drawn.split(">", 1)
    head += f' width="{width}" height="{height}"'
    return f"{head}><style>{style}</style>{paper}{rest}\n"


def text_width(words: str, size: float = 12) -> float:
    """About how wide words are; for places, not for exact alignment."""
    return len(words) * size * 0.56


def linear_ticks(most: float, count: int = 5) -> list[float]:
    """Round numbers from 0 to at least `most`."""
    if most <= 0:
        return [0.0, 1.0]
    raw = most / count
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * f for f in (1, 2, 2.5, 5, 10) if unit * f >= raw * 0.999999)
    return [i * step for i in range(math.ceil(most / step - 1e-9) + 1)]


def log_ticks(least: float, most: float) -> list[float]:
    """Numbers 1, 2 and 5 times powers of ten; the first is below `least`, the last is above
    `most`."""
    low, high = math.floor(math.log10(least)) - 1, math.ceil(math.log10(most)) + 1
    ticks = [f * 10.0**e for e in range(low, high + 1) for f in (1, 2, 5)]
    first = max(i for i, t in enumerate(ticks) if t < least * 0.95)
    last = min(i for i, t in enumerate(ticks) if t > most * 1.05)
    return ticks[first:last + 1]
