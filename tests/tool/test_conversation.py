#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu replay --against: a device next to a recorded conversation."""

import gzip
import math

from flashemu_script import run
from flashemu_tool import SCHEDULE, bad, call, good, good_json, read, write

CARD = SCHEDULE.replace("[fidelity]\n", "")
HEAD = "# flashemu trace 1\n"
KNEE = 0.25


def record(profile, *words):
    good("replay", profile, *words, "--record", "t")


def score(profile, *words):
    return good_json("replay", profile, "--against", "t", "--json", *words)


def error(ratio):
    """By hand, of a block."""
    return KNEE * math.log1p(abs(math.log(ratio)) / KNEE)


def test_the_device_itself_scores_exactly_0():
    for profile, words in (
            ("transcend8g", ["gen:random,op=write,count=700,size=64M", "gen:sequential,count=50"]),
            ("transcend8g", ["rec:vfat-small,pace=1"]),
            ("samsung-evoplus32g", ["gen:random,op=write,bs=4K,count=900", "--depth", "7"]),
            ("rundisk1g", ["gen:zipf,op=write,count=300", "device.used=16T"])):
        record(profile, *words)
        changes = [w for w in words if "=" in w and ":" not in w]
        o = score(profile, *changes)
        assert o["score"] == 0 and o["worst"]["error"] == 0 and o["otherwise"] == 0, (profile, o)
        assert all(k["recorded_ns"] == k["replayed_ns"] for k in o["kinds"])
        assert "none is off" in good("replay", profile, *changes, "--against", "t")
    # arrivals of their own, some of them while others are in flight
    text = HEAD + "".join(f"{(i * i * 7919) % 600000 + 400000 * i} write {i * 37 % 512 * 4096} 8192\n"
                          for i in range(300))
    write("when", text)
    record("transcend8g", "when", "--timed")
    o = score("transcend8g")
    assert o["score"] == 0 and max(k["in_flight"][1] for k in o["kinds"]) > 1, o


def test_chance_is_drawn_as_on_the_device():
    words = ["size=64M", "ftl.op=10%", "ftl.gc_policy=random"]
    write("card.ini", CARD % 1)
    record("card.ini", "gen:random,op=write,count=24000", *words, "--seed", "5")
    assert score("card.ini", *words)["score"] == 0
    assert score("card.ini", *words, "--seed", "5")["score"] == 0
    assert score("card.ini", *words, "--seed", "6")["score"] > 0


def test_a_score_by_hand():
    """A card takes 1 ms for a write of 4 KiB and 100 us for a read."""
    write("card.ini", CARD % 1)
    times = [1000000] * 16 + [2000000] * 16 + [400000] * 16     # writes, in three blocks
    lines, now = [], 0
    for i, ns in enumerate(times):
        lines.append(f"{now} write {i * 4096} 4096 done={now + ns}\n")
        now += ns + 3000000
    for i in range(5):                                          # one block of reads
        lines.append(f"{now} read {i * 4096} 4096 done={now + 50000}\n")
        now += 50000
    write("t", HEAD + "".join(lines))
    o = score("card.ini")
    kinds = {k["kind"]: k for k in o["kinds"]}
    first, writes, apart, reads = (kinds[f"{x} by 4 KiB"] for x in (
        "writes apart", "writes in order", "reads apart", "reads in order"))
    assert (writes["requests"], writes["blocks"], reads["requests"], reads["blocks"]) == (47, 3, 4, 1)
    # without the first write the blocks are 15 and 1, 15 and 1, and 15
    assert writes["recorded_ns"] == 15000000 + 32000000 + 6400000
    assert writes["replayed_ns"] == 47 * 1000000 and reads["replayed_ns"] == 4 * 100000
    want = (error(16 / 17) + error(16 / 30.4) + error(15 / 6)) / 3
    assert first["error"] == 0 and abs(writes["error"] - want) < 1e-9, (writes, want)
    assert abs(reads["error"] - error(2)) < 1e-9 and abs(apart["error"] - error(2)) < 1e-9
    assert abs(o["score"] - (want + 2 * error(2)) / 4) < 1e-9
    assert o["worst"] == {"kind": "reads apart by 4 KiB", "error": apart["error"]}
    text = good("replay", "card.ini", "--against", "t")
    row = next(line for line in text.splitlines() if "writes in order" in line).split()
    assert row[-8:] == ["47", "3", "53.4", "ms", "47", "ms", "0.880", "%.3f" % want], row
    assert "worst      reads apart by 4 KiB, 0.332\n" in text
    assert f"score      {o['score']:.4f}, and 0 is as recorded\n" in text


