#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Where charts put their marks: places, scales and numbers, worked out by hand."""

import math
import re
from xml.etree import ElementTree
from dataclasses import replace

from flashemu_lab_bench import FLASHEMU  # noqa: F401
from flashemu_script import run

from flashemu_lab.core import streams
from flashemu_lab.core.units import NARROW_SPACE, in_bytes, number, quantity, whole
from flashemu_lab.experiment.ensemble.agreement import ranges
from flashemu_lab.experiment.spec import parse
from flashemu_lab.experiment.table import Row, Table
from flashemu_lab.report import charts, figures, svg
from flashemu_lab.report.charts import Chart, Series

TEXT = """name = "x"
title = "X"
[factors]
bs = ["4K", "8K", "16K"]
op = ["7%", "28%"]
[device]
profile = "transcend8g"
[workload]
requests = "gen:random,op=write,bs={bs},count={op}"
[measure.rate]
value = "host.write.bytes"
label = "rate"
unit = "MB/s"
[[figure]]
kind = "lines"
measure = "rate"
x = "bs"
panel = "op"
range = "RANGE"
"""


def places(picture, mark):
    """The numbers of each mark: x, y, width, height of a bar; x1, y1, x2, y2 of a line; x, y of a
    circle or a text, with the text."""
    found = []
    for tag, rest, inner in re.findall(r"<(\w+) ([^>]*)>(?:<title>)?([^<]*)", picture):
        names = {"rect": ("x", "y", "width", "height"), "line": ("x1", "y1", "x2", "y2"),
                 "circle": ("cx", "cy"), "text": ("x", "y")}.get(tag, ())
        if tag == mark[0] and mark[1] in rest:
            at = [float(re.search(r'\b%s="([-\d.]+)"' % n, rest)[1]) for n in names]
            found.append((*at, inner) if tag in ("text", "circle", "rect") else tuple(at))
    return found


def test_long_names_are_whole():
    """A title that one line has no room for takes several, and so does the name of a row."""
    title = "flash written for each byte of files, in multiples of the least: full colour is bad"
    name = "written all over, but three tenths are unpartitioned"
    short = charts.interval_chart("t", "years", [charts.Interval("n", 1.0, 2.0, 3.0, "tip")])
    for picture in (
            charts.interval_chart(title, "years", [charts.Interval(name, 1.0, 2.0, 3.0, "tip")]),
            charts.share_chart(title, [(name, 0.5)]),
            charts.heat_map(title, "x", ["p"], "y", ["r"], [[7.0]], [["1"]], False),
            charts.bar_chart(replace(chart(Series("one", [1.0] * 4, ["t"] * 4, 0)), title=title))):
        heads = places(picture, ("text", "head"))
        assert " ".join(h[-1] for h in heads) == title and len(heads) == 2, heads
        assert all(svg.text_width(h[-1], 13) < charts.WIDTH - 8 for h in heads), heads
        high = [int(re.search(r'viewBox="0 0 460 (\d+)"', p)[1]) for p in (picture, short)]
        if "years" in picture:
            assert high[0] == high[1] + 17 + 7, high  # a line of the title, and one of the row
        if name in re.sub("</text>\n<text[^>]*>", " ", picture):
            lines = [t for t in places(picture, ("text", "small")) if t[-1] in name]
            assert [t[-1] for t in lines] == ["written all over, but three", "tenths are unpartitioned"]
            assert lines[1][1] - lines[0][1] == 13
        elif "bars" not in picture:
            assert "\u2026" not in picture


def test_the_lines_of_a_name_belong_together():
    """In any chart whose rows are named: two lines of one name are nearer to each other than to
    the lines of the next."""
    name = "written all over, but three tenths are unpartitioned"
    rows = [charts.Interval(name, 1.0, 2.0, 3.0, "tip")] * 3
    for drawn in charts.interval_chart("t", "years", rows), charts.share_chart("t", [(name, 0.3)] * 3):
        ys = [y for _, y, words in places(drawn, ("text", "small")) if words in name]
        assert len(ys) == 6, ys
        gaps = [b - a for a, b in zip(ys, ys[1:])]
        assert min(gaps[1::2]) > max(gaps[::2]) + 4, gaps


