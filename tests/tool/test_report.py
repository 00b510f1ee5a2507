#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu report: the page is whole, stands alone, and says what traces and statistics do."""

import json
import os
import re
import xml.etree.ElementTree as ElementTree

from flashemu_script import run
from flashemu_tool import bad, call, good, good_json, read, write

HEAD = "# flashemu trace 1\n"
CELLS = 84 # steps of a cloud's rows


def page(*args):
    """The page as a tree; it must be well-formed and ask for nothing from elsewhere."""
    assert good("report", *args, "-o", "out.html") == ""
    text = read("out.html")
    assert not re.search(r"https?:|src=|<link|@import|url[(]", text)
    assert text.count("<script") == 1 and not re.search(r">[^<]*[0-9]e[+][0-9]", text)
    os.unlink("out.html")
    return ElementTree.fromstring(text.replace("<!DOCTYPE html>", ""))


def table(tree, n=0):
    """A table of two columns."""
    return {row.find("th").text: row.find("td").text for row in list(tree.iter("table"))[n].iter("tr")}


def compared(tree):
    """What stands in the first table: the files' names, and for each row its cells."""
    rows = list(next(t for t in tree.iter("table") if t.get("class") == "compared").iter("tr"))
    head = ["".join(th.itertext()) for th in rows[0].findall("th")[1:]]
    return head, {row.find("th").text: ["".join(td.itertext()) for td in row.findall("td")]
                  for row in rows[1:]}


def figures(tree):
    return {svg.get("aria-label"): svg for svg in tree.iter("svg") if svg.get("aria-label")}


def points(svg, colour):
    """The cells of a cloud, as (column, row from the top), each with its shade."""
    cells = {}
    for path in svg.iter("path"):
        name, *shade = path.get("class").split()[1:] or [""]
        if "cloud" not in path.get("class") or name != colour:
            continue
        x = y = 0
        for dx, dy, length in re.findall(r"m(-?\d+) (-?\d+)h(\d+)", path.get("d")):
            x, y = x + int(dx), y + int(dy)
            for column in range(x, x + int(length) + 1):
                cells[column, y] = int(shade[0][1:])
            x += int(length)
    return cells


def sizes(tree):
    """The rows of the table of sizes, by what they say."""
    rows = [t for t in tree.iter("table") if t.get("class") == "sizes"][0].iter("tr")
    return [["".join(c.itertext()) for c in row] for row in rows]


def test_a_recorded_trace():
    # 3 writes of 4 KiB in order, 1 ms each; a read of 64 KiB, 2 ms; a flush
    tree = page(write("t.tr", HEAD +
                      "0 write 0 4096 done=1000000\n1000000 write 4096 4096 done=2000000\n"
                      "2000000 write 8192 4096 done=3000000\n3000000 read 1048576 65536 done=5000000\n"
                      "5000000 flush 0 0 done=10000000\n"))
    t = table(tree)
    assert t["time"] == "10 ms", t
    assert t["write requests"] == "3, 12.3 KB, 4096 B on average, 67 % in order", t
    assert t["read requests"] == "1, 65.5 KB, 65.5 KB on average, 0 % in order", t
    assert t["flush requests"] == "1" and "trim requests" not in t, t
    assert t["write rate"] == "1.229 MB/s" and t["read rate"] == "6.554 MB/s", t
    assert t["write latency"] == "half within 1.000 ms, 99 % within 1.000 ms, at most 1.000 ms", t
    assert t["flush latency"].endswith("at most 5.000 ms"), t
    assert t["commits"] == ("1: half within 10.00 ms, 99 % within 10.00 ms, 99.9 % within 10.00 ms, "
                            "at most 10.00 ms"), t
    assert "write amplification" not in t, t
    f = figures(tree)
    assert list(f) == ["Rate", "Latency of each request", "Tail of the latencies", "Addresses",
                       "Map of the device"], list(f)
    assert len(points(f["Addresses"], "write")) == 3 and len(points(f["Addresses"], "read")) == 1
    assert points(f["Addresses"], "other") == {}
    # on a scale by decades from 1 to 10 ms: 1 ms at the bottom, 2 ms at log 2
    w, r = points(f["Latency of each request"], "write"), points(f["Latency of each request"], "read")
    assert {y for x, y in w} == {CELLS} and len(r) == 1
    assert [y for x, y in r] == [round(CELLS * (1 - 0.30103))], r
    assert sizes(tree) == [["", "read", "write"], ["up to 4096 B", "0", "3"],
                           ["up to 65.5 KB", "1", "0"]], sizes(tree)


