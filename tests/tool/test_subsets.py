#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu cuts --subsets: what a host must expect of any device, against sets made by hand.

A, B, C and D are bytes of sectors; the device has no part in these states but its times."""

import itertools
import json

import flashemu_data
from flashemu_script import run
from flashemu_tool import bad, good, good_json, read

SECTOR = 512
DEVICE = ("ssd-page", "size=16M", "cache.size=64K", "device.used=0")
ZEROS = bytes(SECTOR)
A, B, C, D = (bytes([65 + i]) * SECTOR for i in range(4))
WAYS = {"torn": "torn", "garbage": "garbage", "unreadable": None}


def make():
    """Sectors 0 and 1 become A, which is flushed and promised; then 0 becomes B, 1 and 2 become C,
    and 9 becomes D with FUA."""
    trace = flashemu_data.Writer("t")
    trace.write(0, A + A)
    trace.line(0, "flush", 0, 0)
    trace.line(0, "mark", "A")
    trace.write(0, B)
    trace.write(SECTOR, C + C)
    trace.write(9 * SECTOR, D, words="fua")
    trace.close()


def view(request):
    """What the host has written when this request has arrived, of sectors 0, 1, 2 and 9."""
    return [ZEROS if request < 1 else A if request < 3 else B,
            ZEROS if request < 1 else A if request < 4 else C,
            ZEROS if request < 4 else C, ZEROS if request < 5 else D]


def found(*words):
    """The states of the second sort: their ids, and of each the request, `any` or `last`, its marks
    and the four sectors, None for one that cannot be read."""
    good("cuts", *DEVICE[:1], "t", *DEVICE[1:], "--second", "0", "--cuts", "1", "--states", "s",
         "--subsets", "6000", *words)
    states, data = [], flashemu_data.Data("s.data")
    for line in read("s").splitlines():
        o = json.loads(line)
        if o["sort"] == "device":
            continue
        sectors = dict(zip((0, 1, 2, 9), view(o["request"])))
        for at, n, place in o["data"]:
            content = data.get(place, at, n)
            for i in range(0, n, SECTOR):
                sectors[(at + i) // SECTOR] = content[i:i + SECTOR]
        for at, n in o["zeros"] + o["unreadable"]:
            for i in range(at // SECTOR, (at + n) // SECTOR):
                sectors[i] = ZEROS if [at, n] in o["zeros"] else None
        assert set(sectors) == {0, 1, 2, 9}, o
        states.append((o["id"], o["request"], o["id"].split(":")[2], o["marks"],
                       tuple(sectors[i] for i in (0, 1, 2, 9))))
    assert len({s[1:] for s in states}) == len(states), "each one once"
    return states


def allowed(request, way):
    """All that a host must expect, sector by sector."""
    if request <= 2:
        return itertools.product((ZEROS, A), (ZEROS, A), (ZEROS,), (ZEROS,))
    if request == 3:
        return itertools.product((A, B), (A,), (ZEROS,), (ZEROS,))
    if way == "any" and request == 4:
        return itertools.product((A, B), (A, C), (ZEROS, C), (ZEROS,))
    return itertools.product((A, B), (A, C), (ZEROS, C), (D,) if way == "last" else (ZEROS, D))


def test_exactly_what_is_allowed():
    make()
    states = found()
    instants = [(1, "any"), (2, "any"), (3, "any"), (4, "any"), (5, "any"), (5, "last")]
    for name, request, way, marks, sectors in states:
        assert sectors in set(allowed(request, way)), name
        assert marks == (request > 2), "the mark stands behind the flush"
    for marks in (0, 1):
        here = {s[4] for s in states if s[3] == marks}
        expected = set().union(*(allowed(*i) for i in instants if (i[0] > 2) == marks))
        # What the one cut of the device has left is not told again.
        assert here <= expected and len(expected - here) <= 1, (marks, expected - here)


def test_sectors_that_are_not_whole():
    make()
    half = SECTOR // 2
    for name in ("torn", "garbage", "unreadable", "any"):
        seen = {s[4][2] for s in found("faults.cut_sector=" + name) if s[1:3] == (4, "any")}
        assert {ZEROS, C} <= seen
        others = seen - {ZEROS, C}
        torn = C[:half] + bytes(half)
        assert (torn in others) == (name in ("torn", "any")), name
        assert (None in others) == (name in ("unreadable", "any")), name
        rest = others - {torn, None}
        assert len(rest) == (name in ("garbage", "any")), (name, rest)
        # What is durable stays.
        states = found("faults.cut_sector=" + name)
        third = [s[4] for s in states if s[1] == 3]
        assert third and all(sectors[1] == A for sectors in third) and len(states) > 20, states
    torn_over_a = B[:half] + A[half:]
    assert torn_over_a in {s[4][0] for s in found("faults.cut_sector=torn") if s[1] == 3}


def test_sectors_of_an_erase_block_may_be_alike():
    """Two writes to one erase block, and one elsewhere, with an outcome that only a draw by sectors
    has: they are alike in more states than they would be by chance."""
    trace = flashemu_data.Writer("t")
    for at in (0, 5, 20000):
        trace.write(at * SECTOR, A)
    trace.close()
    good("cuts", *DEVICE[:1], "t", *DEVICE[1:], "--second", "0", "--cuts", "1", "--states", "s",
         "--subsets", "3000", "faults.cut_sector=unreadable")
    states = [json.loads(line) for line in read("s").splitlines()]
    bad_ones = [{a // SECTOR for at, n in o["unreadable"] for a in range(at, at + n, SECTOR)}
                for o in states if o["request"] == 3]
    kinds = {frozenset(b) for b in bad_ones}
    assert {frozenset((0, 5)), frozenset((20000,)), frozenset((0,)), frozenset((5, 20000)),
            frozenset((0, 5, 20000))} <= kinds, kinds


def test_an_id_makes_the_state_again():
    make()
    states = found("faults.cut_sector=any")
    for name, _, _, marks, sectors in states[::17]:
        told = good_json("cuts", *DEVICE[:1], "t", *DEVICE[1:], "faults.cut_sector=any", "--json",
                         "--state", name, "-o", "image", "--force")
        assert told["marks"] == marks
        with open("image", "rb") as f:
            image = f.read()
        assert len(image) == 16 << 20
        bad_ones = {a for at, n in told["unreadable"] for a in range(at, at + n, SECTOR)}
        for i, content in zip((0, 1, 2, 9), sectors):
            assert (i * SECTOR in bad_ones) == (content is None), (name, i)
            assert image[i * SECTOR:(i + 1) * SECTOR] == (content or ZEROS), (name, i)
        hashes = [json.loads(line)["hash"] for line in read("s").splitlines() if '"%s"' % name in line]
        assert [told["hash"]] == hashes


def test_the_device_has_its_states_as_before():
    make()
    words = ("cuts", *DEVICE[:1], "t", *DEVICE[1:], "--second", "2", "--json")
    plain = good_json(*words, "--states", "plain")
    both = good_json(*words, "--states", "both", "--subsets", "500", "--jobs", "3")
    assert both["subsets"] == 500 and both["subset_cases"] > 12 and plain["subsets"] == 0, (both, plain)
    same = {key for key in plain if not key.startswith(("subset", "command"))}
    assert {key: plain[key] for key in same} == {key: both[key] for key in same}

    def kept(path):
        return [(o["id"], o["hash"]) for o in map(json.loads, read(path).splitlines())
                if o["sort"] == "device"]
    assert kept("plain") == kept("both")
    good(*words, "--states", "again", "--subsets", "500", "--jobs", "1")
    with open("both", "rb") as f, open("again", "rb") as g:
        assert f.read() == g.read(), "not by the number of processes"


def test_mistakes():
    make()
    one = ("cuts", "ssd-page", "t", "size=16M")
    name = good_json(*one, "--json")["recording"]
    bad("--subsets -1", *one, "--subsets", "-1")
    bad("goes with --states, --behind or --subsets", *one, "--state", name + ":1:any:0", "-o", "x",
        "--subsets", "5")
    for wrong in (":1:any", ":1:any:", ":1:any:1:0:0", ":1:any:x", ":1:0:0:any:1"):
        bad("is no cut of this recording", *one, "--state", name + wrong, "-o", "x")
    bad("there is no such cut", *one, "--state", name + ":99:any:0", "-o", "x")
    bad("cut_sector", *one, "faults.cut_sector=old")


run(globals())
