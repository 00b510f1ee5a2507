#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab life against closed forms, laws of conservation, and replays to death of any strategy."""

import json
import re

import numpy as np
from flashemu_lab_bench import FLASHEMU
from flashemu_script import ended, run
from scipy import special, stats

from flashemu_lab.life import card, lives, steady
from flashemu_lab.life.endurance import Spread
from flashemu_lab.life.lives import Pool
from flashemu_lab.runs.program import Tool

NONE = Spread(0, 0, "uniform")
FULL = ("ftl.op=15%", "faults.spare_blocks=6", "device.capacity=auto", "device.used=16T")
UNITS = ("nand.blocks_per_plane=64", "ftl.op=60%", *FULL[1:])


def replay(*words):
    code, out, err = ended([FLASHEMU, "replay", *words, "--json"])
    assert code == 0, err
    return json.loads(out)


def steady_of(profile, settings, work, cycles):
    c = card.look(Tool(), profile, (*settings, f"nand.endurance={cycles}"), 2018)
    return c, steady.judge(replay(profile, work, *c.replayed, "--until", "steady", "--drop-trim"), c,
                           work)


# ---- closed forms ----

def law(rates, alpha, k=1.0):
    """The write amplification A of cleaning the oldest block, where page i of n gets the share rates[i]
    of the writes: A = 1 + sum rates[i] / (exp(rates[i] n alpha / A) - 1), which is Menon's law for
    equal rates and Desnoyers' for two; greedy cleaning is law(k alpha) / k with k = 1 + 1 / 2b."""
    low, high = 1.0001, 1000.0
    for _ in range(50):
        a = (low + high) / 2
        more = 1 + np.sum(rates / np.expm1(np.minimum(rates * len(rates) * k * alpha / a, 700))) > a
        low, high = (a, high) if more else (low, a)
    return low / k


def test_zipf_writes_with_perfect_levelling():
    """The law says how much the chip writes; all blocks share it, and none has a spread."""
    shown = ended([FLASHEMU, "show", "ssd-page", *FULL])[1]
    b = int(re.search(r"pages_per_block = (\d+)", shown)[1])
    reserve = int(re.search(r"gc_reserve = (\d+)", shown)[1])
    for policy, theta in (("fifo", 0.8), ("greedy", 0.8), ("greedy", 0.5)):
        work = f"gen:zipf,theta={theta},op=write,bs=4K,count=100M"
        _, found = steady_of("ssd-page", ("nand.blocks_per_plane=256", *FULL, f"ftl.gc_policy={policy}"),
                             work, 1000)
        blocks = sum(p.blocks for p in found.pools)
        ranks = np.arange(1, int(blocks * b / 1.15) + 1) ** -theta
        k = 1 + 1 / (2 * b) if policy == "greedy" else 1.0
        a = law(ranks / ranks.sum(), 1.15 * (1 - reserve / blocks), k)
        assert abs(found.waf / a - 1) < 0.03, (policy, theta, found.waf, a)
        life = lives.draw(found.pools, found.spares, NONE, cards=5).quantile(0.5)
        assert abs(life / (1000 * blocks * b * 4096 / a) - 1) < 0.03, (policy, theta)


def test_lognormal_blocks_with_spares():
    """The (s + 1)-th smallest of n has the distribution of an order statistic: a share below x of
    them all is below it with the chance I_x(s + 1, n - s)."""
    for n, s, sigma in ((500, 0, 0.3), (500, 20, 0.3), (3000, 60, 0.6), (40, 39, 0.2)):
        found = lives.draw([Pool("x", n, 0.5, 2000)], s, Spread(0, sigma, "lognormal"), cards=4000)
        for share in (0.1, 0.5, 0.9):
            z = special.ndtri(special.betaincinv(s + 1, n - s, share))
            want = 4000 * np.exp(sigma * z)
            assert abs(found.quantile(share) / want - 1) < 0.02, (n, s, share)


def test_a_poisson_of_cards():
    """Of many blocks that each fail seldom, a Poisson number has failed at any time, so a card lives
    with the chance that it is not above its spares."""
    n, s = 20000, 12
    found = lives.draw([Pool("x", n, 1, 1000)], s, Spread(0, 1.0, "uniform"), cards=5000)
    for failed in (8, 12, 17):  # expected until then, of blocks that live evenly up to 2000
        lived = float(np.mean(found.bytes > 2000 * failed / n))
        assert abs(lived - stats.poisson.cdf(s, failed)) < 0.02, (failed, lived)


def test_units_that_are_hit_and_never_levelled():
    """Two units that take every second erase, each with a spare behind it, and 98 that share the rest:
    the two and their spares are used up long before the others."""
    pools = [Pool("hit", 2, 0.25, 100), Pool("others", 98, 0.5 / 98, 100)]
    for spares, when in ((0, 400), (1, 400), (2, 800), (3, 800), (4, 1200)):
        found = lives.draw(pools, spares, NONE, cards=10)
        assert np.allclose(found.bytes, when) and found.ends["hit"] == 1, spares


# ---- what is conserved ----

