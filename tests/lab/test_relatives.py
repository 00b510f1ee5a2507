#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab fit of a card of today: a shipped card with numbers of its own."""

import html.parser
import json
import math
import re
from dataclasses import replace
from pathlib import Path

from flashemu_fit_bench import MIB, ends_at_a_signal
from flashemu_lab_bench import FLASHEMU, bad, good, lab, opens_short, read, write
from flashemu_script import ended, run, skip

try:
    import cmaes  # noqa: F401
except ImportError:
    skip("no Python module cmaes")

from flashemu_lab.fit import relatives, relatives_result  # noqa: E402
from flashemu_lab.measurement import schema  # noqa: E402
from flashemu_lab.fit.compare import Comparer, Question  # noqa: E402
from flashemu_lab.core.units import quantity  # noqa: E402
from flashemu_lab.measurement.schema import Measurement, Point, make_point  # noqa: E402
from flashemu_lab.fit.model import changes  # noqa: E402
from flashemu_lab.fit.cards import Ladder  # noqa: E402
from flashemu_lab.fit.moves import Climb, Stopped  # noqa: E402
from flashemu_lab.fit.relatives import Search  # noqa: E402
from flashemu_lab.probe import speaking  # noqa: E402
from flashemu_lab.runs.program import Tool  # noqa: E402

KIB = 1 << 10
RELATIVE = "raspberrypi32g"
# What the card has that is measured here, and its relative has not.
MOVED = {"nand.tPROG": 1.4, "link.command_overhead": 4.0, "nand.slc_tPROG": 0.7}


# Of the cards here, because a large one takes long to make where each allocation is filled.
CAPACITY = 4 << 30


def shipped(name=RELATIVE, capacity=CAPACITY):
    return next(c for c in relatives.shipped(Tool(), capacity) if c.relative == name)


def moved(card, factors, **words):
    """The card with times that are so many times as long, and other words."""
    x = [t.to_x(t.from_x(v) * factors.get(t.key, 1)) for t, v in zip(relatives.TIMES, card.x)]
    return replace(card, x=tuple(x), words=tuple((k, words.get(k, v)) for k, v in card.words))


def plan(size=8 * MIB):
    """Rates in order and in random order, with the queue and without, without values."""
    return [make_point("fio-rate", [1], op=op, pattern=pattern, bs=bs, depth=4, jobs=1, size=size,
                       queue=queue)
            for queue in (True, False) for pattern in ("sequential", "random")
            for op in ("read", "write") for bs in (4096, 16384, 65536, 524288)]


def measured(card, points=None):
    """What the card does."""
    m = Measurement(tuple(points or plan()), "a card", CAPACITY)
    with Comparer(Tool(), m, 1) as comparer:
        answer = comparer.ask([Question("page", tuple(changes(card.keys())))])[0]
    assert answer.state == "done", answer.message
    return replace(m, points=tuple(Point(p.procedure, p.parameters, (v,))
                                   for p, v in zip(m.points, answer.measured)))


def time_of(keys, key):
    return quantity(keys[key])


def test_relatives_are_the_shipped_cards_of_today():
    every = relatives.shipped(Tool())
    names = {c.relative for c in every}
    assert {"raspberrypi32g", "raspberrypi64g", "sandisk-extreme64g", "samsung-proplus128g",
            "samsung-emmc8g"} <= names
    assert not names & {"transcend8g", "ideal", "toshiba16g", "generic32m", "sandisk-su04g"}
    # as they are, they are what the program ships
    points = plan()[:20]
    for name in (RELATIVE, "raspberrypi64g"):
        write("m.json", "")
        schema.save(Measurement(tuple(points), "x", 0), Path("m.json"))
        code, out, err = ended([FLASHEMU, "verify", name, "--against", "m.json", "--json"])
        assert code == 0, err
        own = [p["measured"] for p in json.loads(out)["points"]]
        assert own == [p.value for p in measured(shipped(name, 0), points).points]
    assert {dict(c.words)["device.capacity"] for c in relatives.shipped(Tool(), 3 << 30)} == {
        "3072M"}


