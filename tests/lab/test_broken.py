#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the cuts of a work have come to, on verdicts and a trace made by hand: each number of a
sentence is another one, so none can stand in another one's place."""

import json
import os
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from flashemu_lab_bench import LAB, write
from flashemu_script import run

sys.path.insert(0, os.path.dirname(LAB))
from flashemu_lab.crash import broken  # noqa: E402
from flashemu_lab.crash.checks import Told, Verdict  # noqa: E402
from flashemu_lab.crash.states import Data, Enumerated, State  # noqa: E402
from flashemu_lab.crash.work import Recording, Work, read_trace  # noqa: E402

TRACE = """# flashemu trace 1
1000000 write 0 4096 done=5000000 data=0
2500000 mark one
2600000 mark two
3000000 write 8192 512 done=4000000 fua data=100
5000000 flush 0 0 done=6000000
6100000 mark three
"""
NUMBERS = {"cuts": 7, "second_cuts": 3, "instants": 9, "states": 4, "cases": 17, "failed": 2,
           "first_failed": "r:4:1:0", "dead": 12, "unreadable": 8, "recording": "r"}
LOST = ((8192, 512, 100),)


def state(name, request, time, marks, data=()):
    return State(name, request, time, marks, "hash of " + name, data, (), ())


EARLY, LATE = state("r:1:1:0", 2, 3500000, 2, LOST), state("r:2:1:0", 3, 5500000, 3)
KEPT = state("r:3:1:0", 3, 6200000, 3)
UNKNOWN = [state(f"r:0:{i}:0", 0, 250000 + i, 0) for i in range(1, 4)]


def judged(**more):
    os.makedirs("out", exist_ok=True)
    write("out/trace", TRACE)
    write("out/data", "x")
    recording = Recording(Path("out"), Work("ssd-page", ("size=16M",), 11, "work", "check"))
    verdicts = [Verdict(EARLY, Told(1, notes=("dirty", "dirty"))), Verdict(LATE, Told(None)),
                Verdict(KEPT, Told(0, notes=("dirty",))),
                *(Verdict(one, Told(125)) for one in UNKNOWN)]
    found = Enumerated(dict(NUMBERS), [v.state for v in verdicts], Data(Path("out/data")))
    return broken.Judged("0.1", recording, found, verdicts, None, **more)


def test_sentences():
    assert broken.sentences(judged(missing={"r:1:1:0": 0, "r:2:1:0": 512})) == [
        "A promise is broken in 2 of 6 states.",
        "The earliest cut that was judged: with request 2 of 3 (write of 512 bytes at 8192), behind the mark 'two', at "
        "3.500 ms; the check ended with exit code 1.",
        "Again: flashemu-lab crash --state r:1:1:0 -o out",
        "What has failed: the check in 1, the time in 1. In 1 of 2 of them the device has lost what was "
        "flushed: that is its own fault.",
        "After 2 cuts the device does not come back; the first is r:4:1:0.",
        "10 power cuts at 9 instants left 17 states: 4 differ in a byte, and 13 more only in what was promised by "
        "then.",
        "6 of them were judged, drawn by seed 11.",
        "As its profile says, 12 cuts killed the device.",
        "In 8 states there are sectors that cannot be read.",
        "In 2 states the filesystem says that it was not unmounted, which is no fault.",
        "The check could not judge 3 states."]


def test_how_many_states_there_are():
    """A state is the bytes with the marks; where all differ in a byte, nothing else is said of them."""
    for numbers, left in (({"cases": 4}, "4 states."),
                          ({"states": 1, "cases": 4},
                           "4 states: 1 differ in a byte, and 3 more only in what was promised by then.")):
        one = judged()
        one.found.numbers.update(numbers)
        told = broken.sentences(one)
        assert "10 power cuts at 9 instants left " + left in told and "drawn" not in " ".join(told), told
        assert told[1].startswith("The earliest cut: "), told


def test_whose_fault_it_is():
    both = broken.sentences(judged(missing={"r:1:1:0": 3, "r:2:1:0": 512}))[3]
    assert "In 2 of 2 of them the device has lost" in both, both
    none = broken.sentences(judged(missing={"r:1:1:0": 0, "r:2:1:0": 0}))[3]
    assert "In each of them the device has all that was flushed." in none, none


def test_failures_as_json_and_junit():
    one = judged(missing={"r:1:1:0": 0, "r:2:1:0": 512})
    whole = json.loads(broken.to_json(one))
    assert [(b["id"], b["mark"], b["marks"], b["flushed_missing"], b["kind"], b["code"])
            for b in whole["broken"]] == [("r:1:1:0", "two", 2, 0, "check", 1),
                                          ("r:2:1:0", "three", 3, 512, "time", None)]
    assert (whole["judged"], whole["kept"], whole["unknown"], whole["notes"]) == (6, 1, 3, {"dirty": 2})
    assert whole["broken"][1]["reason"] == "the check took too long"
    suite, = ET.fromstring(broken.to_junit({"work": one})).iter("testsuite")
    assert suite.get("failures") == "2" and len(suite.findall(".//failure")) == 2
    assert [case.get("name") for case in suite.iter("testcase")] == [
        "r:1:1:0", "r:2:1:0", "1 states are kept", "3 states"]


def test_fates():
    """Of what had arrived: answered, durable, and lost.  The first request is answered when the flush
    arrives, which is early enough."""
    write("trace", TRACE)
    requests, marks = read_trace(Path("trace"))
    assert [(m.behind, m.time, m.text) for m in marks] == [
        (1, 2500000, "one"), (1, 2600000, "two"), (3, 6100000, "three")]
    for there, want in ((EARLY, [(1, False, False, 0), (2, False, False, 512)]),
                        (LATE, [(1, True, False, 0), (2, True, True, 0), (3, False, False, 0)]),
                        (KEPT, [(1, True, True, 0), (2, True, True, 0), (3, True, False, 0)])):
        assert [(f.request.number, f.answered, f.durable, f.lost)
                for f in broken.fates(there, requests)] == want, there


def test_the_picture_of_the_requests():
    """What has become of each write shows by its shape; what is lost is crossed out."""
    page = broken.to_page(judged(missing={"r:1:1:0": 0, "r:2:1:0": 0}))
    drawn = re.search(r"<svg .*?</svg>", page, re.S)[0]
    boxes = re.findall(r'class="([^"]*)"><title>([^<]*)<', drawn)
    assert boxes == [("hollow waiting k7", "request 1: write of 4096 bytes at 0, under way, there"),
                     ("lost", "request 2: write of 512 bytes at 8192, under way, lost")], boxes
    assert drawn.count('class="cross quiet"') == 2 + 2, "of the legend, and of request 2"
    assert re.findall(r"<text[^>]*>([^<]*)</text>", drawn)[2:7] == [
        "durable", "acknowledged", "under way", "lost", "flush"]
    later = broken.fates(LATE, read_trace(Path("out/trace"))[0])
    looks = [broken._look(f) for f in later]  # pylint: disable=protected-access
    assert looks == ["acknowledged", "durable", "under way"]


def test_several_works_link_to_their_pages():
    page = broken.to_overview({"ext4": judged(), "my card.ini": judged()})
    assert re.findall(r'<a href="([^"]*)">([^<]*)</a>', page) == [
        ("ext4/index.html", "ext4"), ("my%20card.ini/index.html", "my card.ini")]
    assert "A promise is broken with ext4 and my card.ini." in page
    assert page.count(">33.3 %<") == 2 and page.index("<svg") < page.index("<table")


run(globals())
