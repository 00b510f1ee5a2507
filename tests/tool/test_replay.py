#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu replay: what it counts, refuses, repeats and verifies."""

import json
import os
import pty
import subprocess
import tempfile
import time
import xml.etree.ElementTree

from flashemu_script import alive, run
from flashemu_tool import TOOL, bad, call, good, good_json, read, trace_formats, trace_lines, write

HEAD = "# flashemu trace 1\n"
PROFILE = "transcend8g"  # one with delays
# what differs from run to run, and from command to command
LATER = ["wall_seconds", "cpu_seconds", "host_ops_per_second"]


def replay(*args, **kwargs):
    o = good_json("replay", "--json", *args, **kwargs)
    for key in LATER:
        assert o.pop(key) >= 0
    assert o.pop("command").startswith("flashemu replay")
    return o


def test_json_is_the_object_of_stats_and_more():
    o = good_json("replay", "--json", "ideal", "gen:random,op=write,bs=4K,count=1000,flush=100")
    assert o["profile"] == "ideal" and o["clock"] == "virtual"
    assert o["records"] == 1010
    assert o["host"]["write"] == {"ops": 1000, "bytes": 4096000}
    assert o["host"]["flush"]["ops"] == 10
    assert o["host_ops_per_second"] > 1000
    assert o["nand"]["bytes_programmed"] >= 4096000 and o["ftl"]["waf"] >= 1
    assert o["latency_ns"]["write"]["count"] == 1000
    for key in ["device_ns", "busy_ns", "wear", "bad_blocks", "ecc", "lateness_ns"]:
        assert key in o, key


def test_commits_are_writes_and_their_flush():
    """At depth 1 a commit is the time of its requests, one after the other."""
    cached = ("cache.size=64K", "cache.volatile=yes")
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        trace = write(os.path.join(folder, "x"), HEAD + "0 write 0 4096\n0 write 1048576 8192\n"
                      "0 flush 0 0\n0 write 4096 512\n0 flush 0 0\n0 write 0 512\n")
        o = replay(PROFILE, trace, *cached)["latency_ns"]
        last = replay(PROFILE, "--warmup", trace, trace, *cached)["latency_ns"]["commit"]
        assert o["commit"]["count"] == last["count"] == 2, "the last write was not flushed"
        assert o["commit"]["max"] < 2 * o["commit"]["mean"]

        def total(kind):
            return round(o[kind]["mean"] * o[kind]["count"])
        alone = replay(PROFILE, write(os.path.join(folder, "y"), HEAD + "0 write 0 4096\n"
                                      "0 write 1048576 8192\n0 flush 0 0\n0 write 4096 512\n"
                                      "0 flush 0 0\n"), *cached)["latency_ns"]
        o = alone
        assert total("commit") == total("write") + total("flush")
        text = good("replay", PROFILE, trace, *cached)
        assert "\ncommit       2: writes, and what makes them durable\n" in text, text
        assert text.count(", p99.9 ") == 3, "of writes, flushes and commits"


SMALL_CHIP = ("ssd-page", "nand.blocks_per_plane=32", "ftl.op=20%", "faults.spare_blocks=4")


def test_repeats_until_it_is_steady():
    """A pass is as much programming as the chip has bytes: 128 blocks of 64 pages of 4 KiB."""
    o = replay(*SMALL_CHIP, "gen:random,op=write,bs=4K,count=20K", "--until", "steady")
    r = o["repeated"]
    assert r["reached"] and r["until"] == "steady" and r["pass_bytes"] == 128 * 64 * 4096
    wafs = [p["programmed"] / p["host_bytes"] for p in r["passes"]]
    assert all(p["programmed"] >= r["pass_bytes"] for p in r["passes"])
    assert abs(wafs[-1] / wafs[-2] - 1) < 0.01, wafs
    assert abs(wafs[-1] / wafs[-3] - 1) < 0.02, wafs
    assert not any(abs(c / b - 1) < 0.01 and abs(c / a - 1) < 0.02
                   for a, b, c in zip(wafs, wafs[1:], wafs[2:-1])), "it goes no further"
    for key, total in (("host_bytes", o["host"]["write"]["bytes"]), ("requests", o["records"]),
                       ("programmed", o["nand"]["bytes_programmed"]),
                       ("erases", o["nand"]["block_erases"])):
        assert sum(p[key] for p in r["passes"]) == total, key
    assert sum(b["blocks"] for b in r["blocks"]) + r["spares"] == 128 and r["spares"] == 4
    assert sum(b["blocks"] * b["erases"] for b in r["blocks"]) == sum(
        p["erases"] for p in r["passes"][1:])
    cut = replay(*SMALL_CHIP, "gen:random,op=write,bs=4K,count=700", "--until", "steady",
                 "--most", "1500")["repeated"]
    assert not cut["reached"] and sum(p["requests"] for p in cut["passes"]) == 2100, "3 rounds"


