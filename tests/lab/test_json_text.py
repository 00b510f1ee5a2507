#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Numbers and JSON that somebody else has written: one line each, whatever is in them."""

import contextlib
import copy
import dataclasses
import io
import json
import random
import re
import xml.etree.ElementTree
from typing import Any

from flashemu_lab_bench import SMALL, bad, good, read, write
from flashemu_script import run

from flashemu_lab.cli.parser import build_parser
from flashemu_lab.core import markup
from flashemu_lab.core.errors import LabError
from flashemu_lab.core.json_text import loads, record
from flashemu_lab.core.units import quantity, whole
from flashemu_lab.crash import power_cuts, results
from flashemu_lab.experiment import table
from flashemu_lab.report import html
from flashemu_lab.report.page import document, page
from flashemu_lab.recording import recordings
from flashemu_lab.report.svg import text


def refused(function, *args):
    try:
        found = function(*args)
    except LabError as e:
        assert "\n" not in str(e)
        return str(e)
    raise AssertionError(found)


def test_json_that_is_none():
    for number in ("NaN", "Infinity", "-Infinity", "1e400", "-1e999"):
        assert refused(loads, '{"a":\n %s}' % number, "x").startswith("x:"), number
    assert refused(loads, "[" * 100000, "x") == "x: is no JSON that can be read"
    assert refused(loads, "1" * 5000, "x") == "x: is no JSON that can be read"
    for broken, why in (("{\n\n]", "3: is no JSON: a name in double quotes is missing"),
                      ("[1, 2", "1: is no JSON: a comma is missing"),
                      ("[1,\n", "2: is no JSON: a value is missing"),
                      ('{"a" 1}', "1: is no JSON: a colon is missing"),
                      ("[1] 2", "1: is no JSON: something stands behind its end"),
                      ('\n["a', "2: is no JSON: a text has no end"),
                      ('["a\n"]', "1: is no JSON: a text has a control character"),
                      ('["\\q"]', "1: is no JSON: a text has an escape that JSON does not know"),
                      ('["\\u12"]', "1: is no JSON: a text has an escape that JSON does not know"),
                      (" \n", " is empty")):
        assert refused(loads, broken, "x") == "x:" + why
    assert loads("[1e17, -3, true]", "x") == [1e17, -3, True]


@dataclasses.dataclass(frozen=True)
class Inner:
    size: int
    note: str = "none"


@dataclasses.dataclass(frozen=True)
class Outer:
    name: str
    rate: float | None
    inner: Inner
    some: tuple[Inner, ...] = ()
    by_name: dict[str, float] = dataclasses.field(default_factory=dict)
    rest: Any = None
    on: bool = False


GOOD = {"name": "a", "rate": 1.5, "inner": {"size": 3}, "some": [{"size": 4, "note": "x"}],
        "by_name": {"b": 2}, "rest": [None], "on": True}


def test_a_record():
    assert record(Outer, GOOD, "") == Outer(
        "a", 1.5, Inner(3), (Inner(4, "x"),), {"b": 2}, [None], True)
    assert record(Outer, {"name": "a", "rate": None, "inner": {"size": 3}}, "") == Outer(
        "a", None, Inner(3))


def test_a_record_names_the_member():
    for place, value, message in (
            (("name",), 7, "name: 7; allowed: a text"),
            (("rate",), "1", 'rate: "1"; allowed: a number below 10^18'),
            (("rate",), True, "rate: true; allowed: a number below 10^18"),
            (("rate",), 1e18, "rate: 1e+18; allowed: a number below 10^18"),
            (("inner", "size"), 1.5, "inner.size: 1.5; allowed: a whole number below 10^18"),
            (("inner", "size"), None, "inner.size: null; allowed: a whole number below 10^18"),
            (("inner", "siez"), 1, 'inner: unknown member "siez"; allowed: note, size'),
            (("inner",), [], "inner: []; allowed: an object"),
            (("some",), {}, "some: {}; allowed: a list"),
            (("some", 0, "note"), 1, "some[0].note: 1; allowed: a text"),
            (("by_name", "b"), "x", 'by_name.b: "x"; allowed: a number below 10^18'),
            (("on",), 1, "on: 1; allowed: true or false")):
        value_in = copy.deepcopy(GOOD)
        at = value_in
        for key in place[:-1]:
            at = at[key]
        at[place[-1]] = value
        assert refused(record, Outer, value_in, "") == message
    assert refused(record, Outer, {"name": "a", "rate": 1}, "top") == "top: inner is missing"


