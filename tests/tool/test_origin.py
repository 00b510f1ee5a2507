#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Results say what they are: version, command, profile, overrides, seed and image."""

import json
import subprocess
import xml.etree.ElementTree as ElementTree

from flashemu_script import run
from flashemu_tool import TOOL, call, good, good_json, read, trace_lines, trace_origin, write

HEAD = "# flashemu trace 1\n"
VERSION = subprocess.check_output([TOOL, "--version"], universal_newlines=True).split()[1]
REPLAY = ["replay", "ssd-page", "gen:random,op=write,count=20,size=1M", "ftl.op=9%", "size=32M",
          "--seed", "7"]


def test_json_of_a_run():
    o = good_json(*REPLAY, "--json")
    assert o["version"] == VERSION and o["profile"] == "ssd-page" and o["seed"] == 7
    assert o["overrides"] == ["ftl.op=9%", "device.capacity=32M"]
    assert o["command"] == " ".join(["flashemu", *REPLAY, "--json"])
    o = good_json("replay", "ideal", "gen:random,count=1", "--json")
    assert o["overrides"] == [] and o["seed"] == 1 and "image" not in o
    largest = str(2**64 - 1) # a string, because an integer of JSON has a sign here
    o = good_json("replay", "ssd-page", "gen:sequential,op=write,count=1", "--json", "--seed", largest)
    assert o["seed"] == largest
    o = good_json("verify", "--dry-run", "--json", "--seed", "3", "lexar8g", "ftl.op=9%")
    assert o["version"] == VERSION and o["profile"] == "lexar8g" and o["seed"] == 3
    assert o["overrides"] == ["ftl.op=9%"] and o["command"].startswith("flashemu verify --dry-run")
    o = good_json("verify", "--dry-run", "--json", "--all")
    assert o["version"] == VERSION and "profile" not in o
    write("p.ini", good("show", "ideal"))
    o = good_json("check", "--json", "p.ini")
    assert o["version"] == VERSION and o["command"] == "flashemu check --json p.ini"


def test_a_trace():
    good(*REPLAY, "--record", "r")
    want = {"version": VERSION, "command": " ".join(["flashemu", *REPLAY, "--record", "r"]),
            "profile": "ssd-page", "overrides": "ftl.op=9% device.capacity=32M", "seed": "7", "capacity": "33554432"}
    assert trace_origin(read("r")) == want
    assert len(trace_lines(read("r"))) == 20
    # a converted trace keeps its origin
    assert trace_origin(good("trace", "r")) == want
    # one without an origin gets that of the conversion
    assert trace_origin(good("trace", write("old", HEAD + "0 read 0 512\n"))) == {
        "version": VERSION, "command": "flashemu trace old"}
    assert trace_origin(good("gen", "random", "--count", "1")) == {
        "version": VERSION, "command": "flashemu gen random --count 1"}


def test_an_origin_stays_in_its_line():
    text = good("gen", "random,count=1", "--device", "a\n0 write 0 512\n")
    assert len(trace_lines(text)) == 1
    long = good("gen", "random,count=1", "--device", "x" * 5000)
    assert trace_origin(long)["command"].endswith("...") and len(trace_lines(long)) == 1
    # comments behind the first request are not about the origin
    write("t", HEAD + "# profile: a\n# profile: b\n# version: 9\n0 read 0 512\n# seed: 4\n")
    assert trace_origin(good("trace", "t")) == {"version": "9", "profile": "b"}


def test_names_that_are_not_utf8():
    """JSON is UTF-8, and the name of a file need not be: a result is whole and says so with '?'."""
    card, trace, gone = ("./caf\udce9" + end for end in (".ini", ".trace", ".gone"))
    with open(card, "wb") as f:
        f.write(good("show", "kingston512m", "device.model=\udce9").encode(errors="surrogateescape"))
    write(trace, HEAD + "0 write 0 4096\n")
    write("m.json", json.dumps({"format": "flashemu-measurement", "version": 1, "points": [
        {"procedure": "request", "unit": "ns", "values": [1e6], "parameters": {
            "op": "write", "bs": 4096, "start": 0, "stride": 4096, "count": 3}}]}))
    for words in (["align"], ["verify", "--quick", "--kernel", "none"], ["verify", "--class"],
                  ["verify", "--against", "m.json"], ["replay", trace]):
        o = good_json(words[0], card, *words[1:], "--json")
        assert o["profile"] == "caf?", (words, o)
    runs = good_json("replay", card + ",ideal", trace, "--vary", "size=1M,2M", "--json")["runs"]
    assert [r["vary"] for r in runs] == [{"profile": name, "size": size} for name in (
        "./caf?.ini", "ideal") for size in ("1M", "2M")]
    code, out, err = call("replay", "ideal", "--each", trace, gone, "--vary", "size=1M,2M", "--json")
    runs = json.loads(out)["runs"]
    assert code == 2 and "memory" not in err and [r["vary"]["trace"] for r in runs] == [
        "./caf?.trace", "./caf?.gone"] * 2
    assert runs[1]["result"] is None and runs[1]["error"].startswith("./caf?.gone: No such file")


def test_a_report():
    for i in ["5%", "9%"]:
        text = good("replay", "ssd-page", "gen:random,op=write,count=500,size=16M", "ftl.op=" + i,
                    "--seed", "3", "--record", "r" + i, "--json")
        write(i + ".json", text)
    write("plain", HEAD + "0 write 0 512 done=9\n")
    good("report", "5%.json", "9%.json", "r5%", "plain", "-o", "out.html")
    tree = ElementTree.fromstring(read("out.html").replace("<!DOCTYPE html>", ""))
    tables = [{r.find("th").text: r.find("td").text for r in t.iter("tr")}
              for t in tree.iter("table") if t.get("class") is None]
    # in the order of the profiles and their changes; a file that says nothing is the first one
    for t, op in zip(tables[1:], ["5%", "5%", "9%"]):
        assert t["version"] == VERSION and t["profile"] == "ssd-page" and t["seed"] == "3", t
        assert t["overrides"] == "ftl.op=" + op and "flashemu replay ssd-page" in t["command"], t
    assert "version" not in tables[0] and "command" not in tables[0]
    head = next(tree.iter("table")).find("tr").findall("th")[1:]
    assert [th.text for th in head] == ["plain"] + ["ssd-page ftl.op=" + op
                                                    for op in ("5%", "5%", "9%")]
    assert "flashemu %s: flashemu report 5%%.json" % VERSION in read("out.html")
    # statistics of a server name the image within an object
    o = json.loads(read("5%.json"))
    o["image"] = {"sync": "flush", "path": "/a/b.img"}
    good("report", write("s.json", json.dumps(o)), "-o", "out.html")
    assert "<tr><th>image</th><td>/a/b.img</td></tr>" in read("out.html")
    # what is not of the expected kind does no harm
    for key in ["version", "command", "overrides", "image", "seed", "profile"]:
        for value in [[1, None], {"path": 3}, 1.5, None]:
            good("report", write("s.json", json.dumps(dict(o, **{key: value}))), "-o", "out.html")


run(globals())
