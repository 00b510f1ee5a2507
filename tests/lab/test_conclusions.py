#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What tables say, worked out by hand: directions, signs, groups, thresholds and error bars, with
garbage in the rows that must not matter."""

import functools
import itertools
import math
from types import SimpleNamespace

from flashemu_lab_bench import FLASHEMU  # noqa: F401
from flashemu_script import run

from flashemu_lab.core import streams
from flashemu_lab.core.errors import LabError
from flashemu_lab.experiment import choice, conclusion, host_time
from flashemu_lab.experiment import replay_accuracy, sweep
from flashemu_lab.experiment.ensemble import agreement, decision, trials
from flashemu_lab.experiment.ensemble.agreement import Agreement
from flashemu_lab.experiment.effects import analyse, contributions
from flashemu_lab.experiment.evidence import Judged, Trial
from flashemu_lab.experiment.replay_accuracy import Sample
from flashemu_lab.experiment.spec import Statement, parse
from flashemu_lab.experiment.table import Check, Row, Table
from flashemu_lab.kernel import sample as kernel_sample
from flashemu_lab.runs import expression
from flashemu_lab.runs.program import Outcome

HEAD = """name = "x"
title = "X"
[factors]
fs = ["fat", "ext", "xfs"]
work = ["log", "big"]
[device]
profile = "transcend8g"
[workload]
requests = "gen:random,op=write,bs={fs},count={work}"
[measure.rate]
value = "host.write.bytes"
label = "rate"
unit = "MB/s"
better = "more"
[measure.wear]
value = "host.write.bytes"
label = "wear"
better = "less"
"""


def table(rate, wear=(1,) * 6, say="", theory=(None,) * 6, checks=()):
    """Rows in the order of the file: fat log, fat big, ext log, ext big, xfs log, xfs big."""
    e = parse(HEAD + say, "x.toml")
    levels = itertools.product(*(f.levels for f in e.factors))
    return Table(e, "", tuple(
        Row(one, "", "done", {"rate": r, "wear": w}, t, "", "")
        for one, r, w, t in zip(levels, rate, wear, theory)), tuple(checks))


def near(got, want):
    assert abs(got - want) <= 1e-9 * max(1, abs(want)), (got, want)


def said(*arguments, **more):
    return conclusion.conclusion(table(*arguments, **more))


CHOOSE = """[[conclusion]]
say = "choose"
measure = "rate"
factor = "fs"
wear = "%s"
threshold = "%s"
among = "%s"
"""


def test_ratios_of_levels():
    """A ratio is to the best of the same work: to the most, or to the least."""
    t = table((4, 100, 8, 50, 2, 25), (3, 20, 6, 10, 12, 80))
    rate, wear = t.experiment.measures
    for m, want, ends in ((rate, (1 / 2, 1, 1, 1 / 2, 1 / 4, 1 / 4), (1 / 2, 1 / 2, 1 / 4)),
                          (wear, (1, 2, 2, 1, 4, 8), (2, 2, 8))):
        got = choice.ratios(t, "fs", m)
        for i, level in enumerate(("fat", "ext", "xfs")):
            near(got["log",][level], want[2 * i])
            near(got["big",][level], want[2 * i + 1])
            near(choice.worst(got, m)[level], ends[i])
    # a work for which one filesystem has no value counts for none
    some = choice.ratios(table((4, 100, 8, None, 2, 25)), "fs", rate)
    assert some == {("log",): {"fat": 1 / 2, "ext": 1, "xfs": 1 / 4}}
    assert choice.ratios(table((4, 100, None, None, 2, 25)), "fs", rate) == {}


def chosen(rate, wear="", threshold="10%", among="", wears=(1,) * 6):
    t = table(rate, wears, CHOOSE % (wear, threshold, among))
    words = t.experiment.statements[0].words
    return choice.choose(t, words), t, words


def test_what_is_chosen():
    found = chosen((91, 91, 100, 100, 89, 89))[0]
    assert (found.level, found.equal) == ("fat", ("fat", "ext"))
    assert chosen((91, 91, 100, 100, 89, 89), threshold="5%")[0].equal == ("ext",)
    # what cannot be chosen is no measure either
    found = chosen((50, 50, 100, 100, 47, 47), among="f")[0]
    assert (found.level, found.equal) == ("fat", ("fat", "xfs"))
    # of those that are as good, the one that wears less
    found = chosen((91, 91, 100, 100, 95, 95), wear="wear", wears=(9, 9, 5, 5, 2, 2))[0]
    assert (found.level, found.equal) == ("xfs", ("xfs",))


def test_what_the_others_cost():
    found, t, words = chosen((100, 40, 20, 30, 50, 4))
    cost = choice.costs(t, words, found, "ext")[0]
    assert found.level == "fat" and cost.measure.name == "rate"
    for got, want in ((cost.least, 0.2), (cost.most, 0.75)):
        near(got, want)
    assert (cost.least_at, cost.most_at) == ("log", "big")
    assert cost.words() == "20 % (log) to 75 % (big) of the rate"
    assert [choice.times(r) for r in (0.5, 1.099, 1.1, 3)] == [
        "50 %", "110 %", "1.10 times", "3.00 times"]
    assert said((100, 40, 20, 30, 50, 4), say=CHOOSE % ("", "10%", "")) == [
        "Choose fat. No other fs is better by a difference that counts.",
        "Best for log: fat. Worst: ext, with 20 % of the best.",
        "Best for big: fat. Worst: xfs, with 10 % of the best.",
        "A difference counts from 10 % on: the model cannot tell smaller ones.",
        "Ext instead gives 20 % (log) to 75 % (big) of the rate.",
        "Xfs instead gives 10 % (big) to 50 % (log) of the rate."]


COMPARE = """[[conclusion]]
say = "compare"
measure = "rate"
factor = "fs"
from = "fat"
to = "ext"
only = "%s"
"""


def mean_ratio(t, words):
    """What a comparison claims; None without a pair of runs."""
    return next((c.value for c in conclusion.claims(Statement("compare", words), t)), None)


def test_ratios():
    """Of the pairs that were asked for; all else may be anything."""
    rate = (2, 999, 6, 1, 12345, -7)
    words = parse(HEAD + COMPARE % "work=log", "x.toml").statements[0].words
    near(mean_ratio(table(rate), words), 3)
    near(mean_ratio(table((2, 8, 6, 4, 0, 0)), words | {"only": ""}), math.sqrt(1.5))
    assert mean_ratio(table((2, 8, None, 4, 0, 0)), words) is None
    assert said(rate, say=COMPARE % "work=log") == [
        "With work log, fs ext instead of fat gives 3.00 times the rate (one pair of runs)."]
    assert said((2, 8, 6, 4, 99, 99), say=COMPARE % "") == [
        "Fs ext instead of fat gives 1.22 times the rate on average over 2 pairs of runs (0.50 to "
        "3.00 times)."]
    assert said((8, 8, 2, 2, 99, 99), say=COMPARE % "work=big") == [
        "With work big, fs ext instead of fat leaves 25 % of the rate (one pair of runs)."]
    # all of a sentence has one unit: 1/4 and 3/2, whose mean is sqrt(3/8)
    assert said((8, 4, 2, 6, 99, 99), say=COMPARE % "") == [
        "Fs ext instead of fat costs 39 % of the rate on average over 2 pairs of runs (from 75 % less "
        "to 50 % more)."]
    assert said((8, 8, 8.03, 8.03, 99, 99), say=COMPARE % "work=big") == [
        "With work big, fs ext instead of fat hardly changes the rate (one pair of runs)."]


def agreed(tables):
    return agreement.agreement(tables, [functools.partial(conclusion.claims, s)
                                        for s in tables[0].experiment.statements])


def test_sets_that_agree():
    """The numbers of a claim are those of the sets in which it holds."""
    say = COMPARE % "work=log"
    tables = [table((r, 7, 6, 9, 1, 1), say=say) for r in (2, 3, 60, 1.5, 6.01)]
    found = agreed(tables)
    assert [(a.holds, a.values) for a in found] == [((True, False, True, False), (2.0, 4.0))]
    assert found[0].sentence() == (
        "In 2 of the 4 other sets of parameters that fit the published figures as well, fs ext "
        "instead of fat raises the rate with work log, to 2 to 4 times as much.")
    everywhere = agreed(tables[:2])[0]
    assert everywhere.sentence().startswith("In the only other set of parameters that fits the ")
    assert everywhere.values == (2, 2)
    nowhere = agreement.Agreement("it is so", (False,)).sentence()
    assert nowhere.startswith("Only in the set as shipped, and not in the other one that fits the ")


LIMIT = """[[conclusion]]
say = "limit"
measure = "rate"
factor = "fs"
share = "50%"
what = "kinds"
"""


def test_where_a_value_is_least_and_most():
    """And whether it is there in another set of parameters as well."""
    extremes = '[[conclusion]]\nsay = "extremes"\nmeasure = "rate"\n'
    rates = (7, 3, 11, 5, 9, 4)
    one = table(rates, say=extremes)
    least, most = conclusion.claims(one.experiment.statements[0], one)
    assert least.text == "the rate is lowest with fs fat and work big", least
    assert most.text == "the rate is highest with fs ext and work log", most
    for others, wanted in (((70, 30, 110, 50, 90, 40), (True, True)), ((7, 8, 11, 5, 9, 6), (False, True)),
                           ((7, 3, 11, 5, 12, 4), (True, False)), ((3, 11, 5, 9, 4, 7), (False, False)),
                           ((None, 3, None, None, 9, 4), (True, False))):
        other = table(others, say=extremes)
        assert tuple(a.holds[0] for a in agreed([one, other])) == wanted, others
    nothing = table((None,) * 6, say=extremes)
    assert [a.holds for a in agreed([one, nothing])] == [(False,)] * 2 and agreed([nothing, one]) == []


def test_the_last_good_level():
    assert said((10, 10, 6, 4, 4.9, 9), say=LIMIT) == [
        "With work log, the rate keeps 50 % of the first value up to ext kinds (6.00 MB/s), and no "
        "longer: 4.90 MB/s with xfs kinds.",
        "With work big, the rate falls below 50 % of the first value at once, from 10.0 MB/s with fat "
        "kinds to 4.00 MB/s with ext kinds."]
    assert said((10, 10, 5, 10, 5, 5), say=LIMIT) == [
        "With work log, the rate keeps 50 % of the first value up to the last one, xfs kinds (5.00 "
        "MB/s).",
        "With work big, the rate keeps 50 % of the first value up to the last one, xfs kinds (5.00 "
        "MB/s)."]
    t = table((10, 10, 6, 4, 4.9, 9), say=LIMIT)
    assert [c.text for c in conclusion.claims(t.experiment.statements[0], t)] == [
        "the rate keeps 50 % of the first value up to ext kinds with log",
        "the rate keeps 50 % of the first value up to fat kinds with big"]


def test_signs_of_differences():
    """From theory and from a kernel, as a share of what the replay is compared with."""
    law = ('[theory]\nlaw = "uniform-writes"\nmeasure = "rate"\n[[conclusion]]\nsay = "theory"\n')
    assert said((11, 5, 4, 8, 1, 1), theory=(10, 10, None, 8, None, None), say=law) == [
        "The rate can be compared with a theory in 3 runs, and is off by 20 % in the mean and by at "
        "most 50 % (fs fat, work big)."]
    checks = [Check(("fat", "log"), {"rate": 5}), Check(("xfs", "big"), {"rate": 6}),
              Check(("ext", "log"), {"rate": None})]
    assert said((4, 9, 9, 9, 9, 8), checks=checks, say='[[conclusion]]\nsay = "text"\ntext = "-"\n'
                ) == ["-", "2 runs went through a kernel as well. Of the rate, the replay is off by 25 % in "
                      "the mean and by at most 25 % (fs fat, work log)."]
    checks[1] = Check(("xfs", "big"), {"rate": 2})
    assert said((4, 9, 9, 9, 9, 8), checks=checks, say='[[conclusion]]\nsay = "text"\ntext = "-"\n'
                )[1].endswith("by 50 % in the mean and by at most 75 % (fs xfs, work big).")


def test_shares_of_levels_of_different_numbers():
    """The squares of a term count for each of its rows: 2 levels with 3, and 3 with 2."""
    found = {e.factors: e.share for e in analyse([1, 2, 6, 4, 5, 9], (2, 3))}
    near(found[(0,)], 13.5 / (13.5 + 28))
    near(found[(1,)], 28 / (13.5 + 28))
    near(sum(found.values()), 1)


def test_what_each_of_three_steps_adds():
    """The steps 1, 10 and 100; and what the first two give together is shared between them."""
    def value(done):
        return sum((1, 10, 100)[i] for i in done) + 6 * ({0, 1} <= done) + 9 * (len(done) == 3)
    for got, want in zip(contributions(value, 3), (1 + 3 + 3, 10 + 3 + 3, 100 + 3)):
        near(got, want)


def trial(*values, what="w"):
    return Trial("p", what, "how", "MB/s", values)


def test_a_threshold_between_sets():
    """Halfway between the logarithms; and what is off by 2 % is judged by the normal law."""
    claim = Agreement("c", (True, False, False))
    best = decision.decide(claim, (trial(7, 7, 7, 7), trial(4, 5, 9, 16, what="b")))
    assert best.trial.what == "b" and not best.above and best.tried == 1
    near(best.threshold, math.sqrt(45))
    assert (best.where, best.where_not) == ((4, 5), (9, 16)) and best.right > 0.999999
    other = decision.decide(claim, (trial(16, 9, 5, 4),))
    assert other.above and (other.where, other.where_not) == ((9, 16), (4, 5))
    # 2 % on each side of the threshold is half of a standard deviation off twice
    close = decision.decide(Agreement("c", (False,)), (trial(1.02, 1.0),))
    near(close.right, 0.5 * (1 + math.erf(math.log(1.02) / 2 / 0.02 / math.sqrt(2))))
    assert close.above and 0.68 < close.right < 0.7 and not close.useful
    # what some set cannot do, and what is 0 somewhere, is no measurement
    assert decision.decide(claim, (trial(4, None, 9, 16), trial(4, 0, 9, 16))) is None
    text = decision.decisive(best)
    assert "Below 6.71 MB/s it is so (4 to 5 MB/s in these sets), above it is not (9 to 16 MB/s)" \
        in text, text


def test_what_rejects_draws():
    told = decision.weighty((Judged("p", "a", 10, 2), Judged("p", "b", 4, 3), Judged("p", "c", 0, 0),
                             Judged("p", "d", 9, 1), Judged("p", "e", 5, 0), Judged("q", "f", 3, 0)))
    assert told[0].startswith("The published figures that say most about the parameters of p: b "
                              "rejects 3 of 4 draws, a rejects 2 of 10 draws and d rejects 1 of 9 "
                              "draws. The other one rejects no more."), told
    assert told[1].startswith("No published figure of q rejects")


def sample(filesystem, limit, kernel, replay=100):
    return Sample(1, filesystem, "r", "0", limit, "p", 63, "write", 1, kernel, "0", replay)


def test_samples():
    """The kernel's time against the replay's; the largest difference counts on either side, and
    only samples of devices like these."""
    near(sample("vfat", 1, 125).difference, 0.25)
    near(sample("vfat", 1, 80).difference, -0.2)
    assert replay_accuracy.percent(sample("vfat", 1, 80)) == "-20.00%"
    samples = (sample("vfat", 65536, 103), sample("vfat", 65536, 95), sample("ext4", 65536, 101),
               sample("vfat", 524288, 190), sample("ext4", 524288, 20))
    real = replay_accuracy.load, replay_accuracy._used
    replay_accuracy.load = lambda: samples
    replay_accuracy._used = lambda runs: replay_accuracy._Used(
        ("ext4", "f2fs", "vfat"), frozenset({65536}), frozenset())
    try:
        found = replay_accuracy.agreement(())
    finally:
        replay_accuracy.load, replay_accuracy._used = real
    near(found["largest"], 0.9)
    near(found["like"]["largest"], 0.05)
    assert (found["samples"], found["like"]["samples"]) == (5, 3)
    assert {name: n["samples"] for name, n in found["filesystems"].items()} == {
        "ext4": 1, "f2fs": 0, "vfat": 2}
    assert found["sentence"] == (
        "Replays of ext4 and FAT32 differ by at most 5.0 % from runs through the kernel at the same "
        "pace, in 3 samples with requests up to 64 KiB, as here (ext4 1.0 % in 1, FAT32 5.0 % in 2). "
        "There is no such sample of F2FS. Of all 5 samples, r on p differs most, by 90.0 %.")
    # rounded up, but not because of the last bit of a binary fraction
    assert [replay_accuracy._share([sample("x", 1, 100000 + k, 100000)])
            for k in (1401, 1400, 1399, 100)] == ["1.5 %", "1.4 %", "1.4 %", "0.1 %"]


class _Run:
    def __init__(self, name):
        self.name = name

    def key(self):
        return self.name


def test_what_thinking_changes():
    """The slow run's time against the quick one's, and the largest difference on either side."""
    def told(*times):
        runs = [(_Run(f"q{i}"), _Run(f"s{i}")) for i in range(len(times))]
        results = {}
        for (quick, slow), (a, b) in zip(runs, times):
            results[quick.key()] = Outcome("done", {"busy_ns": a} if a else {})
            results[slow.key()] = Outcome("done", {"busy_ns": b})
        real = host_time.pairs, host_time.execute
        host_time.pairs = lambda _: runs
        host_time.execute = lambda some, store, engine: [(r, results[r.key()]) for r in some]
        try:
            return host_time.told({"sentence": "S."}, (), results.get, None, None)
        finally:
            host_time.pairs, host_time.execute = real
    found = told((100, 98), (100, 120), (None, 900))
    assert found["thinking"]["runs"] == 2
    near(found["thinking"]["largest"], 0.2)
    assert found["sentence"].startswith("S. The host") and \
        "takes up to 20.0 % longer (tried with 2 of the runs)" in found["sentence"]
    assert "takes up to 20.0 % shorter (tried with 2" in told((100, 80), (100, 119))["sentence"]
    assert told((1000, 1004))["sentence"] == "S." and told() == {"sentence": "S."}


CANONICAL = """[device]
capacity = 1073741824
[link]
max_transfer = 120K
[ftl]
unit_size = 4M
"""


def test_which_replays_are_tried_with_a_host_that_thinks():
    """One recording, which has pauses and is not replayed with them already; six of many."""
    def found(text, limit):
        assert limit == 7
        return SimpleNamespace(recording=SimpleNamespace(thinks=[5] if "t" in text else []), pace=float("p" in text))

    def run(key, *requests):
        return SimpleNamespace(key=lambda: key, canonical="c", requests=[
            SimpleNamespace(kind=kind, text=text) for kind, text in requests])
    kept = host_time.recordings.operand, host_time.longest_command, host_time._paced
    host_time.recordings.operand, host_time.longest_command = found, lambda canonical: 7
    host_time._paced = lambda run: run.key() + " paced"
    try:
        runs = [run("a", ("recording", "t")), run("b", ("recording", "tp")), run("c", ("recording", "")),
                run("d", ("recording", "p")), run("e", ("generator", "t")), run("a", ("recording", "t")),
                run("f", ("recording", "t"), ("recording", "t")), run("g", ("recording", "t"))]
        assert [(one.key(), paced) for one, paced in host_time.pairs(runs)] == [
            ("a", "a paced"), ("g", "g paced")]
        many = [run(str(n), ("recording", "t")) for n in range(13)]
        assert [one.key() for one, _ in host_time.pairs(many)] == ["0", "3", "6", "9", "12"]
        assert len(host_time.pairs(many[:12])) == 6 and host_time.pairs([]) == []
    finally:
        host_time.recordings.operand, host_time.longest_command, host_time._paced = kept


def test_measurements_that_are_tried():
    """Each kind as often as it should be, in a region of 64 MiB behind 4 MiB, and beyond it by what
    it is shifted."""
    found = trials._plain(120 * 1024, 64 << 20)
    assert [c.what for c in found] == [
        "reads of 120 KiB in order", "reads of 4 KiB at random", "reads of 64 KiB at random",
        *(f"writes of {s} KiB in order" for s in (4, 16, 64, 120)),
        *(f"writes of 120 KiB in order, shifted by {s}" for s in ("512 bytes", "2 KiB", "16 KiB")),
        *(f"writes of {s} at random" for s in ("4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB")),
        "writes of 16 KiB at random, shifted by 512 bytes",
        "writes of 16 KiB at random, shifted by 2 KiB"]
    assert found[7].requests == ("gen:sequential,op=write,bs=122880,offset=4194816,size=67108864,"
                                 "count=546")
    assert found[7].how.endswith("--rw=write --bs=122880 --offset=4194816 --size=67108864 "
                                 "--number_ios=546")
    assert found[14].requests.endswith("bs=1048576,offset=4194304,size=67108864,count=100")
    units = trials._open_units(4 << 20, 24 << 20)
    assert [c.what for c in units] == [f"flashbench -O with {n} units, {order}"
                                       for order in ("in order", "at random") for n in (2, 3, 4)]
    assert units[4].requests == ("gen:flashbench-open-au,erasesize=4194304,bs=65536,open-au-nr=3,"
                                 "offset=4194304,random=yes")


def refused(function, *arguments):
    try:
        function(*arguments)
    except LabError as e:
        return str(e), e.code
    raise AssertionError("no message")


def test_units_that_are_measured_if_a_profile_says_none():
    """Those of 4 MiB, up to two less than the device has."""
    for unit, wanted in (("", 4 << 20), ("[ftl]\nunit_size = 2M\n", 2 << 20)):
        found = [c.requests for c in trials.candidates(f"[device]\ncapacity = 28M\n{unit}") if "open-au" in c.requests]
        most = min((28 << 20) // wanted - 2, 8)
        assert found == [f"gen:flashbench-open-au,erasesize={wanted},bs=65536,open-au-nr={n},offset={wanted}{more}"
                         for more in ("", ",random=yes") for n in range(2, most + 1)], found


def test_members_of_results():
    """A message has what stands at the place of the word that is wrong."""
    result = {"host": {"write": {"bytes": 6, "ops": 2}}, "waf": None}
    value = expression.evaluate
    assert value("host.write.bytes / host.write.ops * 5 - 1", result, {}) == 14
    assert value("waf", result, {}) is None and value("profile.ftl.op", result, {"ftl.op": "7%"}) \
        == 0.07
    told = refused(value, "host.write.byte", result, {})[0]
    assert "there is no 'byte'" in told and "bytes, ops" in told
    told = refused(value, "host.write.bytes.x", result, {})[0]
    assert "there is no 'x'" in told and told.endswith("nothing")
    assert expression.longest_command(CANONICAL) == 122880


def test_measures_of_a_sweep():
    """Those that were asked for, or the usual ones."""
    lines = sweep._measures(["slow=a.b/1000"])
    assert [x for x in lines if x.startswith("[")] == ["[measure.slow]"]
    assert 'value = "a.b/1000"' in lines and 'label = "slow"' in lines
    usual = [x for x in sweep._measures([]) if x.startswith("[")]
    assert usual == [f"[measure.{name}]" for name, *_ in sweep.MEASURES] and len(usual) > 1
    assert "expected NAME=EXPRESSION" in refused(sweep._measures, ["slow"])[0]


def test_exit_codes():
    """What a device or a host has refused ends with 1, a mistake with 2, and a signal with 130."""
    def stopped():
        raise KeyboardInterrupt

    def mistaken():
        raise LabError("a mistake")

    assert streams.run(stopped) == 130 and streams.run(mistaken) == 2
    assert streams.run(lambda: 0) == 0 and LabError("x", 1).code == 1
    no_time = table((0,) * 6)
    drawn = [kernel_sample.Drawn.__new__(kernel_sample.Drawn)]
    object.__setattr__(drawn[0], "recording", type("R", (), {"name": "log"}))
    row = no_time.rows[0]
    row.values[kernel_sample._MEASURE] = 0
    real, kernel_sample.paces = kernel_sample.paces, lambda drawn, table: ["0"]
    try:
        one = Table(no_time.experiment, "", (row,), (Check(row.levels,
                                                           {kernel_sample._MEASURE: 5}),))
        assert refused(kernel_sample.samples, drawn, one, one) == (
            "log: the phase took no time in the kernel", 1)
    finally:
        kernel_sample.paces = real


run(globals())
