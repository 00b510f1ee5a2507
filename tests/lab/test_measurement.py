#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measurements: the file, and the readers of what other programs print."""

import json
import os
import random
import re
from pathlib import Path

from flashemu_lab_bench import TOP, bad, good, good_json, lab, read, write
from flashemu_script import run

from flashemu_lab.measurement import schema
from flashemu_lab.core.errors import LabError
from flashemu_lab.measurement.importing import read_file, read_log
from flashemu_lab.measurement.numbers import size

LOG = os.path.join(TOP, "tests/data/measurements/card.txt")
SEQ = {"procedure": "seq-read", "parameters": {"bs": 4096, "size": 65536}, "unit": "bytes/s",
       "values": [1000000]}
ALIGN = {"procedure": "flashbench-align", "unit": "ns", "values": [-3602.5],
         "parameters": {"align": 4096, "bs": 1024, "place": "diff"}}


def document(*points, **more):
    return json.dumps({"format": "flashemu-measurement", "version": 1, "points": points, **more})


def refused(text):
    """The message of the refusal, without the name of the file."""
    try:
        schema.parse(text, "my.json")
    except LabError as e:
        assert "\n" not in str(e) and str(e).startswith("my.json:"), e
        return str(e).removeprefix("my.json:").strip()
    raise AssertionError(text)


def points(text, procedure=None):
    """[(parameters, values)] of a log."""
    log = read_log(text.encode() if isinstance(text, str) else text, "log")
    return [(dict(p.parameters), list(p.values)) for p in log.points
            if procedure in (None, p.procedure)]


# --- the file ---

def test_round_trip():
    text = document(SEQ, ALIGN, device={"name": "x", "capacity": 8}, state="new",
                    sources=[{"name": "a", "sha256": "0", "lines": 3, "skipped": 1}])
    found = schema.parse(text, "x")
    assert found.capacity == 8 and found.state == "new" and found.points[1].value == -3602.5
    assert schema.parse(schema.to_json(found), "y") == found


def test_mistakes_have_a_path():
    def changed(**changes):
        return refused(document({**SEQ, **changes}))

    assert refused("{").startswith("1: is no JSON") and refused("[" * 100000)
    assert refused(document({**SEQ, "values": [float("nan")]})) == "1: is no JSON: NaN is no number"
    assert refused("\n5 MB/s").endswith("`flashemu-lab import` makes one of what a benchmark has printed")
    assert refused("[]").startswith("the file: []; allowed: an object")
    assert refused('{"profile": "x"}') == \
        'is no measurement: there is no "format": "flashemu-measurement" in it'
    assert refused(document(SEQ).replace("flashemu-", "")).startswith('format: "measurement"; ')
    assert refused(document(SEQ).replace('"version": 1', '"version": 3')) == \
        "version: 3; allowed: 1 or 2"
    assert refused(document(SEQ).replace('"version": 1', '"version": true')).startswith("version:")
    assert refused(document()) == "points: there are none; allowed: at least one"
    assert refused(document(SEQ, extra=1)).startswith('the file: unknown member "extra"; allowed: ')
    assert changed(unit="MB/s") == 'points[0].unit: "MB/s"; allowed: "bytes/s" for seq-read'
    assert changed(values=[]).startswith("points[0].values: there are none")
    assert changed(values=[1, 0]) == "points[0].values[1]: 0; allowed: a number greater than 0"
    assert changed(values=[True]).startswith("points[0].values[0]: true; ")
    assert changed(values=[1e300]).startswith("points[0].values[0]: 1e+300; ")
    assert changed(procedure="nope").startswith('points[0].procedure: "nope"; allowed: flashbench-')
    assert changed(parameters={"bs": 1}) == "points[0].parameters: size is missing"
    assert changed(parameters={"bs": 0, "size": 1}).startswith("points[0].parameters.bs: 0; ")
    assert changed(parameters={"bs": 1, "size": 1, "z": 1}).startswith(
        'points[0].parameters: unknown member "z"; allowed: bs, offset, size')
    assert changed(source=0) == ("points[0].source: 0; allowed: an index of sources, which has 0 "
                                 "members")
    assert changed(spread=-1).startswith("points[0].spread: -1; ")
    assert refused(document({**ALIGN, "parameters": {"align": 1, "bs": 1, "place": "x"}})) == \
        'points[0].parameters.place: "x"; allowed: pre, on, post, diff'