def test_the_scale_stands_below_the_last_row():
    rows = [charts.Interval(name, 1.0, 2.0, 3.0, "tip") for name in ("one", "two", "three")]
    drawn = charts.interval_chart("t", "years", rows)
    last = max(y for _, y, name in places(drawn, ("text", "")) if name == "three")
    ends = {y2 for _, _, _, y2 in places(drawn, ("line", "grid"))}
    ticks = {y for _, y, _ in places(drawn, ("text", "faint"))}
    assert len(ends) == 1 and last < min(ends) < min(ticks), (last, ends, ticks)


def test_a_heat_map_says_what_its_colours_are():
    """The legend ends at the right edge of the cells: the least value in pale, the most in full."""
    drawn = charts.heat_map("t", "x", ["1", "2"], "y", ["a"], [[4.0, 16.0]], [["", ""]], True,
                            what="rate, MB/s")
    told = {words: (x, y) for x, y, words in places(drawn, ("text", "faint small"))}
    assert set(told) == {"y", "rate, MB/s", "4", "16"} and len({y for _, y in told.values()}) == 1
    assert told["rate, MB/s"][0] < told["4"][0] < told["16"][0] < charts.WIDTH
    keys = [re.search(r'x="([\d.]+)".*opacity="([\d.]+)"', k).groups()
            for k in re.findall(r'<rect [^>]*"heat key"[^>]*>', drawn)]
    assert [k[1] for k in keys] == ["0.760", "0.200"]
    assert float(keys[1][0]) < told["4"][0] < float(keys[0][0]) < told["16"][0]
    assert "heat key" not in charts.heat_map("t", "x", ["1"], "y", ["a"], [[None]], [[""]], True,
                                             what="rate")


def chart(*series, log=False, least=0.0, top=100.0):
    return Chart("t", "size", ["a", "b", "c", "d"], "MB/s", list(series), log, least, top)


def near(a, b):
    assert abs(a - b) <= 0.051, (a, b)


def test_ticks():
    assert svg.linear_ticks(100) == [0, 20, 40, 60, 80, 100]
    assert svg.linear_ticks(101) == [0, 25, 50, 75, 100, 125]
    assert svg.linear_ticks(11) == [0, 2.5, 5, 7.5, 10, 12.5]
    assert svg.linear_ticks(0.7) == [0, 0.2, 0.4, 0.6000000000000001, 0.8]
    assert svg.linear_ticks(6) == [0, 2, 4, 6] and svg.linear_ticks(0) == [0, 1]
    assert svg.linear_ticks(3, 3) == [0, 1, 2, 3]
    assert svg.log_ticks(3, 40) == [2, 5, 10, 20, 50]
    assert svg.log_ticks(2, 50) == [1, 2, 5, 10, 20, 50, 100]       # room at both ends
    assert svg.log_ticks(0.03, 0.04) == [0.02, 0.05]
    assert svg.log_ticks(1000, 1000) == [500, 1000, 2000]


def test_lines_are_where_their_values_are():
    """A slot is 99 wide, and the first begins at 52; the plot is 190 high."""
    picture = charts.line_chart(chart(Series("one", [100.0, None, 25.0, 0.0],
                                             ["p", "q", "r", "s"], 0,
                                             spreads=[(50.0, 75.0), None, None, None])))
    marks = places(picture, ("circle", "f0"))
    assert [m[2] for m in marks] == ["p", "r", "s"]
    assert [m[0] for m in marks] == [101.5, 299.5, 398.5]
    top, base = 48.0, 48.0 + 190
    assert [m[1] for m in marks] == [top, base - 47.5, base]
    axis = places(picture, ("line", "axis"))
    assert axis[0] == (52, base, 448, base)
    assert axis[1] == (101.5, base - 95, 101.5, base - 142.5), axis
    assert re.search(r'points="101.5,48.0 299.5,190.5 398.5,238.0" class="line k0"', picture)
    labels = [t for t in places(picture, ("text", 'text-anchor="end"'))]
    assert [t[2] for t in labels] == ["0", "20", "40", "60", "80", "100"]
    near(labels[1][1], base - 38 + 4)


