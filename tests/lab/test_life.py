#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab life: closed forms, replays to death, readings, and what is refused."""

import json
import math
import re
import types

import numpy as np
from flashemu_lab_bench import FLASHEMU, good, good_json, opens_short, read, write
from flashemu_script import ended, run

from flashemu_lab.cli import main
from flashemu_lab.core.errors import LabError
from flashemu_lab.experiment.theory import greedy
from flashemu_lab.life import card, lives, prediction, steady, told, what_if, works
from flashemu_lab.life.asked import often, seconds
from flashemu_lab.life.endurance import Spread, of_cell
from flashemu_lab.life.lives import Pool
from flashemu_lab.recording import recordings
from flashemu_lab.runs.program import Tool

NONE = Spread(0, 0, "uniform")
SMALL = ("nand.blocks_per_plane=64", "ftl.op=15%", "faults.spare_blocks=6", "device.capacity=auto")
FULL = (*SMALL, "device.used=16T")


def replay(*words):
    code, out, err = ended([FLASHEMU, "replay", *words, "--json"])
    assert code == 0, err
    return json.loads(out)


# ---- order statistics ----

def test_without_a_spread_all_cards_are_one():
    """100 blocks of 3000 cycles, each erased once for 400 bytes."""
    found = lives.draw([Pool("x", 100, 1 / 400, 3000)], 7, NONE)
    assert np.allclose(found.bytes, 1200000) and found.ends == {"x": 1.0}


def test_the_weakest_of_uniform_lives():
    """The k smallest of n uniform numbers has the mean k / (n + 1)."""
    found = lives.draw([Pool("x", 99, 1, 1000)], 9, Spread(0, 0.2, "uniform"), cards=4000)
    assert abs(found.bytes.mean() / (1000 * (0.8 + 0.4 * 10 / 100)) - 1) < 0.002
    assert found.bytes.min() > 800


def test_the_weakest_of_lognormal_lives():
    """The same as by drawing every block."""
    spread = Spread(0, 0.3, "lognormal")
    found = lives.draw([Pool("x", 500, 0.5, 2000)], 20, spread, cards=2000)
    rng = np.random.default_rng(7)
    every = np.sort(4000 * np.exp(0.3 * rng.standard_normal((2000, 500))), axis=1)[:, 20]
    for share in (0.1, 0.5, 0.9):
        assert abs(found.quantile(share) / np.quantile(every, share) - 1) < 0.01, share


def test_a_data_sheet_means_that_few_blocks_fail_before():
    spread = Spread(0, 0.3, "rated")
    found = lives.draw([Pool("x", 100000, 1, 3000)], 2000, spread, cards=200)
    assert abs(found.quantile(0.5) / 3000 - 1) < 0.01, "2 % of the blocks"


def test_cards_differ():
    found = lives.draw([Pool("x", 10, 2, 600)], 0, Spread(0.5, 0, "uniform"), cards=2000)
    for share, z in ((0.1, -1.2815516), (0.5, 0), (0.9, 1.2815516)):
        assert abs(found.quantile(share) / (300 * math.exp(0.5 * z)) - 1) < 0.01, share


def test_two_pools_share_the_spares():
    """Three places fail at 100, 200, 300 and five at 70, 140, 210..., because spares wear, too."""
    pools = [Pool("a", 3, 1, 100), Pool("b", 5, 1, 70)]
    for spares, when, who in ((4, 70, "b"), (5, 100, "a"), (7, 100, "a"), (8, 140, "b"),
                              (30, 350, "b")):
        found = lives.draw(pools, spares, NONE, cards=10)
        assert np.allclose(found.bytes, when) and found.ends[who] == 1, (spares, found)


def test_the_same_seed_gives_the_same_cards():
    pool = [Pool("x", 50, 1, 1000)]
    spread = Spread(0.2, 0.1, "lognormal")
    one, again, other = (lives.draw(pool, 3, spread, seed).bytes for seed in (1, 1, 2))
    assert (one == again).all() and (one != other).any()