def test_any_change_is_refused_or_read():
    draw = random.Random(1)
    text = document(SEQ, ALIGN, device={"name": "x", "capacity": 8})
    for _ in range(2000):
        at = draw.randrange(len(text))
        changed = text[:at] + draw.choice(["", "0", "-", '"', "[", "]", "{", "null", ",", "1e999",
                                           "\udc80", "9" * 30]) + text[at + draw.randrange(4):]
        try:
            found = schema.parse(changed, "my.json")
        except LabError as e:
            assert "\n" not in str(e) and len(str(e)) < 400, (changed, e)
        else:
            assert schema.parse(schema.to_json(found), "x") == found, changed


def test_the_manual_has_every_procedure():
    text = read(os.path.join(TOP, "docs/man/flashemu-measurement.5"))
    described = {}
    for names, body in re.findall(r"^\.It Cm (.*)\n((?:(?!\.It|\.El).*\n)*)", text, re.M):
        described.update({name: body for name in names.split(" , ")})
    assert set(described) == set(schema.PROCEDURES)
    for name, procedure in schema.PROCEDURES.items():
        for key in procedure.parameters:
            assert re.search(r"\b%s\b" % key, described[name]), (name, key)
    example = text[text.index(".Bd -literal"):text.index(".Ed")].split("\n", 1)[1]
    assert len(schema.parse(example, "manual").points) == 2


# --- the readers ---

def test_a_whole_log():
    out = good("import", LOG, "-o", "my.json", "--state", "worn", "--skipped")
    found = schema.load(Path("my.json"))
    assert found.name == "SU04G" and found.capacity == 3904897024 and found.state == "worn"
    assert found.made_by.startswith("flashemu-lab import ")
    by = {}
    for p in found.points:
        by.setdefault(p.procedure, []).append((dict(p.parameters), p.values))
    assert [v for _, v in by["hdparm-t"]] == [(19.42 * 2**20, 18.73 * 2**20)]
    (how, reads), (how2, writes) = by["dd"]
    assert how == {"op": "read", "bytes": 41943040, "bs": 4 << 20, "offset": 0, "on": "device"}
    assert [round(v / 1e6, 1) for v in reads] == [16.2, 16.2]
    assert how2["op"] == "write" and how2["offset"] == 64 << 20
    assert round(writes[0] / 1e6, 1) == 21.3
    align = {(p["align"], p["place"]): v for p, v in by["flashbench-align"]}
    assert all(p["bs"] == 1024 for p, _ in by["flashbench-align"])
    assert align[4 << 20, "on"] == (731e3, 655e3) and align[1 << 20, "diff"] == (-3602,)
    assert align[16384, "post"] == (1e6,) and align[4096, "diff"] == (-773711,)
    fat = {(p["chunk"], p["unit"]): v for p, v in by["flashbench-find-fat"]}
    assert fat[4 << 20, 0] == (17.9e6, 2.53e6) and fat[1024, 7] == (300e3,) and len(fat) == 24
    units = {(p["open"], p["random"], p["chunk"]): v for p, v in by["flashbench-open-au"]}
    assert units == {
        (1, False, 4 << 20): (10.3e6,), (1, False, 1 << 20): (10.3e6,),
        (1, False, 64 << 10): (10.2e6,), (1, False, 4096): (2.1e6,),
        (5, False, 4 << 20): (6.69e6,), (5, False, 2 << 20): (2.72e6,),
        (1, True, 4 << 20): (3.76e6,), (1, True, 8192): (1.18e6,)}
    assert all(p["erasesize"] == 4 << 20 for p, _ in by["flashbench-open-au"])
    skipped = re.findall("^  skipped: (.*)", out, re.M)
    assert "^N2MiB    7.08M/s" in skipped and any(s.startswith("usb 1-1") for s in skipped)
    assert re.search(r"; %d of \d+ lines skipped" % len(skipped), out), out


