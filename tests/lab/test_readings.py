#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Units, numbers and lines of what benchmarks print, with a value of its own for each number."""

import json
from types import SimpleNamespace

from flashemu_lab_bench import FLASHEMU  # noqa: F401
from flashemu_script import run

from flashemu_lab.core.errors import LabError
from flashemu_lab.core.toml_lines import Lines
from flashemu_lab.experiment import choice, replay_accuracy
from flashemu_lab.measurement import schema, tables, text
from flashemu_lab.measurement.importing import read_log
from flashemu_lab.measurement.readers import fio_terse
from flashemu_lab.measurement.schema import make_point


def points(text):
    """The points of a log."""
    return read_log(text.encode(), "log").points


def how(p, *names):
    """Some of the parameters of a point."""
    return tuple(dict(p.parameters).get(n) for n in names)


def shown(some):
    return [(p.procedure, dict(p.parameters), p.value) for p in some]


def job(bs="4k,16k,32k", rw="randrw", **sides):
    """A log of fio's JSON."""
    usual = {"ioengine": "psync", "rw": rw, "bs": bs, "numjobs": "1", "size": "3m", "direct": "1",
             "filename": "/dev/sdx"}
    return json.dumps({"fio version": "fio-3.33", "jobs": [
        {"jobname": "j", "groupid": 0, "error": 0, "job options": usual, **sides}]}, indent=1)


def side(ios, **more):
    return {"total_ios": ios, "runtime": 1000, **more}


def test_sides_of_a_job():
    """Each direction has its own block size, and its share of all requests."""
    found = points(job(read=side(3, bw_bytes=7e5, clat_ns={"mean": 11.0, "stddev": 2.0}),
                       write=side(1, bw_bytes=5e5, clat_ns={"mean": 13.0, "stddev": 3.0}),
                       trim=side(0, bw_bytes=9e9)))
    assert [(p.procedure, *how(p, "op", "bs", "share", "pattern", "direct"), p.value, p.spread)
            for p in found] == [
        ("fio-rate", "read", 4096, 75, "random", True, 7e5, None),
        ("fio-latency", "read", 4096, 75, "random", True, 11.0, 2.0),
        ("fio-rate", "write", 16384, 25, "random", True, 5e5, None),
        ("fio-latency", "write", 16384, 25, "random", True, 13.0, 3.0)]
    only = points(job("4k", "randwrite", write=side(3, bw_bytes=6e5)))
    assert [how(p, "bs", "share") for p in only] == [(4096, None)]


def test_units_of_fio_2():
    """Its rates are in KiB a second, and its times in us."""
    found = points(job("8k", "write", write=side(7, bw=3, clat={"mean": 5.0, "stddev": 2.0},
                                                 slat={"mean": 99.0, "stddev": 99.0})))
    assert [(p.procedure, p.value, p.spread) for p in found] == \
        [("fio-rate", 3072, None), ("fio-latency", 5000, 2000)]
    newer = points(job("8k", "write", write=side(
        7, bw=3, bw_bytes=3111, clat_ns={"mean": 5e3, "stddev": 2e3},
        clat={"mean": 99.0, "stddev": 99.0})))
    assert [(p.value, p.spread) for p in newer] == [(3111, None), (5e3, 2e3)]


def test_flashbench():
    """Units of -f are numbered from 0, and rates are in powers of 1000."""
    found = points("flashbench --find-fat --erasesize=4194304 /dev/sdx\n"
                   "4MiB 1.5M/s 2.5M/s 3K/s\n2MiB 4M/s 5M/s 6/s\n")
    assert [(*how(p, "unit", "units", "chunk"), p.value) for p in found] == [
        (0, 3, 4 << 20, 1.5e6), (1, 3, 4 << 20, 2.5e6), (2, 3, 4 << 20, 3e3),
        (0, 3, 2 << 20, 4e6), (1, 3, 2 << 20, 5e6), (2, 3, 2 << 20, 6)]
    times = points("align 2048\tpre 1.5ms\ton 2ms\tpost 900\u00b5s\tdiff 800\u00b5s\n")
    assert [(*how(p, "place", "bs"), p.value) for p in times] == [
        ("pre", 1024, 1.5e6), ("on", 1024, 2e6), ("post", 1024, 9e5), ("diff", 1024, 8e5)]
    rows = points("flashbench -O --random --open-au-nr=5 --erasesize=4194304 /dev/sdx\n"
                  "4MiB 6M/s\n2MiB 3M/s\n64KiB 1K/s\n")
    assert shown(rows) == [("flashbench-open-au", {
        "erasesize": 4 << 20, "open": 5, "random": True, "chunk": chunk}, rate)
        for chunk, rate in ((4 << 20, 6e6), (2 << 20, 3e6), (64 << 10, 1e3))]