def test_chance_is_no_difference():
    """Counts of a Poisson distribution are of equal blocks; what is more is the blocks' own."""
    rows = [{"blocks": 30, "erases": 1}, {"blocks": 40, "erases": 2}, {"blocks": 30, "erases": 3}]
    assert steady.unlevelled(rows) == [(30, 2), (40, 2), (30, 2)]
    own = steady.unlevelled([{"blocks": 50, "erases": 10}, {"blocks": 50, "erases": 90}])
    expected = 40 * math.sqrt(1 - 50 / 1600)
    assert np.allclose([rate for _, rate in own], [50 - expected, 50 + expected])


# ---- replays ----

def steady_of(tool, profile, settings, work, cycles):
    c = card.look(tool, profile, (*settings, f"nand.endurance={cycles}"), 2018)
    return c, steady.judge(replay(profile, work, *c.replayed, "--until", "steady"), c, work)


def test_greedy_cleaning_of_uniform_writes():
    """Against Desnoyers' law."""
    settings = ("nand.blocks_per_plane=512", *FULL[1:])
    c, found = steady_of(Tool(), "ssd-page", settings, "gen:random,op=write,bs=4K,count=10M", 1000)
    blocks = sum(p.blocks for p in found.pools)
    alpha = 1.15 * (1 - 2 / blocks)
    law = greedy(alpha, int(c.values["nand.pages_per_block"]))
    assert abs(found.waf / law - 1) < 0.05, (found.waf, law)


def death(tool, profile, settings, work, cycles, spread):
    """The predicted life over that of a replay to death."""
    _, found = steady_of(tool, profile, settings, work, cycles)
    o = replay(profile, work, *settings, f"nand.endurance={cycles}", "--until", "dead", "--drop-trim")
    assert o["state"] != "alive"
    drawn = lives.draw(found.pools, found.spares, spread, 1, 200)
    return (drawn.quantile(0.5) + found.gained) / o["host"]["write"]["bytes"]


def test_a_replay_to_death_agrees():
    tool = Tool()
    flat, wide = NONE, Spread(0, 0.1, "uniform")
    spread = ("faults.life_spread=10%",)
    lagging = ("ftl.wear_levelling=static,threshold:5",)
    for settings, lives_of, work in (
            ((*FULL, *spread), wide, "gen:random,op=write,bs=4K,count=100M"),
            ((*FULL, *spread), wide, "gen:zipf,op=write,bs=4K,count=100M"),
            ((*SMALL, *spread), wide, "gen:random,op=write,bs=4K,count=100M"),
            ((*SMALL, *spread), wide, "gen:hotcold,op=write,bs=4K,count=100M"),
            ((*SMALL, *spread), wide, "gen:sequential,op=write,bs=64K,count=100M"),
            ((*FULL, "ftl.wear_levelling=off"), flat, "gen:random,op=write,bs=4K,count=100M"),
            ((*FULL, "ftl.wear_levelling=off"), flat, "gen:sequential,op=write,bs=64K,count=100M"),
            ((*FULL, *lagging), flat, "gen:zipf,op=write,bs=4K,count=100M"),
            ((*FULL, *spread), wide, "gen:zipf,op=write,bs=4K,size=4M,count=100M")):
        ratio = death(tool, "ssd-page", settings, work, 100, lives_of)
        assert 0.9 < ratio < 1.1, (settings, work, ratio)


SLC = ("nand.cell=mlc", "nand.blocks_per_plane=64", "faults.spare_blocks=6", "device.capacity=40M",
       "ftl.slc_mode=static", "ftl.slc_blocks=32", "ftl.slc_run=64K", "nand.slc_endurance=300")


def test_an_slc_cache_and_its_folds():
    """Its blocks wear by themselves; in pauses it is emptied so early that one block does all."""
    for work in ("gen:zipf,op=write,bs=4K,size=8M,count=100M",
                 "gen:random,op=write,bs=4K,size=32M,count=100M",
                 "gen:zipf,op=write,bs=4K,size=8M,count=100M,think=100ms"):
        ratio = death(Tool(), "ssd-page", (*SLC, "device.used=20M"), work, 100, NONE)
        assert 0.9 < ratio < 1.1, (work, ratio)