def test_repeats_until_it_is_dead():
    """In order, every block is erased as often as any other: 20 cycles of the whole chip."""
    o = replay(*SMALL_CHIP, "gen:sequential,op=write,bs=256K,count=10", "nand.endurance=20",
               "--until", "dead")
    assert o["state"] == "read-only" and o["repeated"]["reached"]
    assert 20 <= o["nand"]["bytes_programmed"] / (124 * 64 * 4096) < 21.5
    cold = replay(*SMALL_CHIP, "gen:random,op=write,bs=4K,size=64K,count=100", "device.used=16M",
                  "--until", "steady")["repeated"]["blocks"]
    assert [b["blocks"] for b in cold if b["rests"]] == [64], "16 MiB lie still in 64 blocks"
    assert all(b["erases"] == 0 for b in cold if b["rests"])


def test_a_recording_is_made_ready_once():
    work = ("ssd-page", "rec:ext4-log,start=8192,measure=write", "cache.size=64K")
    once, o = replay(*work), replay(*work, "--until", "steady", "--most", "8004")
    assert once["records"] == 2001 and o["records"] == 4 * 2001
    assert o["host"]["write"]["bytes"] == 4 * once["host"]["write"]["bytes"]


def test_passes_that_alternate_are_steady_together():
    """Passes of five rounds or six: two of them do what the two before did."""
    r = replay("toshiba16g", "rec:btrfs-sqlite,start=8192,measure=write", "device.capacity=600M",
               "nand.blocks_per_plane=170", "faults.spare_blocks=6", "device.used=450M",
               "nand.endurance=unlimited", "--drop-trim", "--until", "steady")["repeated"]
    wafs = [p["programmed"] / p["host_bytes"] for p in r["passes"]]
    assert r["reached"] and r["together"] == 2 and len(wafs) == 7
    assert all(abs(b / a - 1) > 0.01 for a, b in zip(wafs[1:], wafs[2:])), wafs
    last = [sum(p["programmed"] for p in part) / sum(p["host_bytes"] for p in part)
            for part in (r["passes"][1:3], r["passes"][3:5], r["passes"][5:7])]
    assert abs(last[2] / last[1] - 1) < 0.01 and abs(last[2] / last[0] - 1) < 0.02
    assert replay(*SMALL_CHIP, "gen:random,op=write,bs=4K,count=20K", "--until",
                  "steady")["repeated"]["together"] == 1


def test_rounds_are_the_same_requests_again():
    """Three rounds of two traces and a pattern are these one after the other, three times."""
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        one = write(os.path.join(folder, "one"), HEAD + "".join(
            f"0 write {i * 8192} 4096{' fua' * (i % 3 == 0)} think={i * 1000}\n" for i in range(40)))
        two = write(os.path.join(folder, "two"), HEAD + "0 mark half way\n0 write 409600 12288\n"
                    "0 flush 0 0\n0 read 4096 4096\n")
        work = (one, "gen:random,op=write,bs=4K,size=1M,count=30", two)
        card = (*SMALL_CHIP, "cache.size=64K", "cache.volatile=yes")
        o = replay(*card, *work, "--until", "steady", "--most", "219")
        assert o.pop("repeated") and o["records"] == 3 * 73
        plain = replay(*card, *(3 * work))
        assert {k: v for k, v in o.items() if k != "traces"} == {
            k: v for k, v in plain.items() if k != "traces"}