def test_powers_of_1024():
    """What hdparm and iozone call MB and kB."""
    disk = points(" Timing buffered disk reads:  63 MB in  3.00 seconds =  21.00 MB/sec\n"
                  " Timing O_DIRECT disk reads:  6 GB in  3.00 seconds =  2.00 GB/sec\n"
                  " Timing O_DIRECT disk reads:  600 kB in  3.00 seconds =  200.00 kB/sec\n"
                  " Timing buffered disk reads:  63 MB in  3.00 seconds =  23.00 MB/sec\n")
    assert shown(disk) == [("hdparm-t", {"direct": False}, 21 << 20),
                           ("hdparm-t", {"direct": True}, 2 << 30),
                           ("hdparm-t", {"direct": True}, 200 << 10)]
    head = "              kB  reclen    write  rewrite    read    reread\n"
    row = "            1024      16        3        5       7       11\n"
    for front, unit in (("", 1024), ("\tOutput is in operations per second\n", 16384)):
        got = points(front + head + row)
        assert [(*how(p, "test", "file", "bs"), p.value) for p in got] == [
            (test, 1 << 20, 16384, value * unit) for test, value in
            (("write", 3), ("rewrite", 5), ("read", 7), ("reread", 11))], got


def test_where_dd_was():
    """A read skips blocks of its input, and a write seeks in its output."""
    done = "4096000 bytes (4.1 MB) copied, 2 s, 2.0 MB/s\n"

    def of(words):
        found = points(f"dd {words}\n{done}")
        assert found[0].value == 2048000
        return how(found[0], "op", "bs", "offset")
    assert of("if=/dev/sdb of=/dev/null bs=4096 count=1000 skip=3") == ("read", 4096, 3 * 4096)
    assert of("if=/dev/zero of=/dev/sdb bs=8192 count=500 seek=5 oflag=direct") == \
        ("write", 8192, 5 * 8192)
    assert of("if=/dev/zero of=/dev/sdb bs=8192 count=500 oflag=direct") == ("write", 8192, 0)
    assert of("if=/dev/zero of=/dev/sdb bs=8192 count=500 seek=24K oflag=direct,seek_bytes") == \
        ("write", 8192, 24576)


def test_equal_points_are_one():
    """With all values in their order, in the place of the first one."""
    a, b = (lambda *v: make_point("hdparm-t", [*v], direct=False)), \
        (lambda *v: make_point("hdparm-t", [*v], direct=True))
    found = schema.by_parameters([a(3.0), b(5.0), a(1.0, 2.0), b(4.0)])
    assert [(dict(p.parameters)["direct"], p.values, p.value) for p in found] == \
        [(False, (3.0, 1.0, 2.0), 2.0), (True, (5.0, 4.0), 4.5)]


TYPED = """# by hand
program,op,block,value,unit

atto,write,8K,3,MB/s
atto,read,16K,5,IOPS
hdtune-access,read,,7,ms
cdm-seq,write,,11,MiB/s
"""