def test_a_trace_without_completions_or_times():
    tree = page(write("t.tr", HEAD + "5 write 0 4096\n1005 write 8192 512\n"))
    assert table(tree) == {"time": "1 us", "write requests":
                           "2, 4608 B, 2304 B on average, 0 % in order",
                           "write rate": "4608 MB/s"}, table(tree)
    assert list(figures(tree)) == ["Rate", "Addresses", "Map of the device"]
    tree = page("gen:sequential,op=write,bs=4K,count=100")
    assert list(figures(tree)) == ["Addresses", "Map of the device"]
    assert "100, 410 KB, 4096 B on average, 99 % in order" in table(tree)["write requests"]
    tree = page(write("f.tr", HEAD + "0 flush 0 0\n"))
    assert table(tree) == {"flush requests": "1"} and not figures(tree)


def test_no_point_is_left_out():
    # one slow request among many: a cloud that took a sample could miss it
    lines = ["%d write 0 512 done=%d" % (i * 100, i * 100 + (90 if i != 31234 else 10 ** 6))
             for i in range(50000)]
    svg = figures(page(write("t.tr", HEAD + "\n".join(lines) + "\n")))["Latency of each request"]
    by_y = {}
    for (x, y), shade in points(svg, "write").items():
        by_y.setdefault(y, []).append(shade)
    assert sorted(map(len, by_y.values())) == [1, 1000], {y: len(x) for y, x in by_y.items()}
    # many points are density: the one is pale
    assert min(by_y.values(), key=len) == [1] and 5 in max(by_y.values(), key=len)


def test_the_tail_is_on_logarithmic_axes():
    # 1000 requests, of which ten take 100 times as long
    lines = ["%d read 0 512 done=%d" % (i * 10 ** 6, i * 10 ** 6 + (10 ** 7 if i % 100 == 0 else 10 ** 5))
             for i in range(1000)]
    svg = figures(page(write("t.tr", HEAD + "\n".join(lines) + "\n")))["Tail of the latencies"]
    assert svg.get("data-y") == "0.001 1 log share" and svg.get("data-x") == "100000 10000000 log ns"
    texts = [t.text for t in svg.iter("text")]
    assert {"100 %", "0.1 %", "1 ms"} <= set(texts), texts
    line = [p.get("d") for p in svg.iter("path") if "line" in p.get("class", "")][0]
    places = [tuple(map(float, m)) for m in re.findall(r"[ML](\S+?) ([0-9.]+)", line)]
    slow = [y for x, y in places if x == 324]
    assert abs(max(y for _, y in places) - 169) < 0.1 # one of a thousand
    assert abs(min(slow) - (3 + 166 * 2 / 3)) < 0.1, slow # ten of a thousand take at least 10 ms


def test_rates_that_differ_by_a_hundred_are_on_a_logarithmic_axis():
    def axis(slow_ns):
        lines, now = [], 0
        for i in range(400):
            took = 10 ** 6 if i < 200 else slow_ns
            lines.append("%d write 0 65536 done=%d" % (now, now + took))
            now += took
        tree = page(write("t.tr", HEAD + "\n".join(lines) + "\n"))
        return figures(tree)["Rate"].get("data-y").split()[2]
    assert axis(10 ** 7) == "linear" and axis(10 ** 9) == "log"