def test_a_logarithmic_axis():
    picture = charts.line_chart(chart(Series("one", [3.0, 30.0, 4.0, 40.0], ["t"] * 4, 0),
                                      log=True, least=3.0, top=40.0))
    marks = places(picture, ("circle", "f0"))
    # 2, 5, 10, 20 and 50: ln 25 is 3.2189, ln(3/2) 0.4055, ln(30/2) 2.7081
    near(marks[0][1], 48 + 190 * (1 - 0.4055 / 3.2189))
    near(marks[1][1], 48 + 190 * (1 - 2.7081 / 3.2189))
    assert [t[2] for t in places(picture, ("text", 'text-anchor="end"'))] == \
        ["2", "5", "10", "20", "50"]


def test_theory_belongs_to_its_series():
    """Each bar has the line of the theory of its colour, and not of another one."""
    picture = charts.bar_chart(chart(
        Series("one", [100.0] * 4, ["t"] * 4, 0), Series("two", [50.0] * 4, ["t"] * 4, 1),
        Series("one in theory", [80.0, None, None, None], [""] * 4, 0, theory=True),
        Series("two in theory", [None, 20.0, None, None], [""] * 4, 1, theory=True)))
    bars = places(picture, ("rect", '"f1"'))
    # beside the one of the legend: two bars of 0.4 slots around the middle of a slot
    lines = [(x1, y1, x2) for x1, y1, x2, _ in places(picture, ("line", "theory"))][1:]
    width = 0.4 * 99
    base = 65.0 + 190
    assert len(lines) == 2 and len(bars) == 4, (lines, bars)
    for got, want in zip(lines[0], (101.5 - width, base - 152, 101.5)):
        near(got, want)
    for got, want in zip(lines[1], (200.5, base - 38, 200.5 + width)):
        near(got, want)
    near(bars[0][0], 101.5 + 0.75)
    near(bars[0][1], base - 95)
    near(bars[0][2], width - 1.5)
    near(bars[0][3], 95)


def test_a_legend_shows_what_the_chart_has():
    """Squares of 11 for bars, and marks for lines; theory is a line in both."""
    three = [Series("one", [1.0] * 4, ["t"] * 4, 0), Series("two", [2.0] * 4, ["t"] * 4, 2),
             Series("law", [3.0] * 4, [""] * 4, 0, theory=True)]
    bars, lines = (make(chart(*three)) for make in (charts.bar_chart, charts.line_chart))
    names = 22 + 3 * 12 * 0.56 + 12
    for kind, x in (("f0 key", 52), ("f2 key", 52 + names)):
        (square,) = places(bars, ("rect", f'"{kind}"'))
        for got, want in zip(square, (x + 3, 27, 11, 11)):
            near(got, want)
        assert not places(lines, ("rect", kind)) and places(lines, ("text", "")) and kind in lines
    for picture in (bars, lines):
        near(places(picture, ("line", "theory"))[0][0], 52 + 2 * names)
        assert [t[2] for t in places(picture, ("text", 'y="36.0"'))] == ["one", "two", "theory"]


def test_titles_stand_in_line():
    """Charts stand side by side, so each has its title at the same place."""
    one = chart(Series("one", [1.0] * 4, ["t"] * 4, 0))
    row = charts.Interval("a", 1.0, 2.0, 4.0, "tip")
    for picture in (charts.line_chart(one), charts.bar_chart(one), charts.share_chart("t", [("a", 1.0)]),
                    charts.interval_chart("t", "years", [row]),
                    charts.heat_map("t", "x", ["a"], "y", ["b"], [[1.0]], [["tip"]], False)):
        assert [t[:2] for t in places(picture, ("text", "head")) if t[2] == "t"] == [(8, 16)], picture


