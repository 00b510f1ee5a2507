#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lives of cards: the fit to a survey, censored cards, contradictions, and what real cards say."""

import csv
import importlib.machinery
import importlib.util
import json
import math
import os
from types import SimpleNamespace

import numpy as np
from flashemu_lab_bench import FLASHEMU, TOP, write
from flashemu_script import ended, run

from flashemu_lab.core.errors import LabError
from flashemu_lab.life import card as cards
from flashemu_lab.life import endurance as table
from flashemu_lab.life import what_if, works
from flashemu_lab.runs.program import Tool

LOADER = importlib.machinery.SourceFileLoader("endurance", os.path.join(TOP, "tools/endurance"))
SPEC = importlib.util.spec_from_loader("endurance", LOADER)
endurance = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(endurance)
DATA = os.path.join(TOP, "tests/data/life")
HEAD = "group,milestone,n,mean,median,min,max\n"


def survey():
    rows, comments = endurance.read(os.path.join(DATA, "endurance_survey.csv"))
    return *endurance.usable(rows), comments


def test_half_of_the_survey_predicts_the_other():
    rows, _, _ = survey()
    found = {repr(r): (r, mean, median)
             for r, mean, median in endurance.predict(endurance.fit(rows), rows)}
    for group, milestone in (("all", "first_error"), ("all", "1pct_bad"), ("all", "complete_failure"),
                             ("authentic", "complete_failure"), ("fake flash", "complete_failure")):
        r, mean, median = found[f"{group} at {milestone}"]
        assert abs(mean / r.mean - 1) < 0.15 and abs(median / r.median - 1) < 0.15, (r, mean, median)


def test_cards_that_lock():
    """64 of 119 locked before 1 % of their sectors were bad."""
    predicted, was = endurance.locked(survey()[2])
    assert abs(was - 64 / 119) < 1e-9 and abs(predicted - was) < 0.1


def test_the_table_has_what_the_tool_says():
    rows, _, _ = survey()
    fitted = endurance.fit(rows)
    device, block = endurance.spread(fitted, rows)
    s = table.table()["spread"]
    assert abs(s["device"] - device) < 0.001 and abs(s["block"] - block) < 0.001
    assert table.of_cell("tlc", 2020).cycles == round(math.exp(fitted["authentic", "1pct_bad"][0]))


def test_shipped_profiles_say_what_life_predicts_with():
    """`life` draws cards as the profile says, and a device that is served is the median of its kind.
    ssd-page stands for no card."""
    tool = Tool()
    for profile in ended([FLASHEMU, "profiles"])[1].split():
        values = cards._values(tool.ask("show", profile))
        if values.get("nand.endurance", "unlimited") == "unlimited" or profile == "ssd-page":
            continue
        assert math.isclose(cards._share(values["faults.life_spread:kind"]), table.usual_spread().device)
        assert values.get("faults.life_spread:device", "0%") == "0%", profile
        assert values.get("faults.life_spread:rank", "50%") == "50%", profile
        told = {n.what: n for n in cards.look(tool, profile, (), 0).assumed}
        assert told["spread from card to card"].source.startswith(
            "the profile: from card to card, by the Great MicroSD Card Survey: mean and median of "
            "authentic cards at 1 % bad sectors"), (profile, told)
        assert told["cycles of a block"].source.startswith("the profile: "), (profile, told)


def test_whose_spread_it_is():
    """The user's own, that of the profile, and for what neither says that of the table."""
    for settings, device, block, sources in (
            ((), 0.837, 0.019, ("the profile: from card", "the Great")),
            (("faults.life_spread=10%",), 0.837, 0.1, ("the profile: from card", "given")),
            (("faults.life_spread=7%,device:30%",), 0.3, 0.07, ("given", "given")),
            (("faults.life_spread=kind:20%",), 0.2, 0.019, ("given", "the Great")),
            (("faults.life_spread=kind:20%,device:60%",), 0.6, 0.019, ("given", "the Great")),
            (("faults.life_spread=kind:0%",), 0.837, 0.019, ("the Great", "the Great")),
            (("faults.life_spread=device:40%",), 0.4, 0.019, ("given", "the Great"))):
        found = cards.look(Tool(), "toshiba16g", settings, 0)
        assert math.isclose(found.spread.device, device) and found.spread.block == block, settings
        said = [n.source for n in found.assumed if n.what.startswith("spread")]
        assert all(a.startswith(b) for a, b in zip(said, sources, strict=True)), (settings, said)
    with open(os.path.join(TOP, "profiles/toshiba16g.ini"), encoding="utf-8") as f:
        lines = f.read().split("\n")
    mine = [n for n, line in enumerate(lines) if line.startswith(("life_spread = ", "faults.life_spread"))]
    lines[mine[0]] = "life_spread = 7%,device:30%"
    lines[mine[1]] = "faults.life_spread = two hundred\n    cards of mine\nrest = what else was here"
    found = cards.look(Tool(), write("mine.ini", "\n".join(lines)), (), 0)
    assert (found.spread.device, found.spread.block) == (0.3, 0.07)
    said = [n.source for n in found.assumed if n.what.startswith("spread")]
    assert said == ["the profile: two hundred cards of mine"] * 2, said