def test_the_host_keeps_its_pauses():
    """What is written behind the answer is over in a long pause, and not in a short one."""
    write("card.ini", (CARD % 1).replace("type = none", "type = none\ncommand_overhead = 50us")
          + "[cache]\nsize = 4K\nwrite_behind = 8K\n")
    for pause in (0, 250000, 5000000):
        record("card.ini", write("think", HEAD + "".join(
            f"0 write {i * 8192} 4096 think={pause}\n" for i in range(64))))
        assert score("card.ini")["score"] == 0, pause
        slow = score("card.ini", "nand.tPROG=3ms")["score"]
        assert (slow > 0.3) == (pause < 5000000), (pause, slow)


def test_requests_that_fail_otherwise_are_counted():
    write("card.ini", CARD % 1)
    write("t", HEAD + "0 write 0 4096 done=1000000\n"
          "1000000 write 4096 4096 done=2000000 status=no-space\n"
          "2000000 read 0 4096 done=2100000 status=corrected\n")
    assert score("card.ini")["otherwise"] == 1
    assert "1 requests failed on one" in good("replay", "card.ini", "--against", "t")


def test_several_profiles_and_sets():
    write("card.ini", CARD % 1)
    write("other.ini", (CARD % 1).replace("1ms", "2ms"))
    write("large.ini", (CARD % 1).replace("256M", "257M"))
    record("card.ini", "gen:random,op=write,count=64")
    alone = {tprog: score("card.ini", f"nand.tPROG={tprog}")["score"] for tprog in ("1ms", "3ms", "5ms")}
    o = score("card.ini", "--vary", "nand.tPROG=1ms,3ms,5ms")
    got = {r["vary"]["nand.tPROG"]: r["result"]["score"] for r in o["runs"]}
    assert got == alone and alone["1ms"] == 0 < alone["3ms"] < alone["5ms"], (got, alone)
    code, out, err = call("replay", "./card.ini,./large.ini,./other.ini", "--against", "t")
    rows = out.splitlines()
    assert code == 2 and rows[0].split() == ["profile", "score", "error", "worst"], out
    assert rows[1].split()[:3] == ["./card.ini", "0.0000", "0.000"], out
    assert rows[2].split() == ["./large.ini", "failed"], out
    assert rows[3].split()[:2] == ["./other.ini", "%.4f" % error(2)], out
    assert rows[3].endswith("writes apart by 4 KiB"), out
    assert err.count("\n") == 1 and "is of a device of 268435456 bytes, and this one has 269484032" in err


def test_files():
    write("card.ini", CARD % 1)
    record("card.ini", "gen:random,op=write,count=40")
    text = read("t")
    with gzip.open("t.gz", "wt") as f:
        f.write(text)
    for form in ("binary", "msr"):      # which have completions, too
        good("trace", "t", "--to", form, "-o", f"t.{form}")
    for name in ("t.gz", "t.binary", "t.msr"):
        assert good_json("replay", "card.ini", "--against", name, "--json")["score"] < 1e-4, name
    assert "score      0.0000" in good("replay", "card.ini", "--against", "-", stdin=text)


def test_what_is_refused():
    write("card.ini", CARD % 1)
    record("card.ini", "gen:random,op=write,count=40")
    write("cut", read("t").rstrip("\n"))
    bad("cut: requests are missing at its end", "replay", "card.ini", "--against", "cut")
    good("gen", "random", "--count", "3", "-o", "plain")
    bad("plain: no request took any time", "replay", "card.ini", "--against", "plain")
    write("half", HEAD + "0 read 0 512 done=9\n10 read 0 512\n")
    bad("half:3: has no completion; allowed: a trace with the times of a device", "replay", "card.ini",
        "--against", "half")
    for name in ("gen:random", "rec:ext4-database"):
        bad(f"{name}: has no times of a device", "replay", "card.ini", "--against", name)
    bad("nope: No such file", "replay", "card.ini", "--against", "nope")
    bad("a device of 268435456 bytes, and this one has 8019509248", "replay", "transcend8g",
        "--against", "t")
    write("far", HEAD + "0 read 0 512 done=9\n9 read 268435456 512 done=10\n")
    bad("line 3 of the trace: offset 268435456 + length 512 is behind the capacity", "replay",
        "card.ini", "--against", "far")
    write("trims", HEAD + "0 trim 0 4096 done=9\n")
    bad("line 2 of the trace: trim, but the device offers none", "replay", "card.ini", "--against",
        "trims")
    bad("--against has its trace, and 'cut' is another one", "replay", "card.ini", "cut", "--against",
        "t")
    for option in (["--depth", "2"], ["--each"], ["--timed"], ["--payload"], ["--wrap"],
                   ["--warmup", "t"], ["--until", "steady"], ["--record", "x"], ["-o", "x"],
                   ["--drop-trim"]):
        bad(f"--against takes no {option[0]}; allowed: ", "replay", "card.ini", "--against", "t",
            *option)


run(globals())
