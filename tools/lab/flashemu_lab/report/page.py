# SPDX-License-Identifier: BSD-3-Clause
"""One page for a result: a file of HTML that needs nothing else.

The conclusion comes first, then the figures, the table, and all inputs.  The page follows the
reader's light or dark setting, fits a phone, and can be printed.  It has no script, no time and no
path of this machine, so two runs of an experiment give the same page, byte for byte.
"""

from __future__ import annotations

import itertools

from ..core.markup import escape
from ..core.units import number
from ..experiment.agreement import split
from ..experiment.choice import paste
from ..experiment.conclusion import conclusion, decisions
from ..experiment.spec import Experiment, Measure
from ..experiment.table import Row, Table
from . import svg
from .figures import Drawn, draw

# So many sentences stand below the first one; the others are folded.
_SHOWN = 4

_STYLE = """
:root{color-scheme:light dark;%s--soft:#f4f6f9;--bad:#a3271b}
@media (prefers-color-scheme:dark){:root{%s--soft:#1f252e;--bad:#ff9a8b}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,"DejaVu Sans",sans-serif}
main{max-width:1120px;margin:0 auto;padding:28px 20px 60px}
.from{color:var(--faint);font-size:14px;margin:0}
.replay{margin:.8em 20px 0;max-width:58em}
h1{font-size:28px;line-height:1.2;margin:.2em 0 .3em;text-wrap:balance}
h2{font-size:19px;margin:2em 0 .6em}
.question{color:var(--faint);font-size:17px;margin:0 0 1.4em;max-width:46em}
.top{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(400px,100%%),1fr));gap:20px 26px;
align-items:start}
.top figure{margin:0}.top figure svg{width:100%%;height:auto;max-width:620px;display:block}
details{margin:.9em 0;border-top:1px solid var(--grid);padding-top:.7em}
.answer details{border:0;margin:.6em 0 0;padding:0}
.other{margin:1em 20px 0}a{color:var(--s0)}
summary{cursor:pointer;font-weight:600;color:var(--ink)}
details>:nth-child(2){margin-top:12px}
.answer{background:var(--soft);border-left:4px solid var(--heat);border-radius:0 8px 8px 0;
padding:16px 20px}
.answer p{margin:0;font-size:18px;max-width:50em}
.answer ul{margin:.6em 0 0;padding-left:1.2em}
.answer li{margin:.25em 0;max-width:54em}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(420px,100%%),1fr));
gap:22px 26px}
.figures svg{width:100%%;height:auto;max-width:560px;display:block}
.scroll{overflow-x:auto;border:1px solid var(--grid);border-radius:8px}
.rows{max-height:620px;overflow:auto}
table{border-collapse:collapse;font-size:14px;width:100%%;font-variant-numeric:tabular-nums}
th,td{padding:6px 12px;text-align:left;white-space:nowrap;border-bottom:1px solid var(--grid)}
tr:last-child td{border-bottom:0}
th{position:sticky;top:0;background:var(--soft);color:var(--faint);font-weight:600}
.n{text-align:right}
tbody tr:hover{background:var(--soft)}
.bad{color:var(--bad)}
code,pre{font:13px/1.45 ui-monospace,"DejaVu Sans Mono",monospace}
pre{margin:0;padding:14px 16px;background:var(--soft);border-radius:8px;overflow-x:auto}
.notes{max-width:46em}
@media (max-width:520px){main{padding:18px 14px 40px}h1{font-size:23px}.answer{padding:12px 14px}
.answer p{font-size:16px}main svg text{font-size:13px}main svg .small{font-size:12.5px}}
@media print{details::details-content{content-visibility:visible;display:block}
main{max-width:none;padding:0}.figures svg{break-inside:avoid}.rows{max-height:none}
.scroll,.rows{overflow:visible;border:0}td code{white-space:normal}tr{break-inside:avoid}
pre{white-space:pre-wrap;overflow-wrap:anywhere}h2{break-after:avoid}}
""" % (svg.variables(svg.LIGHT), svg.variables(svg.DARK))


# The pages of advice, by the names of their experiments: where each is from the other one.
_OTHER = {"advise": ("Which filesystem?", "filesystems/index.html"),
          "advise-filesystems": ("Where to start, and which clusters?", "../index.html")}