def test_numbers_of_users():
    assert quantity("1e400") is None and quantity("\u0661\u0662") is None
    assert quantity("1.5M") == 1572864 and whole("007") == 7
    assert [whole(t) for t in ("", "-1", "\u0661", "\u00b2", "1 ", "1e3", "+1")] == [None] * 7


def test_options_of_users():
    for words, message in (
            (("run", "waf", "--ensemble-seed", "-1"), "--ensemble-seed: -1: allowed: 0 to"),
            (("run", "waf", "--jobs", "\u0663"), "--jobs: \u0663: allowed: 1 to 1024"),
            (("run", "waf", "--most", "\u00b2"), "--most: \u00b2: allowed: a number of at least 1"),
            (("run", "waf", "--sample-seed", "1e3"), "--sample-seed: 1e3: allowed: 0 to"),
            (("crash", "ideal", "--seed", "-1"), "--seed: -1: allowed: 0 to 9223372036854775807"),
            (("sweep", "ideal", "gen:random", "--seed", "1,-1"), "--seed: 1,-1: allowed: whole"),
            (("sweep", "ideal", "gen:random", "--seed", "9" * 20), "--seed: 9"),
            (("import", "x", "-o", "y.json", "--capacity", "1e400"), "--capacity: 1e400: allowed"),
            (("fit", "x.json", "-o", "y.ini", "--seed", "4294967296"), "allowed: 0 to 4294967295")):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            try:
                build_parser().parse_args(words)
            except SystemExit as e:
                assert e.code == 2
            else:
                raise AssertionError(words)
        assert message in said.getvalue() and said.getvalue().count("\n") == 1, said.getvalue()
    assert refused(power_cuts.parse_id, "ideal:ext4:files:1:\u0661").startswith("--cut ideal:")
    assert refused(recordings.operand, "rec:ext4-large,start=\u0661").endswith("unit (4M)")


def test_an_experiment_that_nests_too_deep():
    deep = "(" * 3000 + "1" + ")" * 3000
    for words in ("x = " + "[" * 5000 + "]" * 5000, SMALL.replace("ftl.waf", deep)):
        write("x.toml", words)
        assert len(bad("x.toml", "run", "x.toml")) == 1
    write("x.toml", SMALL.replace('"ftl.waf"', '"1e308 * 1e308 * ftl.waf"'))
    assert '"waf": null' in good("run", "x.toml", "--json")


def test_control_characters_in_pictures():
    strange = "a\x00\x07\x1b<&\ufffe" + "\ud800"
    drawn = text(1, 2, strange)
    found = xml.etree.ElementTree.fromstring(drawn)
    assert found.text == "a\ufffd\ufffd\ufffd<&\ufffd\ufffd"
    assert markup.escape("tab\tline\n\"") == "tab\tline\n&quot;"
    write("x.toml", SMALL.replace('label = "request"', 'label = "re\\u0007quest"'))
    good("run", "x.toml", "-o", "x")
    xml.etree.ElementTree.fromstring(read("x/figure-01.svg"))
    assert not re.search("[\0-\x08\x0b\x0c\x0e-\x1f]", read("x/index.html"))


def test_text_is_escaped_wherever_a_template_puts_it():
    bad_text, told = "<b>&'\x07", "&lt;b&gt;&amp;&#x27;\ufffd"
    for name, values, count in (
            ("fold", (bad_text, bad_text), 2), ("headed", (bad_text, bad_text), 2),
            ("items", ([bad_text, bad_text],), 2), ("code", (bad_text,), 1),
            ("pre", (bad_text,), 1), ("notes", (bad_text,), 1), ("pictures", ([bad_text],), None),
            ("table", ([(bad_text, True)], [[bad_text]], False), 2),
            ("again", (bad_text, bad_text), 2), ("replay", (bad_text,), 1),
            ("other", (bad_text, bad_text), 2), ("cuts", (bad_text,), 1),
            ("link", (bad_text, bad_text), 2)):
        made = html.part(name, *values)
        assert "<b>" not in made and (count is None or made.count(told) == count), (name, made)
    for made in (document(bad_text, bad_text, bad_text, [bad_text] * 9, []),
                 html.render("junit.xml", suites=[{
                     "name": bad_text, "device": bad_text, "broken": [(bad_text,) * 3],
                     "kept": 1, "unknown": 2}])):
        assert "<b>" not in made and made.count(told) == (13 if "main" in made else 7), made