def test_commands_of_flashbench():
    table = "8MiB    10M/s\n4MiB    9M/s\n"
    found = points("# ./flashbench -O --erasesize=$[8*1024*1024] --blocksize=4096 /dev/sdb "
                   "--open-au-nr=3 --random\n" + table)
    assert found == [({"erasesize": 8 << 20, "open": 3, "random": True, "chunk": 8 << 20}, [10e6]),
                     ({"erasesize": 8 << 20, "open": 3, "random": True, "chunk": 4 << 20}, [9e6])]
    assert [p["bs"] for p, _ in points("flashbench -a /dev/sdb --blocksize=16384\nalign 65536\tpre "
                                       "1ms\ton 2ms\tpost 1ms\tdiff 1ms")] == [16384] * 4
    # nobody said how many units were open
    assert points(table) == [] and len(points("AU=2, linear access\n" + table + table)) == 2
    assert points("flashbench -s --scatter-order=9 /dev/sdb\n" + table) == []
    # a table with several columns is of -f in any case
    assert len(points("1MiB  1M/s 2M/s\n")) == 2


def test_lines_that_contradict_themselves():
    assert not points("align 4096\tpre 1ms\ton 2ms\tpost 1ms\tdiff 5ms")
    assert not points("align 5000\tpre 1ms\ton 2ms\tpost 1ms\tdiff 1ms")
    assert not points("41943040 bytes (42 MB) copied, 2.0 s, 11.2 MB/s")
    assert not points(" Timing buffered disk reads:  60 MB in  3.09 seconds =  29.42 MB/sec")
    assert not points(" Timing cached reads:   1200 MB in  2.00 seconds = 600.00 MB/sec")
    assert not points(" Timing buffered disk reads:  0 MB in  0.00 seconds =  0.00 MB/sec")


def test_dd_in_many_languages():
    lines = ["41943040 bytes (42 MB, 40 MiB) copied, 4.19431 s, 10.0 MB/s",
             "41943040 Bytes (42 MB, 40 MiB) kopiert, 4,19431 s, 10,0 MB/s",
             "41943040 octets (42 MB, 40 MiB) copiés, 4,19431 s, 10,0 MB/s",
             "41943040 bytes (42 MB, 40 MiB) copiados, 4,19431 s, 10,0 MB/s",
             "скопировано 41943040 байт (42 MB, 40 MiB), 4,19431 s, 10,0 MB/s",
             "41943040 байт (42 MB, 40 MiB) скопійовано, 4,19431 с, 10,0 МБ/с",
             "41943040 bytes (42 MB, 40 MiB) copied、 4.19431 s、 10.0 MB/s",
             "41943040字节（42 MB，40 MiB）已复制，4.19431 s，10.0 MB/s",
             "41943040 bytes (40.0MB) copied, 4.194310 seconds, 9.5MB/s",
             "41943040 bytes transferred in 4.19431 secs (9999986 bytes/sec)",
             "1+1 records out\r\n41943040 bytes (42 MB, 40 MiB) copied, 4.19431 s, 10.0 MB/s\r\n"]
    for line in lines:
        assert points(line) == [({"op": "unknown", "bytes": 41943040},
                                 [41943040 / 4.19431])], line
    last = lines[0]
    how = points("$ dd if=/dev/zero of=/dev/sdb bs=1M seek=8 count=40 oflag=direct\n" + last)[0][0]
    assert how == {"op": "write", "bytes": 41943040, "bs": 1 << 20, "offset": 8 << 20,
                   "on": "device", "direct": True}
    how = points("dd if=/mnt/a of=/dev/null bs=64k\n" + last)[0][0]
    assert how == {"op": "read", "bytes": 41943040, "bs": 65536, "on": "file", "direct": False}
    # a heading ends with the next one
    assert points("==== Linear read (dd) ====\n==== Other things ====\n" + last)[0][0]["op"] == \
        "unknown"