def test_typed_figures():
    found, count, _ = tables.read_table(TYPED, "t.csv", "")
    assert count == 6 and [(p.procedure, dict(p.parameters)["bs"], dict(p.parameters)["depth"],
                            dict(p.parameters)["size"] >> 20, p.value) for p in found] == [
        ("load", 8192, 4, 256, 3e6), ("load", 16384, 4, 256, 5 * 16384),
        ("load-latency", 512, 1, 256, 7e6), ("load", 1 << 20, 8, 1024, 11 << 20)]
    for unit, factor in (("B/s", 1), ("kB/s", 1e3), ("KB/s", 1e3), ("GB/s", 1e9),
                         ("KiB/s", 1024), ("GiB/s", 1 << 30)):
        text = TYPED.replace("3,MB/s", "3," + unit)
        assert tables.read_table(text, "t.csv", "")[0][0].value == 3 * factor
    for unit, factor in (("ns", 1), ("us", 1e3), ("s", 1e9)):
        text = TYPED.replace("7,ms", "7," + unit)
        assert tables.read_table(text, "t.csv", "")[0][2].value == 7 * factor


def test_typed_figures_in_a_page():
    """Another table of the page has one of the columns, and is none of figures."""
    page = "# A page\n\n| unit | what |\n|---|---|\n| ms | a thousandth of a second |\n\n" + "".join(
        f"| {line.replace(',', ' | ')} |\n" for line in
        ("program,op,block,value,unit", "atto,write,8K,3,MB/s"))
    found, _, _ = tables.read_table(page, "t.md", "")
    assert [(p.procedure, p.value) for p in found] == [("load", 3e6)], found


def test_where_dd_begins_and_ends():
    """A heading counts seek in blocks.  A line of progress a second before the end is not the end."""
    done = "104857600 bytes (105 MB, 100 MiB) copied, 10 s, 10.5 MB/s\n"
    found, = points(f"==== Linear write speed (dd, 4M block, seek 10) ====\n{done.replace('10 s', '10.25 s')}")
    assert how(found, "op", "bs", "offset") == ("write", 4 << 20, 40 << 20)
    one, = points("$ dd if=/dev/zero of=/dev/sdb bs=1M count=100 oflag=direct status=progress\n"
                  "104857600 bytes (105 MB, 100 MiB) copied, 9 s, 11.7 MB/s\n"
                  "100+0 records in\n100+0 records out\n" + done)
    assert one.value == 10485760.0, one


def test_the_size_behind_rounded_numbers():
    """101 requests of 4 KiB: 404 KiB, just below 100 a second, in just below 1010 ms."""
    assert fio_terse._size(404, 99, 1009) == 4096
    assert fio_terse._size(404, 9, 1009) == 0, "several fit"


def test_margins_of_replays():
    """What replays are off multiplies; a threshold of 60 % is more."""
    two = SimpleNamespace(levels=("ext4", "vfat"), given=lambda level: {"filesystem": level})
    table = SimpleNamespace(experiment=SimpleNamespace(factor=lambda name: two), replay={
        "filesystems": {"ext4": {"largest": 0.5}, "vfat": {"largest": 0.2}}})
    for threshold, want in (("10%", 1.8), ("60%", 2.5)):
        margin = choice._margin(table, {"factor": "x", "threshold": threshold})
        assert abs(margin("ext4", "vfat") - want) < 1e-9, (threshold, margin("ext4", "vfat"))


def message(function, *arguments):
    try:
        function(*arguments)
    except LabError as e:
        return str(e)
    raise AssertionError("no message")


def test_lines_of_mistakes():
    """The line as an editor counts it, with comments and blank lines."""
    for old, new, line in (("8K", "8Q", 4), ("5,IOPS", "x,IOPS", 5), ("7,ms", "7,min", 6),
                           ("cdm-seq", "cdm", 7), ("7,ms", "\uff17,ms", 6), ("7,ms", "1_0,ms", 6),
                           ("7,ms", "1e400,ms", 6)):
        told = message(tables.read_table, TYPED.replace(old, new), "t.csv", "")
        assert told.startswith(f"t.csv:{line}: "), told
    told = message(tables.read_table, TYPED + "a,b,c,d,e,f\n", "t.csv", "")
    assert told.startswith("t.csv:8: has 6 cells; allowed: 5"), told
    sample = replay_accuracy.Sample(1, "vfat", "r", "0", 65536, "p", 63, "write", 1, 101, "0", 100)
    text = replay_accuracy.to_csv([sample, sample])
    assert replay_accuracy.parse(text, "s.csv") == (sample, sample)
    damaged = text[:text.rindex("+1.00%")] + "-1.00%\n"
    assert message(replay_accuracy.parse, damaged, "s.csv").startswith("s.csv:3: ")
    assert message(replay_accuracy.parse, damaged[::-1], "s.csv").startswith("s.csv:1: ")