def page(table: Table, folder: str = "") -> str:
    """The whole file.  `folder` is where its folder is from where the page will be, for links."""
    e = table.experiment
    drawn = draw(table)
    return document(e.name, e.title, e.question, conclusion(table),
                    [_other(e.name, folder), _replay(table), _paste(table), _figures(drawn[1:]),
                     _decisions(table), _judged(table), _checks(table), _rows(table),
                     _inputs(table)],
                    drawn[0].picture if drawn else "")


def document(name: str, title: str, question: str, sentences: list[str], parts: list[str],
             figure: str = "") -> str:
    """A page: the first sentences of the conclusion beside the figure that answers, the other
    sentences folded, and behind them parts in HTML."""
    found = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}{svg.STYLE}</style></head><body><main>",
        f'<p class="from">flashemu-lab: {escape(name)}</p><h1>{escape(title)}</h1>']
    if question:
        found.append(f'<p class="question">{escape(question)}</p>')
    answer = _answer(sentences)
    if figure:
        answer = f'<div class="top">{answer}<figure>{figure}</figure></div>'
    found += [answer, *parts, "</main></body></html>\n"]
    return "\n".join(part for part in found if part)


def _answer(sentences: list[str]) -> str:
    """The first sentences; the others are one click away."""
    if not sentences:
        return ""

    def items(some: list[str]) -> str:
        return f"<ul>{''.join(f'<li>{escape(s)}</li>' for s in some)}</ul>" if some else ""

    folded = sentences[1 + _SHOWN:]
    return (f'<section class="answer"><p>{escape(sentences[0])}</p>{items(sentences[1:1 + _SHOWN])}'
            + (fold(f"{len(folded)} more sentences", items(folded)) if len(folded) > 1 else
               items(folded)) + "</section>")


def fold(heading: str, inner: str) -> str:
    """A part that is one click away."""
    return f"<details><summary>{escape(heading)}</summary>{inner}</details>"


def _other(name: str, folder: str) -> str:
    """A link to the other page of this advice."""
    if name not in _OTHER:
        return ""
    words, place = _OTHER[name]
    path = escape(f"{folder}/{place}" if folder else place, quote=True)
    return f'<p class="other">The other page of this advice: <a href="{path}">{words}</a></p>'


def _replay(table: Table) -> str:
    """How far replays of these recordings are from a kernel."""
    said = escape(table.replay["sentence"]) if table.replay else ""
    return f'<p class="from replay">{said}</p>' if said else ""


def _paste(table: Table) -> str:
    """What the chosen level has to paste, if there is something."""
    lines = paste(split(table)[0])
    return f"<h2>To paste</h2><pre>{escape(lines)}</pre>" if lines else ""


def _figures(drawn: list[Drawn]) -> str:
    """Figures of several pictures have a heading each; the others follow side by side."""
    found = []
    single = []
    for heading, group in itertools.groupby(drawn, key=lambda d: d.heading):
        pictures = [d.picture for d in group]
        if len(pictures) == 1:
            single += pictures
        else:
            found.append(grid(heading, pictures))
    if single:
        found.append(grid("More figures" if found else "Figures", single))
    return "\n".join(found)


def grid(heading: str, pictures: list[str]) -> str:
    """Pictures side by side under a heading."""
    inner = "\n".join(pictures)
    return fold(heading, f'<div class="figures">{inner}</div>')


def _head(e: Experiment) -> str:
    def unit(m: Measure) -> str:
        return f"{m.label}, {m.unit}" if m.unit else m.label
    cells = [f"<th>{escape(f.label)}</th>" for f in e.factors]
    for m in e.measures:
        cells.append(f'<th class="n">{escape(unit(m))}</th>')
        if e.law and e.law_measure == m.name:
            cells.append('<th class="n">theory</th>')
    return "".join(cells) + "<th>the command that repeats the run</th>"


def _row(e: Experiment, row: Row) -> str:
    cells = [f"<td>{escape(level)}</td>" for level in row.levels]
    for m in e.measures:
        value = row.values.get(m.name)
        cells.append(f'<td class="n">{"-" if value is None else number(value)}</td>')
        if e.law and e.law_measure == m.name:
            cells.append(f'<td class="n">{"-" if row.theory is None else number(row.theory)}</td>')
    again = f"<code>{escape(row.command)}</code>" if row.command else ""
    if row.message:
        again = f'<span class="bad">{escape(row.message)}</span> {again}'
    return f"<tr>{''.join(cells)}<td>{again}</td></tr>"