def test_folds_wear_blocks_that_were_free():
    """A chip with so much room that the device is steady before a block of it was erased: what the
    folds of pauses fill will be erased all the same, and blocks whose turn has not come take part."""
    room = tuple(s.replace("plane=64", "plane=256").replace("=300", "=100000") for s in SLC)
    room = (*room, "device.used=20M")
    work = "gen:zipf,op=write,bs=4K,size=8M,count=100M,think=100ms"
    _, found = steady_of(Tool(), "ssd-page", room, work, 100)
    assert found.cold == 80 and sum(p.blocks for p in found.pools) == 1024 - 8 - 80, found
    ratio = death(Tool(), "ssd-page", room, work, 100, NONE)
    assert 0.95 < ratio < 1.05, ratio


def test_refresh_of_old_data_counts():
    """Data that lie for years are copied when a read finds flipped bits, to wherever there is room, so
    blocks do not wear alike any more."""
    work = ("gen:zipf,op=write,bs=4K,size=4M,count=2K,think=2000s", "gen:random,op=read,bs=4K,count=4K")
    flips = (*FULL, "nand.cell=mlc", "nand.endurance=100", "ecc.correctable_bits=40",
             "ecc.refresh_bits=1")
    waf = []
    for rate in (0, 1000000):
        settings = (*flips, f"faults.rber=retention:{rate}")
        c = card.look(Tool(), "ssd-page", settings, 2018)
        found = steady.judge(replay("ssd-page", *c.replayed, *work, "--until", "steady"), c, "x")
        dead = replay("ssd-page", *settings, *work, "--until", "dead")
        life = lives.draw(found.pools, found.spares, NONE, 1, 50).quantile(0.5) + found.gained
        assert 0.9 < life / dead["host"]["write"]["bytes"] < 1.1, (rate, life)
        waf.append(found.waf)
        said = prediction._refreshed({"x": found})
        assert bool(said) == (rate > 0) == (found.refreshed > 0), (rate, said, found.refreshed)
        others = [lives.draw(p, found.spares, NONE, 1, 50).quantile(0.5) for p in found.possible[1:]]
        assert len(others) == (rate > 0) and all(2 < o / life < 4 for o in others), (others, life)
    assert waf[1] > 1.1 * waf[0], waf
    # The blocks that refresh fills are whole, so what it writes is what it erases.
    assert abs(found.refreshed / (1 - waf[0] / waf[1]) - 1) < 0.2, (found.refreshed, waf)
    assert re.match(r"[12]\d % of the erases are of refresh, ", said[0]), said


def test_a_host_pauses_as_it_was_recorded():
    """In pauses devices clean up, so recordings are replayed with them, and what-ifs as well."""
    work = works.read(Tool(), ["logger"], works.Told())[0]
    c = card.look(Tool(), "ssd-page", (), 2018)
    others = [w for _, w in what_if.recorded(work, c)]
    assert len(others) > 4
    for w in (work, *others):
        assert w.requests[0][1].endswith(",pace=1"), w
    quick = works.read(Tool(), ["rec:ext4-log,pace=0"], works.Told(every=60))[0]
    assert ",pace=0," in quick.requests[0][1] and "pace=1" not in quick.requests[0][1]
    assert all("pace" not in w.requests[0][1] for _, w in what_if.recorded(quick, c))


def test_blocks_at_rest_do_not_share_the_wear():
    _, found = steady_of(Tool(), "ssd-page", FULL, "gen:zipf,op=write,bs=4K,size=4M,count=100M", 99)
    assert found.cold > 190 and sum(p.blocks for p in found.pools) < 60
    levelled = (*FULL, "ftl.wear_levelling=static")
    _, found = steady_of(Tool(), "ssd-page", levelled,
                         "gen:zipf,op=write,bs=4K,size=4M,count=100M", 99)
    assert found.cold == 0 and sum(p.blocks for p in found.pools) == 248