def test_what_cannot_be_repeated_is_refused():
    for said, *words in (
            ("allowed: steady, dead", "ssd-page", "gen:random,op=write,count=1", "--until", "old"),
            ("has no chip that wears", "generic32m", "gen:random,op=write,count=1", "--until",
             "steady"),
            ("write nothing", "ssd-page", "gen:random,op=read,count=9", "--until", "dead"),
            ("cannot be read again", "ssd-page", "-", "--until", "dead"),
            ("has no effect without --until", "ssd-page", "gen:random,count=1", "--most", "5")):
        bad(said, "replay", *words)


def test_wear_svg_is_a_picture_of_every_block():
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        path = os.path.join(folder, "wear.svg")
        o = replay("ssd-page", "gen:random,op=write,bs=4K,count=9000",
                   "nand.blocks_per_plane=32", "ftl.op=20%", "nand.endurance=20",
                    "faults.factory_bad=2%", "faults.spare_blocks=4",
                   "--wear-svg", path)
        assert o["bad_blocks"]["factory"] == 2
        root = xml.etree.ElementTree.parse(path).getroot()
        titles = [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
        assert len(titles) == 128 and titles[0].startswith("block 0: ")
        fills = [e.get("fill") for e in root.iter("{http://www.w3.org/2000/svg}rect")][1:129]
        assert fills.count("#000000") == 2
        assert fills.count("#9ec5e8") == 6  # spares, up to two whole rows of dies
        bad("/nowhere/x.svg: No such file", "replay", "ideal", "gen:random,count=1", "--wear-svg",
            "/nowhere/x.svg")


def test_names_of_options():
    """- and _ are the same in them, and the older name of -o goes on."""
    for option in ("-o", "--output", "--wear-svg", "--wear_svg"):
        good("replay", "ideal", "gen:random,count=1", option, "same.svg")
        assert read("same.svg").startswith("<svg"), option
        os.remove("same.svg")
    good("replay", "transcend8g", "gen:random,count=1", "--drop_trim")
    bad("no option --drop_trims; did you mean --drop-trim?", "replay", "ideal",
        "gen:random,count=1", "--drop_trims")


def test_summary_is_for_people():
    text = good("replay", PROFILE, "gen:random,op=write,count=50", "gen:sequential,count=50")
    for word in ["profile", "device time", "write", "read", "IOPS", "WAF", "erases", "p99"]:
        assert word in text, word


def test_the_wear_of_an_enhanced_area_stands_beside_that_of_all_blocks():
    chip = ["nand.blocks_per_plane=16", "ftl.op=60%", "nand.cell=mlc", "nand.tPROG=300us/900us"]
    area = [*chip, "ftl.enhanced_size=1M,start:1M"]
    inside = "gen:random,op=write,bs=4K,size=1M,offset=1M,count=20000"
    outside = "gen:random,op=write,bs=4K,size=2M,offset=3M,count=40000"
    o = replay("ssd-page", inside, *area)
    wear = o["wear"]
    found = wear["enhanced"]
    assert wear["min"] == 0 < found["min"] <= found["mean"] <= found["max"] == wear["max"]
    assert round(found["mean"] * found["blocks"]) == o["nand"]["block_erases"] > 0
    text = good("replay", "ssd-page", inside, *area)
    assert "max %d of the %d blocks with the enhanced area" % (found["max"], found["blocks"]) in text
    wear = replay("ssd-page", outside, *area)["wear"]
    assert wear["max"] > 0 == wear["enhanced"]["max"] == wear["enhanced"]["stddev"]
    assert "enhanced" not in replay("ssd-page", inside, *chip)["wear"]
    assert "enhanced" not in good("replay", "ssd-page", inside, *chip)


def test_counters_of_each_strategy_reach_the_statistics():
    writes = "gen:random,op=write,bs=4K,size=8M,count=20000"
    chip = ["nand.blocks_per_plane=16", "ftl.op=60%"]
    page = replay("ssd-page", writes, *chip)["ftl"]
    assert page["slc_folds"] == 0 and page["wear_moves"] == 0
    assert page["map"] == {"hits": 0, "misses": 0, "reads": 0, "writes": 0, "evictions": 0}

    dftl = replay("ssd-page", writes, *chip, "ftl.type=dftl", "ftl.map_cache=4K")["ftl"]["map"]
    assert dftl["hits"] + dftl["misses"] >= 20000 and dftl["misses"] > 0
    assert dftl["writes"] >= dftl["evictions"] > 0 and dftl["reads"] > 0

    slc = replay("ssd-page", writes, *chip, "nand.cell=mlc", "nand.tPROG=300us/900us",
                 "ftl.slc_mode=static", "ftl.slc_blocks=8")["ftl"]
    assert slc["slc_folds"] > 0

    hot = "gen:random,op=write,bs=4K,size=256K,count=60000"
    level = ["ftl.wear_levelling=static,threshold:8", "device.used=16T"]
    assert replay("ssd-page", hot, *chip, *level)["ftl"]["wear_moves"] > 0
    text = good("replay", "ssd-page", hot, *chip, *level)
    assert "moved by wear levelling" in text and "WAF" in text


def test_traces_of_every_kind_give_the_same():
    gen = "random,op=write,count=100,seed=3,size=64M"
    want = replay(PROFILE, "gen:" + gen)
    for fmt in trace_formats(requests=True):
        good("gen", gen, "--format", fmt, "-o", fmt)
        assert replay(PROFILE, fmt) == want, fmt
        assert replay(PROFILE, "-", stdin=read(fmt)) == want, fmt


def test_replay_repeats():
    args = [PROFILE, "gen:random,op=write,count=200", "--depth", "4", "--seed", "5"]
    assert replay(*args) == replay(*args)


TLC = """[device]
capacity = 1G
[nand]
cell = tlc
channels = 2
planes_per_die = 2
multiplane = yes
pages_per_block = 384
page_size = 8K
tR = 60us/90us/120us
tPROG = 500us/1ms/2ms
tBERS = 5ms
[ftl]
type = segment
unit_size = 24M
open_linear = 2
[link]
type = none
"""


def test_units_of_24_mib_on_multi_plane_tlc():
    """Units of four blocks of 3 x 2^7 pages of 2 x 8 KiB: three units are written at the mean time
    of the three bits, on two dies; a fourth time, the last unit is neither copied nor erased."""
    write("tlc.ini", TLC)
    units = "gen:sequential,op=write,bs=512K,size=72M"
    again = "gen:sequential,op=write,bs=512K,offset=48M,size=24M"
    for traces, mib in ([units], 72), ([units, again], 96):
        o = good_json("replay", "tlc.ini", *traces, "--json")
        o = o.get("stats", o)
        programs = mib << 20 >> 14
        assert o["nand"]["page_programs"] == 2 * programs, o["nand"]
        assert o["busy_ns"] == programs // 2 * 3500000 // 3, o["busy_ns"]
        assert o["nand"]["block_erases"] == o["ftl"]["pages_copied"] == 0, o


def test_several_traces_are_one_after_the_other():
    write("a", HEAD + "0 write 0 4096\n")
    write("b", HEAD + "0 write 65536 4096\n")
    write("ab", HEAD + "0 write 0 4096\n0 write 65536 4096\n")
    assert replay(PROFILE, "a", "b") == replay(PROFILE, "ab")


def results(text):
    """The JSON objects that follow each other in a text, without what differs from run to run."""
    found = [json.loads(part + "}") for part in text.split("\n}\n")[:-1]]
    for o in found:
        for key in (*LATER, "command"):
            del o[key]
    return found


def test_each_trace_by_itself_has_the_device_as_it_was():
    traces = ["gen:random,op=write,count=300,seed=%d" % seed for seed in range(3)]
    words = [PROFILE, "device.used=8G", "--warmup", "gen:random,op=write,count=9", "--depth", "2"]
    each = results(good("replay", "--json", "--each", *words, *traces))
    assert each == [replay(*words, trace) for trace in traces]
    assert len({o["busy_ns"] for o in each}) == 3
    assert replay(*words, *traces)["device_ns"] > each[2]["device_ns"], "one after the other differs"
    assert good("replay", "--each", *words, *traces).count("device time") == 3


def test_the_first_trace_that_fails_is_the_last():
    code, out, err = call("replay", "--json", "--each", "ideal", "gen:random,count=5", "gen:nope",
                          "gen:random,count=7")
    assert code == 2 and "no pattern 'nope'" in err and err.count("\n") == 1
    assert [o["records"] for o in results(out)] == [5]
    for option in "--record", "-o":
        bad("--each: has several results, and %s is one file" % option, "replay", "ideal", "--each",
            "gen:random,count=1", option, "x")
        assert not os.path.exists("x")
    with open("/dev/full", "w") as full:
        p = subprocess.run([TOOL, "replay", "--each", "ideal", "gen:random,count=1"], stdout=full,
                           stderr=subprocess.PIPE, text=True)
    assert p.returncode == 2 and "No space left" in p.stderr


def test_what_runs_by_itself_ends_with_the_tool():
    mark = "gen:random,op=write,count=1000M,seed=%d" % (70000 + os.getpid())
    p = subprocess.Popen([TOOL, "replay", "ideal", "--each", mark], stdout=subprocess.PIPE)
    while len(alive(mark)) < 2:
        assert p.poll() is None
        time.sleep(0.01)
    p.kill()
    p.communicate()  # ends when nobody has the pipe any more
    while alive(mark):
        time.sleep(0.01)


def test_a_trace_is_recorded_under_both_names():
    for i, words in enumerate((["--record", "r0"], ["trace=r1"], ["--trace", "r2"])):
        good("replay", PROFILE, "gen:random,count=3,size=1M", *words)
        assert trace_lines(read("r%d" % i)) == trace_lines(read("r0")), words
    bad("trace is given twice", "replay", PROFILE, "gen:random,count=3", "trace=r3", "--record", "r4")
    bad("trace=: allowed: a file", "replay", PROFILE, "gen:random,count=3", "trace=")
    bad("trace -: must be a file", "replay", PROFILE, "gen:random,count=3", "trace=-")
    bad("did you mean trace", "replay", PROFILE, "gen:random,count=3", "trce=r5")
    assert not os.path.exists("r3") and not os.path.exists("r4")


def test_warmup_is_not_counted():
    cold = replay(PROFILE, "gen:random,op=write,count=20,seed=2")
    o = replay(PROFILE, "--warmup", "gen:sequential,op=write,bs=128K,count=100",
               "gen:random,op=write,count=20,seed=2")
    assert o["host"] == cold["host"] and o["records"] == 20
    assert o["device_ns"] > o["elapsed_ns"] >= cold["elapsed_ns"] // 2
    # nor are its trims that were left out, its failures, and what is in flight at its end
    write("w", HEAD + "0 write 0 4096\n0 trim 0 4096\n")
    o = replay(PROFILE, "--warmup", "w", "gen:sequential,count=3", "--drop-trim",
               "device.used=0", "faults.spare_blocks=0", "faults.fail=program_number:1")
    assert o["dropped_trims"] == 0 and set(o["failed"].values()) == {0} and o["records"] == 3
    good("replay", PROFILE, "--warmup", "gen:random,op=write,count=9,size=1M",
         "gen:random,count=9,size=1M", "--depth", "4", "--record", "r")
    rows = [line.split() for line in trace_lines(read("r"))]
    assert [row[0] for row in rows[:4]] == ["0"] * 4 and rows[4][0] != "0", rows


def test_closed_loop_arrives_when_the_last_is_done():
    good("replay", PROFILE, "gen:random,op=write,count=20", "--record", "r")
    rows = [line.split() for line in trace_lines(read("r"))]
    done = 0
    for row in rows:
        assert int(row[0]) == done, row
        done = int(dict(f.split("=") for f in row[4:])["done"])
    assert len(rows) == 20 and done > 0


def test_depth_keeps_that_many_in_flight():
    good("replay", PROFILE, "gen:random,count=50", "--depth", "4", "--record", "r")
    rows = [line.split() for line in trace_lines(read("r"))]
    start = [int(r[0]) for r in rows]
    done = [int(dict(f.split("=") for f in r[4:])["done"]) for r in rows]
    for i in range(50):
        assert sum(d > start[i] for d in done[:i]) < 4, i
    assert start[:4] == [0, 0, 0, 0] and start[4] == min(done[:4])


def test_think_time_and_timed():
    write("t", HEAD + "0 read 0 512\n7000000000 read 0 512 think=1000000000\n")
    closed = replay(PROFILE, "t")["elapsed_ns"]
    timed = replay(PROFILE, "t", "--timed")["elapsed_ns"]
    assert 1e9 < closed < 2e9 and 7e9 < timed < 8e9, (closed, timed)


def test_a_record_can_be_replayed():
    good("replay", PROFILE, "gen:random,op=write,count=20,think=1ms", "--record", "r")
    again = replay(PROFILE, "r", "--timed")
    assert again == replay(PROFILE, "gen:random,op=write,count=20,think=1ms")


def test_a_record_has_the_work_of_each_request():
    o = replay("transcend8g", "gen:random,op=write,bs=4K,count=300", "--record", "r")
    rows = [dict(f.split("=") for f in line.split()[4:]) for line in trace_lines(read("r"))]
    def total(key):
        return sum(int(row.get(key, 0)) for row in rows)
    assert total("programmed") == o["nand"]["bytes_programmed"] > 0
    assert total("merges") == sum(o["ftl"]["merges"].values()) > 0
    o = replay("ssd-page", "gen:random,op=write,count=300K", "--record", "r")
    rows = [dict(f.split("=") for f in line.split()[4:]) for line in trace_lines(read("r"))]
    assert total("collections") == o["ftl"]["gc_runs"] > 0


def test_changes_of_the_profile():
    assert replay("ideal", "gen:sequential,op=write,count=1", "size=512M")["records"] == 1
    bad("behind the capacity", "replay", "ideal", "gen:random,size=1G", "size=512M")
    bad("nope.x", "replay", "ideal", "gen:random", "nope.x=1")
    detail = "ftl.scattered_policy:stay=48"
    assert detail in replay("sandisk-su04g", "gen:random,count=1", detail)["overrides"], "no trace"
    bad("twice", "replay", "ideal", "gen:random", "size=1M", "size=2M")


def test_seed_is_a_word_as_for_the_server():
    noisy = ["generic32m", "gen:random,op=write,count=50,size=1M", "faults.factory_bad=5%"]
    assert replay(*noisy, "seed=5") == replay(*noisy, "--seed", "5") != replay(*noisy)
    bad("seed x: expected a number", "replay", *noisy, "seed=x")
    for words in (["seed=1", "seed=2"], ["--seed", "1", "seed=2"]):
        bad("seed is given twice", "replay", *noisy, *words)
    bad("'depth=4' is neither SECTION.KEY=VALUE, size=SIZE, seed=N, trace=FILE nor a trace", "replay",
        *noisy, "depth=4")
    # a file may have such a name
    write("depth=4", HEAD + "0 read 0 512\n")
    assert replay("ideal", "depth=4")["records"] == 1


def test_requests_behind_the_end():
    write("t", HEAD + "0 write 0 512\n0 write 1073741312 1024\n")
    error = bad("t:3: offset 1073741312 + length 1024 is behind the capacity 1073741824", "replay",
                "ideal", "t", "size=1G")
    assert "--wrap" in error
    o = replay("ideal", "t", "--wrap", "size=1G")
    assert o["records"] == 2 and o["host"]["write"] == {"ops": 3, "bytes": 1536}
    write("t", HEAD + "0 write 1073741312 512\n0 write 0 1073741824\n")  # up to the end
    assert replay("ideal", "t", "size=1G")["host"]["write"]["ops"] == 2
    write("t", HEAD + "0 write 0 2147483648\n")
    bad("t:2: ", "replay", "ideal", "t", "--wrap", "size=1G")


def test_trims_that_are_not_offered():
    write("t", HEAD + "0 write 0 4096\n0 trim 0 4096\n")
    bad("t:3: trim, but the device offers none", "replay", PROFILE, "t", "device.discard=no")
    o = replay(PROFILE, "t", "--drop-trim", "device.discard=no")
    assert o["dropped_trims"] == 1 and o["records"] == 1


def test_payload_is_verified():
    gens = ["gen:random,op=write,bs=2K,size=4M,count=3000,reads=20%,flush=50",
            "gen:random,bs=8K,size=4M,count=2000,seed=9"]
    for name in good("profiles").splitlines():
        o = replay(name, "--payload", "--wrap", *gens)
        assert o["wrong_sectors"] == 0 and o["verified_sectors"] > 10000, (name, o)
    assert "read as they were written" in good("replay", "ideal", "--payload", *gens)


def peak(*words):
    """Bytes that a replay has in memory at most.  A peak includes that of this program, from which
    the other one began: some MiB too much for a small one.  MALLOC_PERTURB_, which Meson sets,
    makes calloc write what it returns, and a sanitizer of addresses writes what it knows of it."""
    env = {name: value for name, value in os.environ.items() if name != "MALLOC_PERTURB_"}
    env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":poison_heap=0"
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execve(TOOL, [TOOL, "replay", *words], env)
    _, status, usage = os.wait4(pid, 0)
    assert status == 0
    return usage.ru_maxrss * 1024


def test_overwritten_data_take_no_memory():
    """Of a device whose power is never cut: what is mapped needs memory, whatever lies stale."""
    for kind in "page", "dftl":
        words = ["ssd-page", "gen:random,op=write,bs=4K,size=128M,count=240000", "ftl.type=" + kind]
        taken = peak(*words, "--payload") - peak(*words)
        assert 104 << 20 < taken < 144 << 20, (kind, taken)


def test_a_new_device_takes_no_memory():
    """1 TiB, whose map alone has 1 GiB: only what is written needs memory."""
    taken = peak("ssd-page", "gen:random,op=write,bs=4K,count=1", "nand.blocks_per_plane=1048576")
    assert taken < 64 << 20, taken


def test_mistakes():
    bad("expected PROFILE", "replay")
    bad("expected PROFILE", "replay", "ideal")
    bad("which trace", "replay", "ideal", "size=1M")
    bad("nosuch", "replay", "nosuch", "gen:random")
    bad("missing: No such file or directory; allowed: a file, - for standard input, gen:PATTERN or "
        "rec:RECORDING", "replay", "ideal", "missing")
    bad("try transcend8g gen:random,", "replay")
    bad("no pattern 'nope'", "replay", "ideal", "gen:nope")
    bad("--depth 0", "replay", "ideal", "gen:random", "--depth", "0")
    bad("--depth x", "replay", "ideal", "gen:random", "--depth", "x")
    bad("--seed -1", "replay", "ideal", "gen:random", "--seed", "-1")
    bad("format 'csv'", "replay", "ideal", "gen:random", "--format", "csv")
    bad("no/dir", "replay", "ideal", "gen:random,count=1", "--record", "no/dir")
    for option in "--record", "-o":
        full = bad("/dev/full: No space left", "replay", "ideal", "gen:random,count=1", option,
                   "/dev/full")
        assert full.count("/dev/full") == 1, full
        bad(option + " -: must be a file", "replay", "ideal", "gen:random,count=1", option, "-")
    # what did not become whole is removed
    bad("half:3: ", "replay", "ideal", write("half", HEAD + "0 read 0 512\noops\n"), "--record",
        "half.record")
    assert not os.path.exists("half.record")
    bad("t:2: ", "replay", "ideal", write("t", HEAD + "oops\n"))
    bad("t:2: ", "replay", "ideal", "gen:random,count=1", "--warmup", "t")
    bad("standard input:1: empty", "replay", "ideal", "-", stdin="")


def test_progress_is_for_terminals():
    code, out, err = call("replay", "ideal", "gen:random,op=write,count=1M")
    assert code == 0 and err == ""
    master, slave = pty.openpty()
    p = subprocess.run([TOOL, "replay", "ideal", "gen:random,op=write,count=3M"], stderr=slave,
                       stdout=subprocess.PIPE, timeout=120)
    os.close(slave)
    shown = os.read(master, 65536)
    os.close(master)
    assert p.returncode == 0 and b"%" in shown and b"\r" in shown, shown


run(globals())