def test_the_next_values_of_a_size():
    plain, off = Ladder(4096, 16384), Ladder(4096, 16384, "none", 8192)
    assert plain.next_to(4096) == [8192] and plain.next_to(16384) == [8192]
    assert sorted(plain.next_to(8192)) == [4096, 16384]
    assert off.next_to(0) == [8192] and sorted(off.next_to(4096)) == [0, 8192]
    assert sorted(Ladder(1, 64, ones=True).next_to(9)) == [4, 8, 10, 18]
    assert Ladder(1, 64, ones=True).next_to(1) == [2]


def test_neighbours_differ_in_one_thing():
    card = shipped()
    near = relatives.neighbours(card)
    assert len({n.words for n in near}) == len(near) > 20
    for n in near:
        (key,) = [k for (k, v), (_, w) in zip(n.words, card.words) if v != w]
        times = {t.key: (t.from_x(a), t.from_x(b))
                 for t, a, b in zip(relatives.TIMES, card.x, n.x) if a != b}
        text, was = dict(n.words)[key], dict(card.words)[key]
        if key == "nand.page_size":  # programs take as long for each byte
            factor = quantity(text) / quantity(was)
            assert set(times) == {"nand.tPROG", "nand.slc_tPROG"}
            assert all(abs(b / a / factor - 1) < 1e-9 for a, b in times.values())
        elif key == "nand.dies_per_channel":
            assert set(times) == {"nand.tPROG"}
        else:
            assert not times, (key, times)
        assert math.isinf(n.error)
    turned_off = {k for n in near for (k, v), (_, w) in zip(n.words, card.words)
                  if v != w and v in ("none", "never", "page", "any", "all")}
    assert {"cache.write_behind", "ftl.slc_run"} <= turned_off
    # what a search writes is what the program understands
    m = Measurement(tuple(plan(MIB)[:1]), "x", 0)
    with Comparer(Tool(), m, 2) as comparer:
        answers = comparer.ask([Question("page", tuple(changes(n.keys()))) for n in near])
    for n, a in zip(near, answers):
        assert a.state == "done" or "allowed" not in a.message, a.message
    assert sum(a.state == "done" for a in answers) > 0.8 * len(near)


def test_a_changed_card_is_found():
    truth = moved(shipped(), MOVED, **{"cache.write_behind": "128K"})
    m = measured(truth)
    found = relatives.fit(Tool(), m, 800, 1, 2)
    assert found.card.relative == RELATIVE and found.good
    assert found.all.median < 0.01 and found.all.near > 0.9, found.all
    keys = found.keys()
    for key, factor in MOVED.items():
        want = time_of(shipped().keys(), key) * factor
        assert abs(math.log(time_of(found.card.keys(), key) / want)) < 0.15, (key, keys.get(key))
    # what nothing speaks against is as the relative has it
    same = [k for k, v in found.card.words if dict(shipped().words)[k] == v]
    assert len(found.card.words) - len(same) <= 4
    assert all(e.median < 0.1 for _, e in found.held) and found.held[0][1].points == len(m.points)
    assert found.tried[0].relative == RELATIVE and len(found.tried) > 5
    # besides the budget: the relatives, what goes back, intervals, and four folds
    assert found.comparisons < 800 / relatives.PRICE + 350, found.comparisons


def without_queue(sizes, size=MIB):
    """Rates of reads and writes in both orders by these sizes, without a word about a queue."""
    return [make_point("fio-rate", [1], op=op, pattern=pattern, bs=bs, depth=1, jobs=1, size=size)
            for pattern in ("sequential", "random") for op in ("read", "write") for bs in sizes]