# ---- the answer ----

def test_an_interval_has_the_unit_of_its_median():
    """1000 cards of which one in ten lives shorter than the first number."""
    for low, middle, high, want in ((0.25, 0.66, 2.0, "91 to 730 days"),
                                    (0.664, 1.9, 5.62, "0.66 to 5.6 years"),
                                    (7.26, 21.0, 62.4, "7.3 to 62 years")):
        p = types.SimpleNamespace(median=middle, quantile=lambda q: low if q < 0.5 else high)
        assert told._interval(p) == want, told._interval(p)
    assert [told.span(y) for y in (0.6571, 1.94, 0.96)] == ["240 days", "1.9 years", "0.96 years"]


def test_numbers_of_a_row_have_as_many_digits():
    for value, n, want in ((2.0, 2, "2.0"), (1.999, 2, "2.0"), (21.4, 2, "21"), (129.6, 2, "130"),
                           (0.0961, 2, "0.096"), (0.1, 3, "0.100"), (6.5, 3, "6.50"), (11, 3, "11.0"),
                           (57.06, 3, "57.1"), (934.2, 3, "934"), (100, 3, "100"), (9.996, 3, "10.0"),
                           (1234, 2, "1\u2009200"), (0, 2, "0.0")):
        assert told.digits(value, n) == want, (value, n, told.digits(value, n))


def test_the_figure_leaves_out_what_has_no_place_on_its_scale():
    def life(name, low):
        return types.SimpleNamespace(median=2.0, quantile=lambda q: low if q < 0.5 else 3.0, card=None,
                                     work=types.SimpleNamespace(name=name))
    assert told._lives([life("gone", 0.0)], []) == ""
    drawn = told._lives([life("a", 1.0), life("b", 0.0)], [("less", life("c", 1.5))])
    assert re.findall("<title>([^:]*): 2.0 years", drawn) == ["a", "less"]
    assert "as it is: 2.0 years (1.0 to 3.0 years)" in told._lives([life("a", 1.0)], [])


# ---- the command ----

def test_the_command_says_years_and_what_they_rest_on():
    o = good_json("life", "gen:zipf,op=write,bs=4K,count=1M", "--per-day", "1GB", "--card", "ssd-page",
                  "--only", *FULL, "nand.endurance=3000", "faults.life_spread=device:50%")
    assert o["evidence"] and o["host_bytes_per_day"] == 1e9
    assert abs(o["chip_bytes_per_day"] / 1e9 - o["waf"]) < 1e-9
    # All blocks take part; rated by a data sheet they end a little later than at 3000 cycles.
    pool = o["steady"]["pattern"]["pools"][0]
    expected = 3000 / pool["erases_per_host_byte"] / 1e9 / 365.25
    years = o["years"]
    assert abs(years["median"] / expected - 1) < 0.03, (years, expected)
    assert abs(years["high"] / years["low"] / math.exp(2 * 1.2816 * 0.5) - 1) < 0.03
    assert {"nand.endurance=3000", "faults.life_spread=device:50%"} < set(o["settings"])
    assert all(n["source"] for n in o["assumed"])
    text = good("life", "gen:zipf,op=write,bs=4K,count=1M", "--per-day", "1GB", "--card", "ssd-page",
                "--only", *FULL, "nand.endurance=3000", "faults.life_spread=device:50%", "-o", "out")
    assert text.splitlines()[0] == o["sentence"] and text.endswith("out/index.html\n")
    assert o["sentence"] in re.sub("&[a-z#0-9]+;", "'", read("out/index.html"))
    assert json.loads(read("out/results.json"))["years"] == years
    assert opens_short(read("out/index.html"))