def test_encodings():
    line = "align 4096\tpre 688µs\ton 684µs\tpost 687µs\tdiff -3602ns\n"
    want = points(line)
    assert len(want) == 4 and want[0][1] == [688e3]
    for other in (line.encode("latin-1"), b"\xef\xbb\xbf" + line.encode(), line.encode("utf-16"),
                  line.replace("µ", "\u03bc").encode(), line.replace("µ", "u").encode(),
                  line.replace("\n", "\r\n").encode()):
        assert points(other) == want, other


def test_iozone():
    text = """	Iozone: Performance Test of File I/O
	        Version $Revision: 3.489 $
	Include fsync in write timing
	O_DIRECT feature enabled
	Output is in kBytes/sec
                                                              random    random     bkwd    record    stride
              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread
          102400       4     2394     2645    8123     8125     6789     1543
          102400   16384    13333                     30000    29000

iozone test complete.
"""
    found = points(text)
    assert [p["test"] for p, _ in found] == [
        "write", "rewrite", "read", "reread", "random-read", "random-write",
        "write", "reread", "random-read"]       # the second row has blank columns
    assert found[5] == ({"test": "random-write", "file": 102400 << 10, "bs": 4096, "direct": True,
                         "fsync": True}, [1543 * 1024])
    assert points("          102400       4     2394     2645    8123     8125\n") == []


def fio_result(**changes):
    side = {"io_bytes": 4096000, "total_ios": 1000, "bw_bytes": 1000000, "bw": 976, "iops": 250.0,
            "clat_ns": {"mean": 4000000.5, "stddev": 5.25}}
    none = {"io_bytes": 0, "total_ios": 0, "bw_bytes": 0}
    job = {"jobname": "rand", "job options": {"rw": "randwrite", "bs": "4k", "iodepth": "4",
                                               "ioengine": "libaio"},
           "read": none, "write": side, "trim": none, **changes}
    return {"fio version": "fio-3.33", "global options": {"direct": "1"}, "jobs": [job]}


def test_fio():
    text = "fio: a warning\n" + json.dumps(fio_result(), indent=2) + "\nthe end\n"
    how = {"op": "write", "pattern": "random", "bs": 4096, "depth": 4, "jobs": 1, "direct": True,
           "job": "rand"}
    log = read_log(text.encode(), "log")
    assert [(p.procedure, dict(p.parameters), p.values, p.spread) for p in log.points] == [
        ("fio-rate", how, (1000000,), None), ("fio-latency", how, (4000000.5,), 5.25)]
    assert log.skipped == ("fio: a warning", "the end")
    # the size of the file, if it is said in bytes
    for said, size_of in (("64m", 64 << 20), ("50%", None), ("", None)):
        one = fio_result()
        one["jobs"][0]["job options"]["size"] = said
        assert [how.get("size") for how, _ in points(json.dumps(one))] == [size_of] * 2, said
    mixed = fio_result()
    mixed["jobs"][0]["job options"]["rw"] = "rw"
    mixed["jobs"][0]["read"] = dict(mixed["jobs"][0]["write"], total_ios=3000)
    assert [how["share"] for how, _ in points(json.dumps(mixed))] == [75, 75, 25, 25]
    assert points('{"fio version": 1, "jobs": 3}') == []
    assert points('{"fio version": 1, "jobs": [null, {}]}') == []
    # cut off
    assert read_log(text[:200].encode(), "log").points == ()


def test_size():
    assert [size(s) for s in ("4M", "64kb", "1MiB", "4096", "$[4*1024*1024]", "2x512", "", "M",
                              "0", "9" * 15 + "T")] == [
        4 << 20, 65536, 1 << 20, 4096, 4 << 20, 1024, None, None, None, None]


