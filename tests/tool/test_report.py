#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu report: the page is whole, stands alone, and says what traces and statistics do."""

import json
import os
import re
import xml.etree.ElementTree as ElementTree

from flashemu_script import run
from flashemu_tool import bad, good, good_json, read, write

HEAD = "# flashemu trace 1\n"


def page(*args):
    """The page as a tree; it must be well-formed and ask for nothing from elsewhere."""
    assert good("report", *args, "-o", "out.html") == ""
    text = read("out.html")
    assert not re.search(r"https?:|src=|<script|<link|@import|url[(]", text)
    os.unlink("out.html")
    return ElementTree.fromstring(text.replace("<!DOCTYPE html>", ""))


def table(tree, n=0):
    return {row.find("th").text: row.find("td").text for row in list(tree.iter("table"))[n].iter("tr")}


def figures(tree):
    return {svg.find("title").text: svg for svg in tree.iter("svg")}


def points(svg, colour):
    """The points of a cloud."""
    path = [p for p in svg.iter("path") if p.get("class") == "cloud " + colour]
    return [tuple(map(float, m)) for m in re.findall(r"M(\S+) (\S+?)h0", path[0].get("d"))] if path else []


def bars(svg):
    """Name and value of each."""
    texts = [t.text for t in svg.iter("text") if t.get("class") != "label"][1:]
    return list(zip(texts[::2], map(float, texts[1::2])))


def test_a_recorded_trace():
    # 3 writes of 4 KiB in order, 1 ms each; a read of 64 KiB, 2 ms; a flush
    tree = page(write("t.tr", HEAD +
                      "0 write 0 4096 done=1000000\n1000000 write 4096 4096 done=2000000\n"
                      "2000000 write 8192 4096 done=3000000\n3000000 read 1048576 65536 done=5000000\n"
                      "5000000 flush 0 0 done=10000000\n"))
    t = table(tree)
    assert t["time"] == "10 ms", t
    assert t["write requests"] == "3, 12 KiB, 4 KiB on average, 67 % in order", t
    assert t["read requests"] == "1, 64 KiB, 64 KiB on average, 0 % in order", t
    assert t["flush requests"] == "1" and "trim requests" not in t, t
    assert t["write rate"] == "1.229 MB/s" and t["read rate"] == "6.554 MB/s", t
    assert t["write latency"] == "half within 1 ms, 99 % within 1 ms, at most 1 ms", t
    assert t["flush latency"].endswith("at most 5 ms"), t
    f = figures(tree)
    assert list(f) == ["Rate", "Addresses", "Latency of each request",
                       "Latency: share of the requests within", "Sizes of requests"], list(f)
    assert len(points(f["Addresses"], "write")) == 3 and len(points(f["Addresses"], "read")) == 1
    assert points(f["Addresses"], "other") == []
    # on a scale by decades from 1 to 10 ms: 1 ms at the bottom, 2 ms at log 2, from the top
    w, r = points(f["Latency of each request"], "write"), points(f["Latency of each request"], "read")
    assert len({y for x, y in w}) == 1 and len(r) == 1
    bottom, share = w[0][1], (w[0][1] - r[0][1]) / 180
    assert bottom == 26 + 180 and abs(share - 0.301) < 1 / 89, (w, r)
    assert bars(f["Sizes of requests"]) == [("up to 4 KiB", 3), ("up to 64 KiB", 1)]


def test_a_trace_without_completions_or_times():
    tree = page(write("t.tr", HEAD + "5 write 0 4096\n1005 write 8192 512\n"))
    assert table(tree) == {"time": "1 us", "write requests":
                           "2, 4.5 KiB, 2.25 KiB on average, 0 % in order",
                           "write rate": "4608 MB/s"}, table(tree)
    assert list(figures(tree)) == ["Rate", "Addresses", "Sizes of requests"]
    tree = page("gen:sequential,op=write,bs=4K,count=100")
    assert list(figures(tree)) == ["Addresses", "Sizes of requests"]
    assert "100, 400 KiB, 4 KiB on average, 99 % in order" in table(tree)["write requests"]
    tree = page(write("f.tr", HEAD + "0 flush 0 0\n"))
    assert table(tree) == {"flush requests": "1"} and not figures(tree)