def test_the_nominal_life_of_an_emmc():
    """3000 cycles, 5.6 GB a day on the chip of 8 GB: 11 to 12 years."""
    o = good_json("life", "chip=5.6GB/day", "nand.endurance=3000", "--card", "samsung-emmc8g", "--only")
    assert abs(o["years"]["median"] / 11.5 - 1) < 0.05, o["years"]
    assert o["chip_bytes_per_day"] == 5.6e9


def test_works_side_by_side():
    o = good_json("life", "rec:vfat-log", "rec:ext4-log", "rec:vfat-log,start=8192", "--every", "1h",
                  "--card", "toshiba16g", "--only")
    vfat, ext4, again = o["answers"]
    assert ext4["years"]["median"] < vfat["years"]["median"] and \
        float(ext4["compared"].removesuffix(" times as long")) < 1
    assert again["compared"] == "equal" and vfat["evidence"]
    assert o["what_if"] == []


def test_what_if():
    o = good_json("life", "logger,every=1s", "--card", "ssd-page", "--most", "300000",
                  "device.used=500M")
    found = {w["what"]: w for w in o["what_if"]}
    assert any("f2fs" in name for name in found) and any("vfat" in name for name in found)
    assert "partition at 1 MiB" in found
    lost = found["card written all over before"]
    spared = found["written all over, but three tenths are unpartitioned"]
    assert lost["years"]["median"] < spared["years"]["median"] < o["years"]["median"]
    assert o["not_compared"]


def what_ifs(*words):
    o = good_json("life", *words, "--card", "toshiba16g", "device.capacity=600M",
                  "nand.blocks_per_plane=170", "faults.spare_blocks=6", "device.used=450M")
    return {w["what"]: w["years"]["median"] / o["years"]["median"] for w in o["what_if"]}, o


def test_what_helps_was_recorded():
    """A longer commit, noatime, a log in memory and WAL, each by a replay of its own recording."""
    found, o = what_ifs("syslog")
    ext4 = "mount -t ext4 -o noinit_itable,"
    assert 1.5 < found[ext4 + "commit=30"] < found[ext4 + "commit=60"] < found["log=memory"]
    assert found[ext4 + "strictatime"] < 0.6 < 0.75 < found[ext4 + "noatime"] < 1.3
    assert found["mkfs.f2fs -q -f; mount -t f2fs"] > 0
    assert [x.partition(":")[0] for x in o["not_compared"]] == ["WAL or a rollback journal"]
    found, o = what_ifs("home-assistant")
    journal, full = (found[f"journal_mode={x} synchronous=full"] for x in ("delete", "wal"))
    assert journal < 0.7 * full < 0.7, found
    assert found[ext4 + "commit=60"] > 0.96, "it syncs itself; 55 blocks instead of 56"
    assert [x.partition(":")[0] for x in o["not_compared"]] == ["noatime, logs in memory"]
    _, o = what_ifs("gen:random,op=write,bs=4K,count=1000", "--per-day", "1G", "--most", "2000")
    assert o["not_compared"][0].startswith("another filesystem, another commit interval, noatime,")
    # Commits of another recording are no commits of this one.
    _, o = what_ifs("rec:btrfs-log", "--every", "1h")
    assert o["not_compared"][0].startswith("another commit interval, noatime, WAL or")


def test_words_of_a_work_say_what_and_how():
    r = recordings.load("ext4-sqlite-journal")
    assert r.job == "installed sqlite 60" and r.way == "journal_mode=delete synchronous=full"
    r = recordings.load("ext4-large")
    assert r.job == r.work == "large 100 1M /dev/zero" and r.way == ""


# ---- what people have ----

DISKS = """   8       0 sda 100 0 800 9 10 0 80 9 0 9 9
 179       0 mmcblk0 12039 3022 983474 90000 %d 9 %d 9 0 9 9 0 0 0 0
 179       1 mmcblk0p1 200 20 9000 100 10 0 80 10 0 100 110
"""
FIRST, SECOND = DISKS % (400, 1803200), DISKS % (900, 1903200)