def test_mutated_logs():
    """Whatever is in a file: there is an answer, and all points of it can be stored."""
    draw = random.Random(2)
    with open(LOG, "rb") as file:
        log = file.read()
    log += json.dumps(fio_result(), indent=1).encode() + b"\n"
    log += b" kB  reclen    write  rewrite    read    reread\n  1024  4  10 20 30 40\n"
    most = 0
    for _ in range(300):
        data = bytearray(log)
        for _ in range(draw.randrange(1, 40)):
            at = draw.randrange(len(data))
            what = draw.randrange(4)
            if what == 0:
                data[at] = draw.randrange(256)
            elif what == 1:
                del data[at:at + draw.randrange(30)]
            elif what == 2:
                data[at:at] = draw.choice([b"9" * 40, b"-", b"\0", b"\n", b"{", b"e999", b"  ",
                                           b"AU=0, linear access", b"0B 1M/s", b"align 1\tpre"])
            else:
                other = draw.randrange(len(data))
                data[at:at] = data[other:other + draw.randrange(80)]
        found = read_log(bytes(data[:draw.randrange(len(data))]), "log")
        assert len(found.skipped) <= found.lines
        most = max(most, len(found.points))
        if found.points:
            whole = schema.Measurement(schema.by_parameters(list(found.points)))
            assert schema.parse(schema.to_json(whole), "x") == whole
    assert most > 50


def test_import_refuses():
    write("none.txt", "nothing\nat all\n")
    bad("none.txt: no line is a result of flashbench, fio, iozone, hdparm -t, dd or another "
        "program that is read, see flashemu-lab-probe(1), and it is no table, whose first line is such as "
        "program,op,block,value,unit; 2 lines were skipped", "import", "none.txt", "-o", "x.json")
    bad("nope.txt: No such file or directory", "import", "nope.txt", "-o", "x.json")
    write("a.txt", read(LOG))
    write("b.txt", read(LOG).replace("name:SU04G", "name:OTHER"))
    bad("the files are about different devices: OTHER and SU04G; import them one by one, or say "
        "--name", "import", "a.txt", "b.txt", "-o", "x.json")
    bad("-o a.txt: is one of the inputs; allowed: another file", "import", "a.txt", "-o", "a.txt")
    bad("--capacity: x: allowed: bytes, such as 7948206080 or 8GB", "import", "a.txt", "-o",
        "x.json", "--capacity", "x")
    assert sorted(os.listdir(".")) == ["a.txt", "b.txt", "none.txt"]
    found = good_json("import", "a.txt", "b.txt", "-o", "x.json", "--name", "both")
    assert found["values"] == 2 * found["files"][0]["values"]
    first = read("x.json")
    bad("x.json/y: Not a directory", "import", "a.txt", "-o", "x.json/y")
    assert read("x.json") == first and lab("import")[0] == 2


# --- tables ---

TYPED = """# ATTO, my stick
program,op,block,value,unit
atto,write,4K,3.12,MB/s
hdtune,read,,20.5,MB/s

hdtune-access,read,,0.9,ms
other,write,8K,100,IOPS
"""


def test_typed_figures():
    write("typed.csv", TYPED)
    assert "4 points" in good("import", "typed.csv", "-o", "typed.json")
    found = {p.parameters[-1][1]: p for p in schema.load(Path("typed.json")).points}
    assert found["atto"].value == 3.12e6 and dict(found["atto"].parameters) == {
        "op": "write", "pattern": "sequential", "bs": 4096, "size": 256 << 20, "depth": 4,
        "program": "atto"}
    assert found["hdtune"].value == 20.5e6 and dict(found["hdtune"].parameters)["bs"] == 65536
    assert found["hdtune-access"].procedure == "load-latency"
    assert found["hdtune-access"].value == 0.9e6 and found["other"].value == 819200
    # other separators, a comma in front of a fraction, columns in another order
    write("typed.csv", "unit;value;op;program;block;size\nkB/s;3120,5;read;ATTO;4K;1M\n")
    good("import", "typed.csv", "-o", "typed.json")
    (p,) = schema.load(Path("typed.json")).points
    assert p.value == 3120.5e3 and dict(p.parameters)["size"] == 1 << 20