def test_short_numbers():
    def short(value):
        return charts._short(value).replace(NARROW_SPACE, " ")
    assert [short(v) for v in (99999, 100000, 123456, 999999, 1234567, 2.5e9, 3e12)] == \
        ["99 999", "100 k", "123 k", "1 000 k", "1.23 M", "2.5 G", "3 T"]
    assert short(-200000) == "-200 k" and short(0.25) == "0.25" and short(0) == "0"


def test_numbers_for_people():
    def shown(value):
        return number(value).replace(NARROW_SPACE, " ")
    assert [shown(v) for v in (999.4, 999.6, 1000, 1234.5, 9876.5, 12345, 1234567)] == \
        ["999", "1 000", "1 000", "1 234", "9 876", "12 345", "1 234 567"]
    assert [shown(v) for v in (12.34, 1.006, 1, 0.12345, 0.00012345, 0.00001234)] == \
        ["12.3", "1.01", "1", "0.123", "0.0001", "1.23e-05"]
    assert [shown(v) for v in (-1234.5, -0.5, 0, 1e15, 9.99e14)] == \
        ["-1 234", "-0.5", "0", "1e+15", "999 000 000 000 000"]
    assert number(float("nan")) == "-"


def test_numbers_in_a_narrow_locale():
    """A narrow space becomes a space; what else the locale lacks, a question mark; and bytes of a
    file's name stay as they are."""
    with streams._prepared():
        assert f"{number(1234567)} \u2026 \udcffx".encode("latin-1", "flashemu-lab") == \
            b"1 234 567 ? \xffx"


def test_units_of_users():
    """K is 1024 and KB is 1000; times are in ns, and shares in fractions of 1."""
    for text, value in (("3K", 3072), ("3KB", 3000), ("3M", 3 << 20), ("3MB", 3e6), ("3G", 3 << 30),
                        ("3GB", 3e9), ("3T", 3 << 40), ("3TB", 3e12), ("3us", 3e3), ("3ms", 3e6),
                        ("3s", 3e9), ("3ns", 3), ("7%", 0.07), ("3KB/s", 3e3), ("3MB/s", 3e6),
                        ("3GB/s", 3e9), ("3MT/s", 3e6), ("-1.5e3", -1500)):
        assert abs(quantity(text) - value) <= 1e-12 * abs(value), (text, quantity(text))
    assert quantity("3k") is quantity("1e400") is quantity("3 4") is None
    for text, value in (("5.6GB", 5.6e9), ("2GiB", 2 << 30), ("2g", 2 << 30), ("3kB", 3e3), ("3KB", 3e3),
                        ("3k", 3072), ("3KiB", 3072), ("1T", 1 << 40), ("1TiB", 1 << 40), ("7", 7),
                        ("9B", 9), ("0", 0), ("1.5 MiB", 3 << 19)):
        assert in_bytes(text) == value, (text, in_bytes(text))
    for text in ("5s", "5%", "5MB/s", "5Mbit", "60TBW", "5Gb", "5,6GB", "-5GB", "", "1e400", "GB"):
        assert in_bytes(text) is None, text
    assert whole("0123") == 123 and whole("-1") is whole("1" * 31) is whole("") is None


def test_cells_of_a_heat_map():
    """The larger, the darker; rows from top to bottom, columns from left to right."""
    picture = charts.heat_map("t", "x", ["p", "q"], "y", ["r", "s"],
                              [[10.0, 30.0], [None, 20.0]],
                              [["10", "30"], ["none", "20"]], False)
    cells = {tip: (x, y, float(more)) for x, y, more, tip in re.findall(
        r'<rect x="([\d.]+)" y="([\d.]+)"[^>]*fill-opacity="([\d.]+)"><title>(\d+)', picture)}
    assert {tip: round(v[2], 3) for tip, v in cells.items()} == {"10": 0.2, "30": 0.76, "20": 0.48}
    assert cells["10"][1] == cells["30"][1] == "44.0" and cells["20"][1] == "72.0"
    assert float(cells["10"][0]) < float(cells["30"][0]) == float(cells["20"][0])
    logs = charts.heat_map("t", "x", ["p", "q", "o"], "y", ["r"], [[1.0, 10.0, 100.0]],
                           [["1", "2", "3"]], True)
    assert re.findall(r'fill-opacity="([\d.]+)"', logs) == ["0.200", "0.480", "0.760"]
    same = charts.heat_map("t", "x", ["p"], "y", ["r"], [[7.0]], [["1"]], False)
    assert re.findall(r'fill-opacity="([\d.]+)"', same) == ["0.480"]


