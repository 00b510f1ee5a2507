# SPDX-License-Identifier: BSD-3-Clause
"""Pages and their parts from the templates of the folder `templates`.

    base.html       what every page has
    page.html       the page of a result; `document` in page.py fills it
    datasheet.html  the page of a probed device
    parts.html      macros: tables, folded parts, pictures side by side
    style.css       how it looks
    junit.xml       verdicts for a system that shows tests

Text is escaped wherever it stands, so only what a template or a chart has made is Markup.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Iterable, Sequence

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..core.markup import escape
from . import svg


def _escaped(value: object) -> object:
    """A value as it is printed: also without what XML forbids, which jinja2 would let through."""
    return value if hasattr(value, "__html__") else Markup(escape(str(value)))


@functools.lru_cache(maxsize=None)
def _templates() -> Environment:
    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True,
        finalize=_escaped, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True)
    found.globals.update(light=Markup(svg.variables(svg.LIGHT)),
                         dark=Markup(svg.variables(svg.DARK)), svg_style=Markup(svg.STYLE))
    return found


def render(template: str, **values: object) -> str:
    """A whole file."""
    return _templates().get_template(template).render(**values)


def part(name: str, *values: object) -> Markup:
    """A macro of parts.html."""
    macro = getattr(_templates().get_template("parts.html").module, name)
    return Markup(macro(*values))


def table(heads: Sequence[tuple[str, bool]], rows: Iterable[Sequence[str]], long: bool = True
          ) -> Markup:
    """A table; heads that are marked are of numbers, and a long one scrolls by itself."""
    return part("table", heads, rows, long)


def pictures(drawn: Iterable[str]) -> Markup:
    """Pictures side by side, each as text of SVG from `charts`."""
    return part("pictures", [Markup(one) for one in drawn])