def test_collections_and_merges_are_coloured():
    lines = ["0 write 0 4096 done=1000 programmed=4096",
             "1000 write 4096 4096 done=9000 programmed=12288 collections=2",
             "9000 write 8192 4096 done=20000 programmed=8192 merges=1",
             "20000 read 0 4096 done=21000"]
    tree = page(write("t.tr", HEAD + "\n".join(lines) + "\n"))
    assert table(tree)["write amplification"] == "2.000"
    f = figures(tree)
    svg = f["Latency of each request"]
    assert [len(points(svg, kind)) for kind in ("read", "write", "gc", "merge")] == [1, 1, 1, 1]
    assert points(f["Addresses"], "gc") == {} and len(points(f["Addresses"], "write")) == 3
    assert "Write amplification" in f
    hover = [t.text for t in f["Write amplification"].iter("title")]
    assert [h.split(": ")[1] for h in hover] == ["1.000", "3.000", "2.000"], hover


def test_statistics():
    o = good_json("replay", "transcend8g", "gen:random,op=write,bs=4K,size=64M,count=3000", "--json")
    t = table(page(write("s.json", json.dumps(o))))
    assert t["profile"] == "transcend8g"
    rate = o["host"]["write"]["bytes"] * 1e3 / o["busy_ns"]
    assert t["host: write requests"] == "3000, 12.3 MB, %.4g MB/s" % rate, (t, rate)
    assert t["write amplification"] == "%.3f" % o["ftl"]["waf"], t
    assert t["flash: pages programmed"] == str(o["nand"]["page_programs"]), t
    assert "host: read requests" not in t and "power cuts" not in t, t
    # what an older version does not tell leaves its row out, also if it tells a part of the row
    del o["wear"]["mean"], o["latency_ns"]["write"]["p999"]
    t = table(page(write("s.json", json.dumps(o))))
    assert "write amplification" in t and "cycles of a block" not in t, t
    assert "host: write latency" not in t, t
    del o["ftl"]["waf"], o["wear"], o["latency_ns"]
    t = table(page(write("s.json", json.dumps(o))))
    assert "write amplification" not in t and "cycles of a block" not in t, t


def test_files_are_compared():
    write("w.tr", good("gen", "random", "--op", "write", "--size", "16M", "--count", "500"))
    stats = []
    for i, op in enumerate(["7%", "28%"]):
        stats.append(good_json("replay", "ssd-page", "w.tr", "ftl.op=" + op, "--record", "r%d.tr" % i,
                               "--json"))
        write("s%d.json" % i, json.dumps(stats[i]))
    tree = page("s1.json", "s0.json", "r0.tr", "--title", "a <b> & \"c\"")
    assert tree.find("head/title").text == 'a <b> & "c"'
    # the table comes first, and 7 % before 28 %
    assert [h.text for h in tree.iter("h2")] == ["Compared"]
    # and what is compared is folded
    folds = tree.findall("body/details")
    assert [d.find("summary").text for d in folds] == ["r0.tr", "s0.json", "s1.json"]
    assert not any("open" in d.attrib for d in folds) and len(tree.findall(".//section")) == 3
    head, rows = compared(tree)
    assert head == ["ssd-page ftl.op=7%r0.tr", "ssd-page ftl.op=7%s0.json",
                    "ssd-page ftl.op=28%s1.json"], head
    order = [stats[0], stats[0], stats[1]]
    for cell, o in zip(rows["writes"], order):
        assert cell == "%.4g MB/s" % (o["host"]["write"]["bytes"] * 1e3 / o["busy_ns"]), rows
    assert rows["write amplification"] == ["%.3f" % o["ftl"]["waf"] for o in order]
    assert "reads" not in rows
    # a row has one unit and as many digits
    write("us.tr", HEAD + "0 write 0 4096 done=25000\n")
    write("ms.tr", HEAD + "0 write 0 4096 done=4000000\n")
    rows = compared(page("us.tr", "ms.tr"))[1]
    assert rows["99 % of the writes within"] == ["4.000 ms", "0.02500 ms"], rows
    # a file without a figure has a gap; names without a label are sorted as a person sorts
    for name in "t15.tr", "t7.tr":
        write(name, HEAD + "0 read 0 512 done=500\n")
    head, rows = compared(page("t15.tr", "s0.json", "t7.tr"))
    assert head[:2] == ["t7.tr", "t15.tr"] and rows["writes"][:2] == ["\u2013", "\u2013"], (head, rows)
    assert rows["reads"] == ["1024 MB/s", "1024 MB/s", "\u2013"], rows