def test_numbers_of_a_chart_have_as_many_digits():
    """At the bars of a chart and in the cells of a map; counts stay counts."""
    def small(picture):
        return re.findall('class="small[^>]*>([^<]*)<', picture.replace("faint small", ""))
    bars = [Series(n, v, ["t"] * 4, i) for i, (n, v) in enumerate(
        (("one", [3.73, 3.8, None, 6.0]), ("two", [1.5, 20.0, 4.25, 0.25])))]
    assert small(charts.bar_chart(chart(*bars))) == [
        "3.73", "3.80", "6.00", "1.50", "20.0", "4.25", "0.250"]
    count = Series("one", [848.0, 27.0, 3.0, 0.0], ["t"] * 4, 0)
    assert small(charts.bar_chart(chart(count))) == ["848", "27", "3", "0"]
    cells = [[3.73, None], [12.0, 0.5]], [["t"] * 2] * 2, False
    assert small(charts.heat_map("t", "x", ["p", "q"], "y", ["r", "s"], *cells)) == [
        "3.73", "12.0", "0.500"]
    assert small(charts.heat_map("t", "x", ["p", "q"], "y", ["r", "s"], *cells, "{:.0f}")) == [
        "4", "12", "0"]


def test_names_of_columns_without_room():
    """They stand on a slope, each of them; with very many columns some are left out."""
    def names(count):
        picture = charts.heat_map("t", "x", ["a long name %d" % i for i in range(count)], "y", ["r"],
                                  [[1.0] * count], [["t"] * count], False, mark=0)
        return (len(re.findall(r"rotate\(-35 [^>]*>a long name", picture)),
                len(re.findall(">a long name", picture)), picture.count("mark key"))
    long = ["one whose name is longer than the room on its left, by far", "b"]
    upright = charts.heat_map("t", "x", long, "y", ["r"], [[1.0] * 2], [["t"] * 2], False)
    assert len(re.findall("rotate\\(-90 ", upright)) == 2
    sloping = charts.heat_map("t", "x", ["a name", "b"] * 4, "y", ["twenty letters or so"],
                              [[1.0] * 8], [["t"] * 8], False)
    assert len(re.findall("rotate\\(-35 ", sloping)) == 8
    assert names(3) == (0, 3, 1) and names(8) == (0, 8, 1) and names(40) == (0, 4, 1)


def test_intervals():
    """Names of 60 units and 14 leave 460 - 74 - 12 - 14 for a scale from 0.5 to 20."""
    rows = [charts.Interval("asked for", 1.0, 2.0, 10.0, "one"),
            charts.Interval("b", 4.0, 4.0, 4.0, "two")]
    picture = charts.interval_chart("t", "years", rows)
    left, room = 9 * 12 * 0.56 + 14, 460 - 9 * 12 * 0.56 - 14 - 12 - 14

    def place(value):
        return left + room * math.log(value / 0.5) / math.log(20 / 0.5)
    first, second = places(picture, ("rect", "f0"))[0], places(picture, ("rect", "f1"))[0]
    near(first[0], place(1))
    near(first[0] + first[2], place(10))
    near(second[0], place(4))
    assert (first[1], second[1], first[4], second[4], second[2]) == (35, 61, "one", "two", 0)
    # each bar is in the middle of its line: 43 and 69
    assert first[3] == second[3] == 16
    middles = places(picture, ("line", "middle"))
    near(middles[0][0], place(2))
    near(middles[1][0], place(4))
    assert [m[1::2] for m in middles] == [(32, 54), (58, 80)]
    ticks = [t[2] for t in places(picture, ("text", 'text-anchor="middle"'))]
    assert ticks == ["0.5", "1", "2", "5", "10", "20", "years"]