def test_no_point_is_left_out():
    # one slow request among many: a cloud that took a sample could miss it
    lines = ["%d write 0 512 done=%d" % (i * 100, i * 100 + (90 if i != 31234 else 10 ** 6))
             for i in range(50000)]
    svg = figures(page(write("t.tr", HEAD + "\n".join(lines) + "\n")))["Latency of each request"]
    by_y = {}
    for x, y in points(svg, "write"):
        by_y.setdefault(y, []).append(x)
    assert sorted(map(len, by_y.values())) == [1, 280], {y: len(x) for y, x in by_y.items()}


def test_statistics():
    o = good_json("replay", "transcend8g", "gen:random,op=write,bs=4K,size=64M,count=3000", "--json")
    t = table(page(write("s.json", json.dumps(o))))
    assert t["profile"] == "transcend8g"
    rate = o["host"]["write"]["bytes"] * 1e3 / o["busy_ns"]
    assert t["host: write requests"] == "3000, 11.72 MiB, %.4g MB/s" % rate, (t, rate)
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
    tree = page("s0.json", "s1.json", "r0.tr", "--title", "a <b> & \"c\"")
    assert tree.find("head/title").text == 'a <b> & "c"'
    assert [h.text for h in tree.iter("h2")] == ["s0.json", "s1.json", "r0.tr", "Compared"]
    rates = bars(figures(tree)["Writes, MB/s"])
    assert [name for name, _ in rates] == ["s0.json", "s1.json", "r0.tr"]
    for (_, rate), o in zip(rates, [stats[0], stats[1], stats[0]]):
        assert abs(rate / (o["host"]["write"]["bytes"] * 1e3 / o["busy_ns"]) - 1) < 1e-3, rates
    assert [v for _, v in bars(figures(tree)["Write amplification"])] == [
        float("%.4g" % o["ftl"]["waf"]) for o in stats]
    assert "Reads, MB/s" not in figures(tree)


def test_names_are_escaped():
    tree = page(write("a<b>&.tr", HEAD + "0 read 0 512 done=5\n"))
    assert tree.find("body/h2").text == "a<b>&.tr"


def test_the_page_is_utf8():
    # the cell of the table ends within a character of the profile's name
    stats = {"profile": "\u00e4" * 300, "busy_ns": 5, "host": {}}
    write("s.json", json.dumps(stats, ensure_ascii=False))
    assert table(page("s.json"))["profile"] == "\u00e4" * 254 + "..."
    # a name of a file is any bytes
    os.symlink("s.json", b"a\xff\xe4z")
    assert page("a\udcff\udce4z").find("body/h2").text == "a??z"


def test_mistakes():
    write("t.tr", HEAD + "0 read 0 512\n")
    bad("which trace", "report", "-o", "x.html")
    bad("-o OUT.html", "report", "t.tr")
    bad("missing: No such file", "report", "missing", "-o", "x.html")
    bad("no requests", "report", write("empty.tr", HEAD), "-o", "x.html")
    bad("bad.tr:2", "report", write("bad.tr", HEAD + "0 read 0\n"), "-o", "x.html")
    bad("b.json:2", "report", write("b.json", '{"a": 1,\n'), "-o", "x.html")
    bad("no statistics", "report", write("c.json", "  {}"), "-o", "x.html")
    bad("no statistics", "report", write("d.json", '{"host": 1, "busy_ns": "x"}'), "-o", "x.html")
    bad("Is a directory", "report", "t.tr", "-o", ".")
    assert not os.path.exists("x.html") # a page that did not become whole is removed
    bad("/dev/full: No space left", "report", "t.tr", "-o", "/dev/full")
    assert good("report", "t.tr", "-o", "-").startswith("<!DOCTYPE html>")


run(globals())