def test_a_trace_of_a_day():
    lines = "".join(f"{i * 60 * 10**9} write {i % 64 * 65536} 65536\n" for i in range(1441))
    trace = write("day.trace", "# flashemu trace 1\n" + lines)
    o = good_json("life", trace, "--card", "ssd-page", *FULL, "--only")
    assert abs(o["host_bytes_per_day"] / (1441 * 65536) - 1) < 1e-9 and o["evidence"]


def test_a_trace_of_a_larger_card():
    """Its requests go round, which the first sentence says."""
    lines = "".join(f"{i * 60 * 10**9} write {20 * 10**9 + i % 64 * 65536} 65536\n"
                    for i in range(1441))
    trace = write("large.trace", "# flashemu trace 1\n" + lines)
    o = good_json("life", trace, "--card", "ssd-page", *FULL, "--only")
    assert o["doubts"] == ["requests behind the end of the card, up to 20 GB, go to its start"], o
    assert not o["evidence"] and o["years"]["median"] > 0, o["years"]


# ---- refusals ----

def refusal(*words):
    """The message, in this process because there are many."""
    try:
        main._dispatch(["life", *words, "--store", "store"])
    except LabError as e:
        return str(e)
    raise AssertionError(words)


def test_what_is_refused():
    head = "# flashemu trace 1\n"
    reads = write("reads.trace", head + "0 read 0 4096\n7200000000000 read 0 4096\n")
    short = write("short.trace", head + "0 write 0 4096\n9000000000 write 0 4096\n")
    write("one.txt", FIRST)
    write("two.txt", SECOND)
    write("registers", "0x02 0x01\n")
    ssd = ("--card", "ssd-page", "--only")
    for said, *words in (
            ("has no writes, so nothing wears", reads),
            ("lasts 9 s, which cannot stand for years", short),
            ("has no chip", "home-assistant", "--card", "generic32m"),
            ("the card never wears out", "home-assistant", "--card", "ideal"),
            ("more than ssd-page can write", "host=900TB", *ssd),  # how much: test_two_shapes
            ("--apart TIME", "one.txt", "two.txt"),
            ("a second one is needed", "one.txt"),
            ("their order is wrong", "two.txt", "one.txt", "--apart", "1h"),
            ("has no device 'sdz'", "one.txt", "two.txt", "--apart", "1h", "--device", "sdz"),
            ("--per-day SIZE", "gen:random,op=write"),
            ("there is no such file, and no work of this name", "nowhere.trace"),
            ("allowed: every, commits", "database,rate=3"),
            ("allowed: a time such as", "logger,every=soon"),
            ("an argument is empty", ""),
            ("such as 500MB or 2G", "host=1PB"),
            ("host=5MB/s: allowed: host=SIZE", "host=5MB/s"),
            ("host=5s: allowed: host=SIZE", "host=5s"),
            ("host=5,6GB: allowed: host=SIZE", "host=5,6GB"),
            ("60TBW: allowed: host=SIZE", "60TBW"),
            ("host=0.001: allowed: host=SIZE", "host=0.001"),
            ("there is no such file, and no work of this name", "x" * 5000),
            ("vmstat: is no trace of a format that flashemu reads, and not what /proc/diskstats,",
             write("vmstat", " r  b   swpd   free\n 1  0      0 17234\n")),
            ("nothing: is no trace", write("nothing", "\n")),
            ("empty file", write("empty", "")),
            ("--age 1s: allowed: 1d to 50y", "registers", "--age", "1s"),
            ("--age 2.84018e+10s: allowed: 1d to 50y", "registers", "--age", "900y"),
            ("--apart 1.57788e+10s: allowed: up to 20y", "one.txt", "two.txt", "--apart", "500y"),
            ("chip=: allowed: host=SIZE", "chip="),
            ("host=0: allowed: host=SIZE", "host=0"),
            ("allowed: bytes a second, such as 250KB, which are 2 Mbit", "camera,rate=2Mbit/s"),
            ("allowed: the bytes of a day, such as 2GB", "camera,per-day=5%"),
            ("commits=6%: allowed: a number in a minute", "database,commits=6%"),
            ("commits=0: allowed: a number in a minute", "sqlite,commits=0"),
            ("every=9000y: allowed: a time such as", "logger,every=9000y"),
            ("--every says how often a", "home-assistant", "--every", "5s"),
            ("and here is none: gen:random,op=write", "gen:random,op=write", "--per-day", "1G",
             "--every", "5s"),
            ("--per-day says how much a", "one.txt", "two.txt", "--apart", "1h", "--per-day", "1G"),
            ("--per-day says how much a", "host=1G", "--per-day", "1G"),
            ("--apart says what", "logger", "--apart", "1h"),
            ("--age says how long", "logger", "--age", "1y"),
            ("--device says whose", "logger", "--device", "sda"),
            ("logger,every=1s: every=1s and --every both", "logger,every=1s", "--every", "5s"),
            ("camera,rate=1M: rate=1M and --per-day both", "camera,rate=1M", "--per-day", "1G"),
            ("logger: --every and --per-day both", "logger", "--every", "5s", "--per-day", "1G"),
            ("--card: is of a card that is replayed", "registers", "--age", "1y", "--card", "ssd-page"),
            ("--year: is of a card", "registers", "--age", "1y", "--year", "2015"),
            ("--year: says nothing about toshiba16g and lexar8g, whose endurance", "logger", "--card",
             "toshiba16g", "--card", "lexar8g", "--year", "2015"),
            ("ftl.op=9%: is of a card", "registers", "--age", "1y", "ftl.op=9%"),
            ("is given twice", "home-assistant", "--card", "ssd-page", "--card", "ssd-page"),
            ("logger,every=1s: is given twice", "logger,every=1s", "logger", "logger,every=1s"),
            ("which work?", "nand.endurance=5")):
        told = refusal(*words)
        assert said in told and "\n" not in told, (words, told)
    o = good_json("life", short, *ssd, "--every", "1h", *FULL)
    assert o["sentence"].startswith("ssd-page lives "), o["sentence"]
    assert o["sentence"].endswith("years), but without evidence: a trace of 9 s stands for years.")