def test_where_a_fit_begins():
    """Rates begin at shipped cards, also where they tell the structure; what asks for one number of
    it, such as a row of flashbench, does not."""
    sizes = [KIB << i for i in range(15)]
    table = Measurement(tuple(without_queue(sizes)), "x", CAPACITY)
    assert speaking.told(table.points).structure and not relatives.applies(table)
    assert relatives.begins(table, table)
    rows = tuple(make_point("flashbench-open-au", [1e6], erasesize=4 * MIB, open=n, random=order,
                            chunk=16 * KIB << i) for n in (1, 2) for order in (False, True)
                 for i in range(3))
    both = replace(table, points=table.points + rows)
    assert not relatives.begins(both, both) and relatives.begins(table, table)
    # what can be compared is only rates, but the whole is more
    assert not relatives.begins(table, both)
    # a few rates tell no structure
    few = replace(table, points=(table.points[3], table.points[20]))
    assert relatives.begins(few, few)


def test_a_few_figures_are_no_worse_than_the_nearest_card():
    """Eight figures of a shipped card, each 25 % off: as it is the card is 25 % off, with times of
    its own less than half as much, but at other sizes more.  What is left out tells."""
    off = [0.8, 0.8, 1.25, 1.25, 1.25, 1.25, 0.8, 0.8]
    m = measured(shipped(), without_queue((4 * KIB, 64 * KIB)))
    noisy = replace(m, points=tuple(replace(p, values=(p.value * f,))
                                    for p, f in zip(m.points, off)))
    other = measured(shipped(), without_queue((16 * KIB, 256 * KIB)))
    found = relatives.fit(Tool(), noisy, 300, 1, 2)
    with Comparer(Tool(), other, 1) as comparer:
        search = Search(comparer, other, range(len(other.points)))
        search.left = 1
        unseen = [abs(e) for e in search.errors([found.card])[0]]
    assert set(found.rivals) == {"as it is", "times"}
    assert found.rivals[found.chosen] == min(found.rivals.values())
    assert found.chosen == "as it is" and found.tried[0].error < 0.5 * found.card.error
    assert found.card.keys() == found.relative
    assert found.card.relative == RELATIVE and max(unseen) < 1e-9, (found.card.relative, unseen)
    assert relatives_result.provenance(found, noisy, "nand.tPROG", "x") == \
        f"taken from {RELATIVE}, not measured"
    assert any("as it is misses it by" in line
               for line in relatives_result.sentences(found, noisy))


def test_the_same_whatever_the_jobs():
    m = measured(moved(shipped(), MOVED), plan(4 * MIB))
    one, two = (relatives.fit(Tool(), m, 300, 7, jobs) for jobs in (1, 2))
    assert one.keys() == two.keys() and one.errors == two.errors and one.held == two.held
    assert one.comparisons == two.comparisons


