# SPDX-License-Identifier: BSD-3-Clause
"""Prints the results of a run: progress while it goes on, and a table or JSON at its end."""

from collections import Counter
from typing import Any, Sequence, TextIO

STATUSES = ("noticed", "hang", "survived", "equivalent", "invalid")
Result = dict[str, Any]


class Progress:
    """One line for each result, and on a terminal a last line that changes in place."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.live = out.isatty()

    def status(self, text: str) -> None:
        if self.live:
            self.out.write(f"\r\033[K{text[:79]}")
            self.out.flush()

    def clear(self) -> None:
        if self.live:
            self.out.write("\r\033[K")
            self.out.flush()

    def line(self, text: str) -> None:
        self.clear()
        print(text, file=self.out, flush=True)

    def count(self, done: int, total: int) -> None:
        self.status(f"{done} of {total} mutants")

    def result(self, r: Result) -> None:
        self.line(f"{r['status']:10}  {r['name'].rsplit(':', 1)[0]}  {r['by']}")


def caught(counts: Counter[str]) -> str:
    """The share of those mutants noticed that the tests had a chance to notice."""
    good = counts["noticed"] + counts["hang"]
    real = good + counts["survived"]
    return f"{100 * good / real:.0f} %" if real else "-"


def as_text(results: Sequence[Result]) -> str:
    layers: dict[str, Counter[str]] = {}
    tests: Counter[str] = Counter()
    for r in results:
        layers.setdefault(r["layer"], Counter())[r["status"]] += 1
        if r["by"]:
            tests[r["by"]] += 1
    rows: list[tuple[str, ...]] = [("layer", "mutants", *STATUSES, "caught")]
    total: Counter[str] = Counter()
    for layer in sorted(layers):
        rows.append(_row(layer, layers[layer]))
        total += layers[layer]
    rows.append(_row("all", total))
    text = [_table(rows)]
    if tests:
        text.append(_table([("noticed by", "mutants"),
                            *((name, str(n)) for name, n in tests.most_common())]))
    for r in results:
        if r["status"] in ("survived", "invalid"):
            text.append(f"{r['status']}: {r['file']}:{r['line']} ({r['operator']})\n"
                        + _lines("  - ", r["before"]) + _lines("  + ", r["after"]))
    return "\n".join(text)


def _row(name: str, counts: Counter[str]) -> tuple[str, ...]:
    return (name, str(sum(counts.values())), *(str(counts[s]) for s in STATUSES), caught(counts))


def _lines(sign: str, text: str) -> str:
    return "".join(f"{sign}{line}\n" for line in text.rstrip().split("\n"))


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [row[0].ljust(widths[0]) + "".join(f"  {cell:>{w}}" for cell, w in
                                               zip(row[1:], widths[1:])) for row in rows]
    return "\n".join(lines) + "\n"


def as_json(results: Sequence[Result], facts: dict[str, Any]) -> dict[str, Any]:
    layers: dict[str, Counter[str]] = {}
    for r in results:
        layers.setdefault(r["layer"], Counter())[r["status"]] += 1
    return {**facts,
            "layers": {name: {s: counts[s] for s in STATUSES}
                       for name, counts in sorted(layers.items())},
            "noticed_by": dict(Counter(r["by"] for r in results if r["by"]).most_common()),
            "mutants": list(results)}