def places(value, at=()):
    """The paths of all members of a value, its own first."""
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if \
        isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*at, key))


WRONG = (None, "", "x\x01", -1, 0, 1.5, 10**30, True, [], {}, [[]], {"a": 1}, [1, "a", None])


def damaged(value, draw, at):
    """A copy with one member changed or left out."""
    copied = copy.deepcopy(value)
    inner = copied
    for key in at[:-1]:
        inner = inner[key]
    if draw.random() < 0.2:
        del inner[at[-1]]
    else:
        inner[at[-1]] = draw.choice(WRONG)
    return copied


def endure(whole_file, read_it):
    """Whatever is damaged is a page or one clear line."""
    draw = random.Random(1)
    pages = lines = 0
    for at in places(whole_file):
        for _ in range(4 if at else 0):
            text_in = json.dumps(damaged(whole_file, draw, at))
            try:
                read_it(text_in)
                pages += 1
            except LabError as e:
                lines += 1
                assert str(e).startswith("x.json: "), e
    assert pages and lines > pages / 4, (pages, lines)


def test_damaged_results_of_experiments():
    write("x.toml", SMALL + '\n[theory]\nlaw = "uniform-writes"\n[[figure]]\nkind = "lines"\n'
          'x = "bs"\nseries = "ftl.op"\n')
    good("run", "x.toml", "-o", "x")
    whole_file = json.loads(read("x/results.json"))
    levels = whole_file["rows"][0]["levels"]
    whole_file["full"] = [{"levels": list(levels.values()), "values": {"waf": 1.25}, "pace": 0.5}]
    whole_file["replay"] = {"sentence": "As good as it gets.", "samples": 1, "largest": 0.1}
    assert "As good" in page(table.from_json(json.dumps(whole_file), "x.json"))
    endure(whole_file, lambda t: page(table.from_json(t, "x.json")))


def test_damaged_results_with_an_ensemble():
    sets = '[factors.ensemble.levels]\n"as shipped" = {}\n"set 1" = {"nand.tR" = "60us"}\n'
    write("x.toml", SMALL.replace('bs = {label = "request", levels = ["4K", "8K", "16K"]}',
                                  'bs = ["4K", "8K"]\n' + sets))
    good("run", "x.toml", "-o", "x")
    whole_file = json.loads(read("x/results.json"))
    whole_file["evidence"] = {
        "judged": [{"profile": "ssd-page", "row": "seq", "judged": 9, "rejected": 4}],
        "trials": [{"profile": "ssd-page", "what": "a", "how": "b", "unit": "MB/s",
                    "values": [1.5, 3.25]}]}
    endure(whole_file, lambda t: page(table.from_json(t, "x.json")))


def test_damaged_results_of_power_cuts():
    result = {**{name: i for i, name in enumerate(results.COUNTS)}, "recover_ns": 10**6,
              "mount_ns": 2 * 10**6, "mounted": "yes", "fsck": "clean"}
    cut = {"id": "transcend8g:ext4:files:1:7", "writes": 5, "key": "0" * 64, "command": "c",
           "status": "done", "result": result, "message": ""}
    whole_file = {"format": 1, "kind": "crash", "program": "p", "conclusion": [], "groups": [],
                  "cuts": [cut, {**cut, "id": "ideal:vfat:log:2:1"}]}
    assert "transcend8g" in results.to_page(results.from_json(json.dumps(whole_file), "x.json"))
    endure(whole_file, lambda t: results.to_page(results.from_json(t, "x.json")))


run(globals())