STRATEGIES = (
    ("ssd-page", "nand.blocks_per_plane=64", *FULL),
    ("ssd-page", "nand.blocks_per_plane=64", "ftl.type=dftl", *FULL),
    ("transcend8g", *UNITS), ("transcend8g", "ftl.type=block", *UNITS),
    ("transcend8g", "ftl.type=bast", *UNITS), ("transcend8g", "ftl.type=fast", *UNITS),
    ("flashfx4m",))
CACHES = ((), ("cache.size=256K",), ("cache.size=256K", "cache.volatile=yes", "cache.mode=off"))
SLC = ("nand.cell=mlc", "nand.blocks_per_plane=64", "faults.spare_blocks=6", "device.capacity=40M",
       "ftl.slc_mode=static", "ftl.slc_blocks=32", "ftl.slc_run=64K", "nand.slc_endurance=300",
       "device.used=20M")


def conserved(profile, settings, work):
    """Chip bytes are host bytes x WAF, counted by passes, by the device and by what its blocks hold."""
    c, found = steady_of(profile, settings, work, 1000)
    o = replay(profile, work, *c.replayed, "--until", "steady", "--drop-trim")
    r, what = o["repeated"], (profile, settings, work)
    host, chip = (sum(p[key] for p in r["passes"]) for key in ("host_bytes", "programmed"))
    assert host == o["host"]["write"]["bytes"] and chip == o["nand"]["bytes_programmed"], what
    assert abs(o["ftl"]["waf"] * host / chip - 1) < 1e-9, what
    assert sum(p["erases"] for p in r["passes"]) == o["nand"]["block_erases"], what
    last = r["passes"][-r["together"]:]
    assert abs(found.waf * sum(p["host_bytes"] for p in last) / sum(p["programmed"] for p in last) - 1) \
        < 1e-9, what
    # Counted by blocks since the first pass: what they were erased is what passes say.
    planes = int(c.values["nand.planes_per_die"]) if c.values["nand.multiplane"] == "yes" else 1
    assert planes * sum(b["blocks"] * b["erases"] for b in r["blocks"]) == sum(
        p["erases"] for p in r["passes"][len(r["passes"]) > 1:]), what
    block = planes * int(c.values["nand.pages_per_block"]) * o["nand"]["bytes_programmed"] // \
        o["nand"]["page_programs"]
    erased = sum(p.blocks * p.rate for p in found.pools) * block
    # A block may be given up before it is full, but never hold more than it has.
    assert 0.9 * found.waf < erased < 2 * found.waf, (what, erased, found.waf)


def test_chip_bytes_are_host_bytes_times_waf():
    refused = ended([FLASHEMU, "show", "ssd-page", "ftl.type=x"])[2]
    known = set(re.search(r"allowed: ([\w, ]+)", refused)[1].split(", "))
    tried = {card.look(Tool(), p, tuple(s), 2018).values["ftl.type"] for p, *s in STRATEGIES}
    assert known - tried == {"step"}, "which has no blocks"
    for profile, *settings in STRATEGIES:
        for i, cache in enumerate(CACHES):
            work = ("gen:zipf,op=write,bs=4K,size=1M,count=200K",
                    "gen:random,op=write,bs=12K,size=2M,count=200K",
                    "gen:sequential,op=write,bs=64K,count=20K")[i]
            conserved(profile, (*settings, *cache), work)
    for work in ("gen:zipf,op=write,bs=4K,size=8M,count=100M",
                 "gen:zipf,op=write,bs=4K,size=8M,count=100M,think=100ms"):
        conserved("ssd-page", SLC, work)
    conserved("sandisk-su04g", ("device.capacity=500M", "nand.blocks_per_plane=1280"),
              "gen:zipf,op=write,bs=4K,size=1M,count=300K")


# ---- replays to death ----

def death(profile, settings, work, cycles):
    """The predicted life over that of a replay to death."""
    _, found = steady_of(profile, settings, work, cycles)
    o = replay(profile, work, *settings, f"nand.endurance={cycles}", "--until", "dead", "--drop-trim")
    assert o["state"] != "alive"
    drawn = lives.draw(found.pools, found.spares, NONE, 1, 10)
    return (drawn.quantile(0.5) + found.gained) / o["host"]["write"]["bytes"]


def test_any_strategy_dies_when_it_is_said():
    """Under `block`, writes in order go round among a few free units, which nothing levels; under
    `fast` these change, and the life is up to a sixth shorter."""
    for profile, *settings in STRATEGIES:
        most = 1.2 if "ftl.type=fast" in settings else 1.1
        for work in ("gen:random,op=write,bs=4K,size=4M,count=100M",
                     "gen:sequential,op=write,bs=64K,count=100M"):
            cycles = 300 if profile == "flashfx4m" else 100
            ratio = death(profile, tuple(settings), work, cycles)
            assert 0.9 < ratio < most, (profile, settings, work, ratio)


def test_data_that_are_written_once_stay():
    """What a recording writes before its work begins lies there for good, in blocks that do not wear."""
    settings = ("device.capacity=600M", "nand.blocks_per_plane=1280", "faults.spare_blocks=26",
                "device.used=16T")
    ratio = death("sandisk-su04g", settings, "rec:ext4-log,start=8192,measure=write,pace=1", 100)
    assert 0.95 < ratio < 1.05, ratio


run(globals())