def test_the_best_is_bold_where_a_reader_can_see_why():
    # the times of a and b differ by one in 100 000, which no printed figure shows
    for name, ns in ("a.tr", 1000000), ("b.tr", 1000010), ("c.tr", 2000000):
        write(name, HEAD + "0 write 0 65536 done=%d\n" % ns)

    def bold(*files):
        row = next(r for r in page(*files).iter("tr") if r.findtext("th") == "writes")
        return [cell.find("b") is not None for cell in row.iter("td")]

    def bold_said(*files):
        return any("bold" in (p.text or "") for p in page(*files).iter("p"))
    assert bold("a.tr", "b.tr", "c.tr") == [False] * 3, "two are equally good"
    assert not bold_said("a.tr", "b.tr") and bold_said("c.tr", "a.tr")
    assert bold("a.tr", "b.tr") == [False, False]
    assert bold("c.tr", "a.tr") == [True, False]
    # 65536 bytes in 1.005 and in 1.02 ms: less than 1 % and more than 1 % slower
    for name, ns in ("d.tr", 1005000), ("e.tr", 1020000):
        write(name, HEAD + "0 write 0 65536 done=%d\n" % ns)
    assert bold("a.tr", "d.tr") == [False] * 2 and bold("a.tr", "e.tr") == [True, False]


def test_names_are_escaped():
    tree = page(write("a<b>&.tr", HEAD + "0 read 0 512 done=5\n"))
    assert tree.find("body/section/h2").text == "a<b>&.tr"


def test_the_page_is_utf8():
    # the cell of the table ends within a character of the profile's name
    stats = {"profile": "\u00e4" * 300, "busy_ns": 5, "host": {}}
    write("s.json", json.dumps(stats, ensure_ascii=False))
    assert table(page("s.json"))["profile"] == "\u00e4" * 254 + "..."
    # a name of a file is any bytes
    os.symlink("s.json", b"a\xff\xe4z")
    assert page("a\udcff\udce4z").find("body/section/h2").text == "a??z"


def test_mistakes():
    write("t.tr", HEAD + "0 read 0 512\n")
    bad("which trace", "report", "-o", "x.html")
    bad("-o OUT.html", "report", "t.tr")
    bad("missing: No such file", "report", "missing", "-o", "x.html")
    bad("no requests", "report", write("empty.tr", HEAD), "-o", "x.html")
    code, _, err = call("report", write("marks.tr", HEAD + "0 read 0 512\n0 mark one\n"), "-o", "marks.html")
    assert code == 0 and err == "", err
    end = "# end: the last line is '# end'\n"
    bad("cut.tr: no requests in it; requests are missing at its end", "report", write("cut.tr", HEAD + end),
        "-o", "x.html")
    bad("bad.tr:2", "report", write("bad.tr", HEAD + "0 read 0\n"), "-o", "x.html")
    bad("b.json:2", "report", write("b.json", '{"a": 1,\n'), "-o", "x.html")
    bad("no statistics", "report", write("c.json", "  {}"), "-o", "x.html")
    bad("no statistics", "report", write("d.json", '{"host": 1, "busy_ns": "x"}'), "-o", "x.html")
    bad("Is a directory", "report", "t.tr", "-o", ".")
    assert not os.path.exists("x.html") # a page that did not become whole is removed
    bad("/dev/full: No space left", "report", "t.tr", "-o", "/dev/full")
    assert good("report", "t.tr", "-o", "-").startswith("<!DOCTYPE html>")


run(globals())