def test_no_years_beyond_belief():
    """A byte a day, and a card that is written all over each day: the numbers of the first are told
    as more than a hundred years, in sentences, tables and figures, and stay numbers in JSON."""
    words = ("life", "host=1", "host=1TiB", "--card", "ssd-page", *SMALL, "--only")
    lines = good(*words).splitlines()
    assert lines[0] == ("ssd-page lives more than 100 years under host=1 (8 of 10 such cards live more "
                        "than 100 years), but without evidence: the shape of the requests is assumed."), \
        lines[0]
    row = next(line for line in lines if line.startswith("host=1 on"))
    assert row.split()[3:9] == ["> 100", "> 100", "to", "> 100"] or "> 100 to > 100" in row, row
    o = good_json(*words)
    assert o["years"]["median"] > 1e6 and o["answers"][1]["years"]["median"] < 1
    p = types.SimpleNamespace(median=60.0, quantile=lambda q: 20.0 if q < 0.5 else 180.0)
    assert told._interval(p) == "20 to more than 100 years"


def shape(most, pools, gained=0.0, waf=2.0):
    """What a replay says of a shape of requests."""
    return steady.Steady(waf, (waf,), True, 1000, 10**9, 1, 0, tuple(pools), 0, gained, most, 0.0, ())


def test_two_shapes():
    """Half of the cards die by each: a pool of 100 blocks x 3000 cycles / rate 1/400 per byte lasts
    1.2 MB, and one of rate 1/1600 4.8 MB, both behind what was gained.  What can be written in a day is
    that of the quicker shape."""
    shapes = {"slow": shape(3e9, [Pool("x", 100, 1 / 400, 3000)], 365250),
              "quick": shape(7e9, [Pool("x", 100, 1 / 1600, 3000), Pool("y", 100, 1 / 9e9, 3000)])}
    kept, prediction.judge = prediction.judge, lambda result, card, name: shapes[result]
    try:
        work = works.Work("w", "w", per_day=1000)
        of = card.Card("my", (), {"device.capacity": "1M"}, None, None, NONE, ())
        runs = {name: types.SimpleNamespace(key=lambda n=name: n, profile="my", command=lambda: "c")
                for name in shapes}
        outcomes = {name: types.SimpleNamespace(result=name) for name in shapes}
        q = prediction.Question(work, of, runs, None)
        p = prediction.answer(q, outcomes, prediction.Effort(cards=10))
        assert p.ends == {"x": 1.0, "y": 0.0}, p.ends
        assert np.allclose(p.years * 365.25, [1565.25] * 5 + [4800] * 5), p.years
        assert p.chip_per_day == 2000
        shapes["slow"] = shape(3e9, [Pool("y", 100, 1 / 400, 3000)])
        p = prediction.answer(q, outcomes, prediction.Effort(cards=10))
        assert p.ends == {"x": 0.5, "y": 0.5}, p.ends
        q = prediction.Question(works.Work("w", "w", per_day=7e9 + 1), of, runs, None)
        try:
            prediction.answer(q, outcomes, prediction.Effort(cards=10))
            raise AssertionError("more than it can write")
        except LabError as e:
            assert str(e) == "w: 7 GB a day are more than my can write, 7 GB a day", e
        q = prediction.Question(works.Work("w", "w", per_day=23e9), of, runs, None)
        try:
            prediction.answer(q, outcomes, prediction.Effort(cards=10))
            raise AssertionError("more than it can write")
        except LabError as e:
            assert str(e) == "w: 23 GB a day are more than my can write, 7 GB a day", e
    finally:
        prediction.judge = kept