def test_what_is_held_out_is_not_looked_at():
    m = measured(moved(shipped(), MOVED), plan(MIB))
    looked = []

    class Spy(Search):
        def __init__(self, comparer, of, points, *more):
            super().__init__(comparer, of, points, *more)
            looked.append(set(points))
    plain, relatives.Search = relatives.Search, Spy
    try:
        found = relatives.fit(Tool(), m, 60, 1, 1)
    finally:
        relatives.Search = plain
    every = set(range(len(m.points)))
    folds = [every - points for points in looked if points and points != every]
    assert len(folds) == 4 * len(found.rivals) == 12 and all(len(f) == len(every) // 4 for f in folds)
    assert set().union(*folds) == every and found.held[0][1].points == len(every)


def test_both_columns_count():
    """With the queue the card is another one than without, and one profile has both."""
    m = measured(shipped())
    halves = [[p for p in m.points if dict(p.parameters)["queue"] == q] for q in (True, False)]
    assert all(a.value > 0 for half in halves for a in half)
    assert max(a.value / b.value for a, b in zip(*halves)) > 2
    with Comparer(Tool(), m, 1) as comparer:
        card = shipped()
        for points, better in ((range(16), "in-order"), (range(16, 32), None)):
            search = Search(comparer, m, points)
            search.left = 10
            on, off = search.judge([card, moved(card, {}, **{"link.queue": "off"})])
            assert on.error < 1e-9 and (off.error > 0.05 if better else off.error < 1e-9)


def test_a_budget_ends_a_search_with_what_it_has():
    m = measured(moved(shipped(), MOVED), plan(4 * MIB))
    with Comparer(Tool(), m, 2) as comparer:
        search = Search(comparer, m, range(len(m.points)))
        search.left = 5
        try:
            search._descend(replace(shipped(), error=9.0))
        except Stopped as ended_with:  # at the slopes: the first comparison was made
            assert ended_with.best and ended_with.best.error < 9.0 and search.left == 4
        else:
            raise AssertionError("5 comparisons are less than slopes need")
        search.left = 60
        begun = search.judge([shipped()])[0]
        climbed = search.structure(Climb(begun))
        assert climbed.error < begun.error and search.left < 60
        search.left = 40
        rest = search.rest(begun, 3)
        assert rest.error < begun.error and 0 <= search.left < 15
        # a number that hardly matters goes back, one that matters stays
        other = search.simplified(replace(climbed, words=tuple(
            (k, "7ms" if k == "nand.tBERS" else v) for k, v in climbed.words)), shipped())
        assert dict(other.words)["nand.tBERS"] == dict(shipped().words)["nand.tBERS"]
        assert other.error <= 1.01 * climbed.error < begun.error


def test_a_climb_changes_words():
    """The times are right, and a word and a size are not."""
    for key, was, now in (("link.queue", "in-turn", "in-order"), ("ftl.slc_run", "16K", "64K")):
        truth = moved(shipped(), {"link.command_overhead": 4.0}, **{key: was})
        m = measured(truth, plan(4 * MIB))
        with Comparer(Tool(), m, 2) as comparer:
            search = Search(comparer, m, range(len(m.points)))
            search.left = 100
            begun = search.judge([moved(truth, {}, **{key: now})])[0]
            climbed = search.structure(Climb(begun))
        assert dict(climbed.words)[key] == was and climbed.error < 0.2 * begun.error, (
            key, begun.error, climbed.error)


class _Page(html.parser.HTMLParser):
    """Counts tags, and fails where one is closed that is not open."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        if tag not in ("meta", "link", "br", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


def test_the_files():
    m = replace(measured(moved(shipped(), MOVED), plan()), name="a <card>")
    schema.save(m, Path("m.json"))
    out = good("fit", "m.json", "-o", "card.ini", "--quick", "--jobs", "2")
    assert out.startswith("The profile comes near: median error")
    assert re.search(r"The search began at raspberrypi32g, and \d+ of its numbers have changed", out)
    text = read("card.ini")
    code, _, err = ended([FLASHEMU, "check", "card.ini"])
    assert code == 0, err
    heads = re.findall(r"(?m)^\[(\w+)\]$", text)
    assert len(heads) == len(set(heads)) and heads[0] == "device"
    assert "capacity = 4096M" in text and "device.capacity = m.json: its capacity" in text
    written = set()
    section = ""
    for line in text.partition("[provenance]")[0].splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif "=" in line:
            written.add(f"{section}.{line.partition('=')[0].strip()}")
    told = dict(line.split(" = ", 1) for line in text.partition("[provenance]")[2].partition(
        "[fidelity]")[0].strip().splitlines())
    assert written - {"device.model"} == set(told) - {"errors"}
    assert re.match(r"fitted to m.json: .*raspberrypi32g has 416us", told["nand.tPROG"])
    assert told["nand.cell"].startswith("as raspberrypi32g: ")
    # its rows run, and are near
    code, out, err = ended([FLASHEMU, "verify", "card.ini", "--json", "--kernel", "none"])
    rows = json.loads(out)["rows"]
    assert len(rows) == len(m.points) and {"read-4k", "randwrite-64k-off"} <= {
        r["id"] for r in rows}, (out, err)
    near = [abs(1e6 * r["measured"] / p.value - 1) < 0.15 for r, p in zip(rows, m.points)]
    assert sum(near) > 0.85 * len(near)
    page = _Page()
    page.feed(read("card.html"))
    assert opens_short(read("card.html"))
    assert not page.open and page.seen.count("svg") == 9 and "<card>" not in read("card.html")
    assert "writes in random order, 4 in flight, without queue" in read("card.html")
    code, out, _ = lab("fit", "m.json", "-o", "again.ini", "--quick", "--json")
    o = json.loads(out)
    assert code == 0 and o["from"] == RELATIVE and o["good"] and len(o["points"]) == len(m.points)
    assert read("again.ini") == text and o["changed"]["nand.tPROG"]["was"] == "416us"
    assert o["tests"]["reads in order, 4 in flight, with queue"]["points"] == 4


def test_points_of_several_files_have_rows_of_their_own():
    taken = set()
    rows = [relatives_result._row(p, taken) for p in (
        "fio-read bs=4K depth=4 size=128M", "fio-read bs=4K depth=4 size=64M",
        "fio-read bs=4K depth=1 size=64M", "fio-read-cq-off bs=4K depth=4 size=128M",
        "iozone-seq-read bs=1M size=100M")]
    assert rows == ["read-4k", "read-4k-of-64m", "read-4k-of-64m-2", "read-4k-off",
                    "iozone-seq-read-1m"]


def test_a_card_that_nothing_comes_near():
    points = [replace(p, values=(1e5 * (1 + 900 * (i % 3 == 0)),)) for i, p in enumerate(
        plan(MIB)[::4])]
    schema.save(Measurement(tuple(points), "x", CAPACITY), Path("odd.json"))
    code, out, err = lab("fit", "odd.json", "-o", "odd.ini", "--budget", "60", "--jobs", "2")
    assert code == 1 and "no profile comes near" in err and not Path("odd.ini").exists()
    assert "No shipped card of today, with other numbers, does what this one did" in out, out
    code, _, _ = lab("fit", "odd.json", "-o", "odd.ini", "--budget", "60", "--anyway")
    assert code == 1 and Path("odd.ini").exists()
    # a file that only the larger ones have room for
    wide = [replace(p, parameters=tuple({**dict(p.parameters), "size": 40 << 30}.items()))
            for p in plan()[7:8]]
    m = Measurement(tuple(plan(MIB)[:2] + wide), "x", 0)
    with Comparer(Tool(), m, 2) as comparer:
        one = relatives._Fitting(Tool(), comparer, m, 60, 1, lambda what, error: None)
        assert one._comparable() == [0, 1, 2]
        assert {c.relative for c in one._relatives} == {
            "raspberrypi64g", "sandisk-extreme64g", "samsung-proplus128g"}
    trim = [make_point("fio-rate", [1e6], op="trim", pattern="random", bs=4096, depth=1, jobs=1,
                      queue=True)]
    schema.save(Measurement(tuple(trim), "x", CAPACITY), Path("trim.json"))
    bad("no point of the measurement can be compared with a card of today", "fit", "trim.json",
        "-o", "t.ini", "--anyway")


TABLE = """device,config,test,block_bytes,value,unit,note,source
c,cq=on,fio-read,4096,40,MB/s,,
c,cq=on,fio-write,4096,10,MB/s,,
c,cq=on,fio-write,524288,50,MB/s,,
c,cq=off,fio-write,4096,5,MB/s,,
c,cq=off,fio-write,524288,50,MB/s,,
c,cq=on,agnostics-seq-write,524288,60000,KiB/s,run 1,
c,cq=on,agnostics-seq-write,524288,62000,KiB/s,run 2,
c,cq=off,agnostics-seq-write,524288,50000,KiB/s,run 1,
c,cq=on,agnostics-rand-4k-read,4096,2000,IOPS,run 1,
d,nanopi,iozone-rand-read,4096,1000,IOPS,,
d,nanopi,iozone-seq-write,16777216,10,MB/s,,
d,nanopi,linux-boot-time,,10,s,,
"""


def test_a_table_of_cards():
    write("cards.csv", TABLE)
    bad("allowed with --device: c, c/cq=off, c/cq=on, d/nanopi", "import", "cards.csv", "-o",
        "x.json")
    good("import", "cards.csv", "-o", "c.json", "--device", "c")
    found = {p.text(): p for p in schema.load(Path("c.json")).points}
    assert len(found) == 8
    how = [dict(p.parameters) for p in found.values()]
    assert [h["queue"] for h in how] == [True] * 3 + [False] * 2 + [True, False, True]
    # with the queue, a file that is there is written faster by the same size: fio's was not there
    assert [h["depth"] for h in how] == [4, 1, 1, 4, 4, 4, 4, 4]
    assert [h["size"] >> 20 for h in how] == [128] * 5 + [64] * 3
    sniff = list(found.values())[5]
    assert sniff.values == (60000 * 1024, 62000 * 1024)
    assert list(found.values())[7].value == 2000 * 4096
    good("import", "cards.csv", "-o", "on.json", "--device", "c/cq=on")
    assert [dict(p.parameters)["queue"] for p in schema.load(Path("on.json")).points] == [
        True] * 5
    good("import", "cards.csv", "-o", "d.json", "--device", "d/nanopi")
    points = schema.load(Path("d.json")).points
    assert [p.procedure for p in points] == ["iozone"] * 2
    assert dict(points[0].parameters) == {"test": "random-read", "file": 100 << 20, "bs": 4096,
                                          "direct": True, "fsync": True}
    assert points[0].value == 4096000 and not relatives.applies(schema.load(Path("d.json")))


def test_what_the_user_says_of_the_queue():
    write("t.csv", "program,op,block,value,unit,depth,queue\nother,read,4K,10,MB/s,4,on\n"
                   "other,write,4K,3,MB/s,,off\nother,write,8K,3,MB/s,,\n")
    good("import", "t.csv", "-o", "t.json")
    flags = [dict(p.parameters).get("queue") for p in schema.load(Path("t.json")).points]
    assert flags == [True, False, None] and relatives.applies(schema.load(Path("t.json")))
    write("u.csv", "program,op,block,value,unit,queue\nother,read,4K,10,MB/s,maybe\n")
    bad("u.csv:2: queue: maybe; allowed: on, off", "import", "u.csv", "-o", "u.json")
    bad("--queue: t.csv says itself which figures are with the queue", "import", "t.csv", "-o",
        "u.json", "--queue", "on")
    write("v.csv", "program,op,block,value,unit\natto,read,4K,10,MB/s\n")
    good("import", "v.csv", "-o", "v.json", "--queue", "off")
    assert dict(schema.load(Path("v.json")).points[0].parameters)["queue"] is False
    write("dd.txt", "4194304 bytes (4.2 MB, 4.0 MiB) copied, 0.5 s, 8.4 MB/s\n")
    bad("--queue: dd.txt has no figure of fio or of a load", "import", "dd.txt", "-o", "w.json",
        "--queue", "on")


def test_stopped_by_a_signal():
    schema.save(measured(shipped()), Path("sig.json"))
    ends_at_a_signal("fit", "sig.json")


def test_advice_for_a_card_of_today():
    """`advise` takes the measurement, and keeps the profile that it fits."""
    schema.save(measured(moved(shipped(), MOVED), plan(2 * MIB)), Path("mine.json"))
    code, out, err = lab("advise", "mine.json", "--budget", "60", "--json")
    assert code == 0 and Path("mine.ini").exists(), err
    assert "from raspberrypi32g on" in read("mine.ini")


if __name__ == "__main__":
    run(globals())