def test_a_rank_is_one_card():
    try:
        cards.look(Tool(), "toshiba16g", ("faults.life_spread=rank:10%",), 0)
    except LabError as e:
        assert "rank:10%: is one card of its kind" in str(e), e
    else:
        raise AssertionError("life drew cards of every rank")


def test_rows_that_contradict_each_other_are_named():
    _, said, _ = survey()
    assert said and all(line.startswith("not used: all at 10pct_bad, because ") for line in said)
    for text, left in (("a,first_error,3,50,9,10,90\n", "median outside"),
                       ("a,first_error,3,50,40,10,90\na,1pct_bad,4,60,50,10,95\n", "more cards"),
                       ("all,first_error,9,50,40,10,90\na,first_error,10,50,40,10,80\n",
                        "has 10 cards of the 9"),
                       ("all,first_error,9,50,40,10,90\na,first_error,3,50,40,5,80\n",
                        "none below 10")):
        rows, _ = endurance.read(write("survey.csv", HEAD + text))
        kept, said = endurance.usable(rows)
        assert len(kept) == len(rows) - 1 and left in said[0], said
    rows, _ = endurance.read(write("survey.csv", HEAD + "b,first_error,3,,12,2,67\nc,10pct_bad,1,5,,,\n"))
    assert endurance.usable(rows) == (rows, []), "what is missing contradicts nothing"


def test_the_parameters_of_a_lognormal():
    mu, sigma = endurance.lognormal(math.exp(7 + 0.5 * 0.6**2), math.exp(7))
    assert abs(mu - 7) < 1e-12 and abs(sigma - 0.6) < 1e-12
    mean, median = endurance.mixture([(3, 7, 0.6), (1, 7, 0.6)])
    assert abs(median / math.exp(7) - 1) < 1e-9 and abs(mean / math.exp(7.18) - 1) < 1e-9


def test_cards_that_live_on_count():
    """Simulated cards, of which a third or more were taken off the test before they died."""
    rng = np.random.default_rng(3)
    for mu, sigma, end in ((8.0, 0.8, 8.2), (7.0, 1.4, 7.0), (6.0, 0.3, 6.1)):
        life = rng.normal(mu, sigma, 4000)
        until = np.minimum(life, rng.normal(end, 0.5, 4000))
        dead = life <= until
        assert 0.3 < dead.mean() < 0.7
        found = endurance.censored(np.exp(until), dead)
        assert abs(found[0] - mu) < 0.05 and abs(found[1] / sigma - 1) < 0.06, (found, mu, sigma)
        assert np.log(np.exp(until[dead])).mean() < mu - 0.1 * sigma, "the dead ones alone lie"


def test_a_static_leveller_keeps_blocks_together():
    """An industrial card after 13590 cycles has a block with 13665.  The distance does not grow with the
    cycles: it is the leveller's threshold, so a chip of few pages and cycles shows it."""
    with open(os.path.join(DATA, "health_readouts.csv"), encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    apacer = next(r for r in rows if "Apacer" in r["card"])
    mean, most = float(apacer["avg_erase"]), float(apacer["max_erase"])
    ahead = []
    for count in ("150000", "300000"):
        code, out, err = ended([
            FLASHEMU, "replay", "ssd-page", "nand.blocks_per_plane=64", "nand.pages_per_block=16",
            "nand.endurance=unlimited", "ftl.op=12%", "device.used=16T", "ftl.wear_levelling=static",
            f"gen:hotcold,op=write,bs=4K,count={count}", "--json"])
        assert code == 0, err
        wear = json.loads(out)["wear"]
        assert wear["mean"] > 100
        ahead.append(wear["max"] - wear["mean"])
    assert abs(ahead[1] - ahead[0]) < 25, ahead
    assert abs((mean + ahead[1]) / mean / (most / mean) - 1) < 0.01


def test_how_much_a_day_is_said():
    """Bytes of each day take the place of how often a work happens, and of what was assumed about it."""
    rest = works.Number("start", "63 sectors", "given")
    work = works.Work("w", "W", (("", "rec:x"),), rounds=24.0, per_day=3.0, doubts=("d",),
                      assumed=(works.Number("the work happens", "every h", "assumed"), rest))
    found = works._given_amount(work, works.Told(per_day=5e9))
    assert (found.per_day, found.rounds, found.doubts, found.requests) == (5e9, 0, (), work.requests)
    assert found.assumed == (works.Number("bytes a day", "5 GB", "given"), rest)
    assert works._given_amount(work, works.Told(every=7.0)) == work
    try:
        works._given_amount(work, works.Told(per_day=5e9, every=7.0))
        raise AssertionError("both are taken")
    except LabError as e:
        assert str(e) == "w: --every and --per-day both say how much there is a day"


def test_shares_of_a_card_that_were_written():
    """Of 10 000 000 bytes in whole pages of 4 KiB, whatever was said of them before."""
    card = SimpleNamespace(capacity=10_000_000, profile="p", settings=("seed=3", "device.used=7"))
    kept, what_if.cards.look = what_if.cards.look, lambda tool, *found: (tool, *found)
    try:
        told = list(what_if.shares("tool", card, 2031))
    finally:
        what_if.cards.look = kept
    assert [found for _, found in told] == [
        ("tool", "p", ("seed=3", f"device.used={4096 * pages}"), 2031) for pages in (2441, 2197, 1708)]
    assert [name.split()[-2] for name, _ in told] == ["over", "is", "are"], told


run(globals())