def test_the_span_of_a_trace_with_marks():
    """A mark is no request, whatever is in its text."""
    assert works._span("# flashemu trace 1\n5 write 0 4096 done=6\n7 mark record 1 2\n"
                       "9 mark a\u2028b c d e\n12 read 8192 512\n") == (5, 12, 4096, 8704)


def test_what_is_assumed_of_works():
    """What a user does not say and nobody has measured stands in the first sentence."""
    def doubts(word, **told):
        return works.read(Tool(), [word], works.Told(**told))[0].doubts
    shape = "the shape of the requests is assumed"
    for word, want in (("database", ("a commit every second is assumed",)),
                       ("logger", ("a line every 10 s is assumed",)),
                       ("desktop", ("an update every day is assumed",)),
                       ("camera", ("that 21.6 GB are written each day is assumed",)),
                       ("rec:vfat-log", ("that the work happens every hour is assumed",)),
                       ("influxdb", (shape,)), ("influxdb,per-day=1GB", (shape,)), ("host=1GB", (shape,)),
                       ("chip=1GB", ()), ("home-assistant", ()), ("logger,every=1h", ()),
                       ("camera,rate=1MB", ())):
        assert doubts(word) == want, (word, doubts(word))
    assert doubts("influxdb", per_day=1e9) == (shape,) and doubts("camera", per_day=1e9) == ()
    assert [often(t) for t in (1, 90, 60, 1800, 3600, 9000, 10800, 86400, 604800, 0.5)] == [
        "every second", "every 90 s", "every minute", "every 30 min", "every hour", "every 150 min",
        "every 3 h", "every day", "every 7 d", "every 0.5 s"]


def test_words_of_works():
    assert seconds("10s") == 10 and seconds("2h") == 7200 and seconds("x") is None
    assert of_cell("mlc", 2009).cycles == 5000 and of_cell("mlc", 2016).cycles == 3000
    assert of_cell("tlc", 2015).cycles < of_cell("tlc", 2022).cycles
    found = works.read(Tool(), ["Home_Assistant", "HA", "database,commits=6"], works.Told())
    assert found[0].per_day == found[1].per_day == 10.5e9
    assert abs(found[2].rounds - 86400 / 10 / 500) < 1e-9 and not found[2].doubts


run(globals())