def _rows(table: Table) -> str:
    e = table.experiment
    rows = "\n".join(_row(e, row) for row in table.rows)
    return fold(f"All {len(table.rows)} runs", '<div class="scroll rows"><table><thead><tr>'
                f"{_head(e)}</tr></thead><tbody>\n{rows}\n</tbody></table></div>")


def _checks(table: Table) -> str:
    """What a kernel measured, next to the replay."""
    if not table.checks:
        return ""
    e = table.experiment
    rows = []
    for measure in e.measures:
        for row, replayed, full in table.differences(measure.name):
            levels = "".join(f"<td>{escape(level)}</td>" for level in row.levels)
            rows.append(f'<tr>{levels}<td>{escape(measure.label)}</td><td class="n">'
                        f'{number(replayed)}</td><td class="n">{number(full)}</td><td class="n">'
                        f"{100 * (full / replayed - 1):+.1f} %</td></tr>")
    head = "".join(f"<th>{escape(f.label)}</th>" for f in e.factors)
    return fold("The replay against a kernel", '<div class="scroll"><table><thead><tr>'
                f'{head}<th></th><th class="n">replay</th><th class="n">kernel</th>'
                '<th class="n">difference</th></tr></thead><tbody>'
                + "\n".join(rows) + "</tbody></table></div>")


def plain_table(heading: str, intro: str, heads: list[tuple[str, bool]],
                rows: list[list[str]]) -> str:
    """A table under a heading; heads that are marked are of numbers."""
    def cells(tag: str, row: list[str]) -> str:
        return "".join(f'<{tag}{" class=n" if numeric else ""}>{escape(text)}</{tag}>'
                       for text, (_, numeric) in zip(row, heads))
    body = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return fold(heading, f'<p class="notes">{escape(intro)}</p><div class="scroll">'
                f"<table><thead><tr>{cells('th', [name for name, _ in heads])}</tr></thead>"
                f"<tbody>\n{body}\n</tbody></table></div>")


def _decisions(table: Table) -> str:
    """Which measurement on the real device would decide."""
    found = decisions(table)
    if not found:
        return ""
    rows = []
    for d in found:
        side = "above" if d.above else "below"
        rows.append([d.claim, f"{d.trial.what} on {d.trial.profile}",
                     f"{side} {number(d.threshold)} {d.trial.unit}",
                     *(f"{number(low)} to {number(high)}" for low, high in (d.where, d.where_not)),
                     f"{100 * d.right:.0f} %", f"{100 * d.chance:.0f} %", d.trial.how])
    return plain_table("What would decide", _DECIDES.format(tried=found[0].tried), [
        ("what some sets contradict", False), ("measurement", False), ("holds", True),
        ("where it holds", True), ("where not", True), ("right", True), ("by chance", True),
        ("how to measure it", False)], rows)


_DECIDES = (
    "Not all sets of parameters agree. {tried} measurements were tried with each set. For each "
    "line of the conclusion that some sets contradict, this is the one that best separates the "
    "sets where the line holds from the others. \"Right\" is the share of the sets that it would "
    "put on the right side if it is off by 2 %; a coin has 50 %. \"By chance\" is how often some "
    "measurement would look as good if the sets agreed at random: above 5 %, use more sets. The "
    "device must be as full as the profile says.")


def _judged(table: Table) -> str:
    """Which published figures say most about the parameters."""
    judged = sorted((j for j in table.evidence.judged if j.judged),
                    key=lambda j: (j.profile, -j.rejected / j.judged))
    rows = [[j.profile, j.row, str(j.judged), str(j.rejected),
             f"{100 * j.rejected / j.judged:.0f} %"] for j in judged]
    return plain_table("What the published figures are worth", _JUDGES, [
        ("profile", False), ("figure", False), ("draws", True), ("rejected", True),
        ("share", True)], rows) if rows else ""


_JUDGES = (
    "Each set was drawn at random and had to meet the published figures. A figure that rejects "
    "many draws says much about the parameters that were drawn; one that rejects none says "
    "nothing.")


def _inputs(table: Table) -> str:
    e = table.experiment
    notes = f'<p class="notes">{escape(e.notes)}</p>' if e.notes else ""
    return fold("What was done, and how to do it again",
                f"{notes}<p>Each run is a function of its inputs, so the command in a row of the "
                "table gives the same numbers again. The figures are in the time of the device. "
                f"The program was flashemu {escape(table.program)}. This is the whole experiment; "
                f"save the text as {escape(e.name)}.toml and use <code>flashemu-lab run "
                f"{escape(e.name)}.toml</code>:</p><pre>{escape(e.text)}</pre>")