def test_lines_of_keys():
    where = Lines('a = 1\n# b = 2\n[t]\nb = [\n  "x",\n  "y",\n]\nc = 3\n[[u]]\nd = 4\n[[u]]\n'
                  "d = 5\n")
    assert [where.of(p) for p in ((), ("a",), ("t",), ("t", "b"), ("t", "c"), ("t", "z"),
                                  ("u", 0, "d"), ("u", 1, "d"))] == [1, 1, 3, 4, 8, 3, 10, 12]
    assert where.of(("t", "b"), "x") == 5 and where.of(("t", "b"), "y") == 6
    assert where.of(("t", "b"), "z") == 4


def test_each_line_is_counted_once():
    """Lines of a result, and of one that is left out, are none that said nothing; an object counts
    by its lines, wherever it begins."""
    disk = " Timing buffered disk reads:  63 MB in  3.00 seconds =  21.00 MB/sec\n"
    objects = job("8k", "write", write=side(7, bw=3)) + "\n"
    text = "hello\n\n" + objects + disk + disk.replace("21", "31") + "bye\n" + disk
    log = read_log(text.encode(), "log")
    assert log.lines == 5 + objects.count("\n") and log.skipped == ("hello", "bye")
    assert [p.value for p in log.points] == [3072, 21 << 20, 21 << 20]
    assert [one.line for one in log.left] == [4 + objects.count("\n")]
    cached = read_log((disk + disk.replace("buffered disk", "cached")).encode(), "log")
    assert cached.skipped == () and [(o.line, o.what) for o in cached.left] == [(2, "hdparm -T")]
    unknown = read_log(b'x\n{"a":\n {"b": 1}}\n', "log")
    assert unknown.skipped == ("x", "2 lines of JSON from line 2 on") and unknown.lines == 3


def test_a_block_is_half_of_the_least_alignment():
    """In the order of no line; an alignment of 1 is none."""
    def of(*aligns):
        found = points("".join(f"align {a}\tpre 1.5ms\ton 2ms\tpost 1.5ms\tdiff 500us\n"
                               for a in aligns))
        return {how(p, "bs")[0] for p in found}
    assert of(65536, 2048, 4096) == {1024} and of(4, 2, 8) == {1}


def test_two_tables_of_flashbench():
    """A table that begins anew has no heading any more, so nobody knows how many units it had."""
    table = "4MiB 6M/s\n2MiB 3M/s\n"
    log = read_log(("flashbench -O --open-au-nr=5 --erasesize=4194304 /dev/sdx\n" + table
                    + table.replace("6", "7")).encode(), "log")
    assert [p.value for p in log.points] == [6e6, 3e6] and [o.line for o in log.left] == [4, 5]
    fat = "flashbench -f --erasesize=4194304 /dev/sdx\n4MiB 6M/s 5M/s\n4MiB 8M/s 7M/s\n"
    assert [p.value for p in points(fat)] == [6e6, 5e6, 8e6, 7e6]


def test_words_of_a_page_are_read_as_they_look():
    for line, wanted in (("4096 bytes &amp; 7.5 MB/s", "4096 bytes & 7.5 MB/s"), ("a &lt; b", "a < b"),
                         ("12.5 &micro;s", "12.5 \u00b5s"), ("12.5 us", "12.5 us")):
        assert text._cleaned(line).strip() == wanted, (line, text._cleaned(line))


def test_what_is_no_object_is_tried_so_often():
    """2000 beginnings of objects that are none take a moment, and a log of them no hours."""
    good = '{"a": {"b": 1}}'
    for count, found in ((1, True), (1999, True), (2000, False), (2600, False)):
        log = read_log(("[{x\n" * count + good).encode(), "log")
        assert (log.skipped[-1] == f"1 lines of JSON from line {count + 1} on") == found, (count, log.skipped[-1])
        assert len(log.skipped) == log.lines == count + 1


run(globals())