def test_bars_of_shares():
    picture = charts.share_chart("t", [("aa", 0.5), ("b", 0.25), ("c", 0.0)], "of it")
    bars = places(picture, ("rect", "f0"))
    assert [b[4] for b in bars] == ["aa: 50.0 % of it", "b: 25.0 % of it", "c: 0.0 % of it"]
    room = 460 - 74 - 6 - 7 * 12 * 0.56 - 12   # names have 60 at least
    near(bars[0][2], room / 2)
    near(bars[1][2], room / 4)
    assert bars[2][2] == 1 and [b[1] for b in bars] == [30, 56, 82]


def test_labels_leave_room_for_each_other():
    """Of 40 labels each third or so is drawn, and the first one always."""
    labels = ["%03d" % i for i in range(40)]
    one = Chart("t", "x", labels, "y", [Series("s", [1.0] * 40, ["t"] * 40, 0)], False, 0.0, 1.0)
    drawn = [t[2] for t in places(charts.line_chart(one), ("text", 'text-anchor="middle"'))][:-1]
    # a slot is 9.9 wide, and a label 20.16 and 6
    assert drawn == labels[::3]


def test_a_picture_as_a_file():
    """With its size, the light colours and a paper, and all of its parts in their order."""
    alone = svg.alone(svg.picture(460, 123, "n", [svg.text(1, 2, "a > b"), svg.box(1, 2, 3, 4, "x")]))
    root = ElementTree.fromstring(alone)
    assert (root.get("width"), root.get("height"), root.get("viewBox")) == (
        "460", "123", "0 0 460 123")
    assert [e.tag.rpartition("}")[2] for e in root] == ["style", "rect", "text", "rect"]
    assert root[1].get("fill") == svg.LIGHT["paper"] and root[1].get("height") == "123"
    assert root[2].text == "a > b" and "var(" not in alone and svg.LIGHT["s7"] in root[0].text


def table(kind="shared", rows=None):
    e = parse(TEXT.replace("RANGE", kind), "x.toml")
    levels = [(bs, op) for bs in ("4K", "8K", "16K") for op in ("7%", "28%")]
    values = rows or [1.0, 100.0, 2.0, 200.0, 4.0, 400.0]
    return Table(e, "", tuple(Row(one, "", "done", {"rate": v}, None, "", "")
                              for one, v in zip(levels, values)))


def tops(t):
    return [[w[2] for w in places(d.picture, ("text", 'text-anchor="end"'))][-1]
            for d in figures.draw(t)]


def test_panels_are_called_as_in_sentences():
    heads = [places(d.picture, ("text", "head"))[0][-1] for d in figures.draw(table("shared"))]
    assert heads == ["op 7%", "op 28%"], heads
    t = table("shared")
    op = replace(t.experiment.factors[1], noun="{} of reserve")
    t = replace(t, experiment=replace(t.experiment, factors=(t.experiment.factors[0], op)))
    heads = [places(d.picture, ("text", "head"))[0][-1] for d in figures.draw(t)]
    assert heads == ["7% of reserve", "28% of reserve"], heads


def test_the_scale_of_pictures():
    """Pictures share a scale if they should be compared."""
    assert tops(table("shared")) == ["400", "400"]
    assert tops(table("own")) == ["4", "400"]


def test_a_range_over_sets():
    """The least value of any set and the largest one, wherever they are."""
    some = [table(rows=[v] * 6) for v in (5.0, 3.0, 9.0, 4.0)]
    assert ranges(some, "rate")[("8K", "28%")] == (3.0, 9.0)
    lacking = replace(some[0], rows=(replace(some[0].rows[0], values={"rate": None}),))
    assert ranges([lacking, *some[2:]], "rate")[("4K", "7%")] == (4.0, 9.0)
    assert ranges([lacking], "rate") == {}


run(globals())