def test_tables_of_spreadsheets_and_pages():
    want = ({"op": "write", "pattern": "sequential", "bs": 512, "size": 256 << 20, "depth": 4,
             "program": "atto"}, 3.12e6)
    for text in ("Program,Op,Block,Value,Unit\nATTO,Write,0.5K,3.12,MB/s\n",
                 "sep=;\nprogram;op;block;value;unit\natto;write;0,5 KB;3,12;MB/s\n",
                 "UNIT\tvalue\tprogram\top\tblock\r\nmb/s\t3,12\tatto\twrite\t512\r\n",
                 "# a stick\ntext | more\n\n| Op | Program | Value | Unit | Block |\n|---|:-:|--:|-|-|\n"
                 "| write | atto | 3.12 | MB/S | 0.5 KiB |\n\n| other | table |\n"):
        write("typed.csv", text)
        (p,) = read_file(Path("typed.csv")).points
        assert (dict(p.parameters), p.value) == want, text
    # what stands around a table in a page is a log
    write("page.md", text + "$ dd if=/dev/sdb of=/dev/null bs=1M iflag=direct\n"
          "104857600 bytes (105 MB, 100 MiB) copied, 10.5 s, 10.0 MB/s\n")
    log = read_file(Path("page.md"))
    assert [p.procedure for p in log.points] == ["load", "dd"]
    assert log.skipped == ("a stick", "text | more", "| other | table |") and log.lines == 8


def test_mistakes_in_typed_figures():
    def refuse(message, old, new):
        assert old in TYPED
        write("typed.csv", TYPED.replace(old, new, 1))
        try:
            read_file(Path("typed.csv"))
            raise AssertionError
        except LabError as e:
            assert str(e).startswith("typed.csv:" + message), e

    refuse("3: program: ato; allowed: atto, hdtune, ", "atto,", "ato,")
    refuse("3: op: rite; allowed: read, write", "write", "rite")
    refuse("3: block: 4Q; allowed: bytes, such as 4096, 4K or 1M", "4K", "4Q")
    refuse("3: block: ; allowed: bytes", "4K", "")
    refuse("3: value: x; allowed: a number greater than 0", "3.12", "x")
    refuse("3: value: nan; allowed: a number greater than 0", "3.12", "nan")
    refuse("3: unit: MB; allowed: B/s, ", "MB/s", "MB")
    refuse("6: unit: MB/s; allowed: ns, us, ms, s", "0.9,ms", "0.9,MB/s")
    refuse("3: is no line of a table: a quotation mark is missing", "3.12", '"3.12')
    refuse("3: has 6 cells; allowed: 5", "3.12,MB/s", "3.12,MB/s,x")
    write("typed.csv", TYPED.replace("block", "blok"))
    bad("typed.csv:1: unknown column blok; allowed: program, op, value, unit, block", "import",
        "typed.csv", "-o", "x.json")
    write("typed.csv", TYPED)
    bad("typed.csv: --device x: typed figures are about one device", "import", "typed.csv", "-o",
        "x.json", "--device", "x")
    write("log.txt", "nothing")
    bad("--device x: log.txt is no table with several devices", "import", "log.txt", "-o",
        "x.json", "--device", "x")


CURVES = """# cards
file,test,open_au_nr,chunk_or_align_bytes,au_index,value_bytes_per_s_or_us
a.txt,open-au-linear,1,4194304,,10300000
a.txt,open-au-random,2,65536,,300000
a.txt,find-fat,,4194304,0,5000000
a.txt,find-fat,,4194304,1,6000000
a.txt,align-pre-us,,2048,,700
a.txt,align-diff-us,,2048,,7
b.txt,open-au-linear,1,4194304,,9900000
"""


def test_collections():
    write("curves.csv", CURVES)
    bad("curves.csv: has several devices; allowed with --device: a.txt, b.txt", "import",
        "curves.csv", "-o", "x.json")
    bad("curves.csv: --device c: is not in the table; allowed with --device: a.txt, b.txt",
        "import", "curves.csv", "-o", "x.json", "--device", "c")
    good("import", "curves.csv", "-o", "a.json", "--device", "a.txt")
    found = schema.load(Path("a.json"))
    assert [p.procedure for p in found.points] == [
        "flashbench-open-au", "flashbench-open-au", "flashbench-find-fat", "flashbench-find-fat",
        "flashbench-align"]
    assert [p.value for p in found.points] == [10.3e6, 3e5, 5e6, 6e6, 7e5]
    assert dict(found.points[3].parameters) == {"erasesize": 4 << 20, "units": 2, "unit": 1,
                                                "chunk": 4 << 20}
    write("cards.csv", "device,config,test,block_bytes,value,unit,note,source\n"
          "c,cq=on,fio-randread,4096,10,MB/s,,\nc,cq=on,linux-boot-time,,9,s,,\n"
          "c,cq=off,hdparm-t,,40,MB/s,,\n")
    good("import", "cards.csv", "-o", "c.json", "--device", "c/cq=on")
    (p,) = schema.load(Path("c.json")).points
    assert p.procedure == "fio-rate" and p.value == 1e7
    write("told.csv", "id,device,procedure,quantity,value,unit,source\n"
          'x,stick,"HD Tune read benchmark",sequential read,20.5,MB/s,a\n'
          "y,stick,by hand,life,3,years,b\n")
    good("import", "told.csv", "-o", "d.json")
    assert [p.value for p in schema.load(Path("d.json")).points] == [20.5e6]


FIO_TEXT = """
w: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 8KiB-8KiB, (T) 4096B-4096B, ioengine=libaio, iodepth=4
fio-3.33
w: (groupid=0, jobs=1): err= 0: pid=1: Mon Nov  2 10:00:00 2026
  read: IOPS=30, BW=120KiB/s (123kB/s)(3MiB/30001msec)
    clat (msec): min=1, max=9, avg= 2.50, stdev= 0.50
  write: IOPS=10, BW=80KiB/s (82kB/s)(2MiB/30001msec); 0 zone resets
    slat (usec): min=5, max=300, avg=12.10, stdev= 3.00
    clat (usec): min=300, max=99000, avg=1590.33, stdev=2033.17
     issued rwts: total=300,100,0,0 short=0,0,0,0 dropped=0,0,0,0
"""


def test_the_normal_output_of_fio():
    found = points(FIO_TEXT)
    assert found[0] == ({"op": "read", "pattern": "random", "bs": 4096, "depth": 4, "jobs": 1,
                         "share": 75, "job": "w"}, [123e3])
    assert [v for _, v in found[1:]] == [[2.5e6], [82e3], [1590330.0]]
    assert found[2][0]["bs"] == 8192 and found[2][0]["share"] == 25
    assert points(FIO_TEXT.replace("issued", "damaged")) == []
    assert points(FIO_TEXT.replace("w: (g=0)", "v: (g=0)")) == []


IOZONE_THREADS = """
	O_DIRECT feature enabled
	Each process writes a 102400 kByte file in 4 kByte records

	Children see throughput for  4 initial writers 	=   20480.00 kB/sec
	Parent sees throughput for  4 initial writers 	=   20000.00 kB/sec
	Children see throughput for  1 re-readers 	=   0.50 MB/sec
"""


def test_iozone_with_several_processes():
    found = points(IOZONE_THREADS)
    assert found == [({"test": "write", "file": 102400 << 10, "bs": 4096, "direct": True,
                       "fsync": False, "jobs": 4}, [20480.0 * 1024]),
                     ({"test": "reread", "file": 102400 << 10, "bs": 4096, "direct": True,
                       "fsync": False}, [0.5 * (1 << 20)])]
    assert points(IOZONE_THREADS.replace("4 kByte records", "records")) == []


def test_truncated_and_garbage_tables():
    """Any part of a table is refused in one line, or read: then its points are those of the table, and
    only the line that was changed, or cut, can say something else."""
    draw = random.Random(4)
    for text, device in ((TYPED, ""), (CURVES, "a.txt")):
        write("part.csv", text)
        every = {(p.procedure, p.parameters, p.values)
                 for p in read_file(Path("part.csv"), device).points}
        read = refused = 0
        for _ in range(60):
            at, cut = draw.randrange(len(text)), draw.random() < 0.5
            changed = text[:at] if cut else text[:at] + draw.choice('",;\t\0x-9') + text[at + 1:]
            write("part.csv", changed)
            try:
                found = read_file(Path("part.csv"), device).points
            except LabError as e:
                refused += 1
                assert "\n" not in str(e) and "part.csv" in str(e), (changed, e)
                continue
            read += 1
            other = [p for p in found if (p.procedure, p.parameters, p.values) not in every]
            assert len(found) <= len(every) and len(other) <= 1, (changed, other)
        assert read > 1 and refused > 5, (read, refused)


run(globals())
