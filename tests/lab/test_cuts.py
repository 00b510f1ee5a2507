#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab crash --run --check: what power cuts break in programs that work on a device.

flashemu_store is such a program.  It is right, and each of five faults makes it wrong."""

import contextlib
import hashlib
import io
import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

from flashemu_lab_bench import (FLASHEMU, LAB, bad, good, good_json, lab, opens_short, read, until,
                                write)
from flashemu_script import alive, need, run

import flashemu_data
import flashemu_store
from flashemu_lab.cli.parser import build_parser

need("nbdkit", "setpriv")
PROGRAM = os.path.abspath(flashemu_store.__file__)
DEVICE = ("ssd-page", "size=16M", "cache.size=64K")


def program(word, fault=""):
    return f"{sys.executable} {PROGRAM} {word} {fault}".strip()


def crash(*words, device=DEVICE, fault="", check=None, folder="out"):
    return lab("crash", *device, "--run", program("work", fault), "--check",
               program("check", fault) if check is None else check, "-o", folder, *words)


def test_nothing_is_found_where_nothing_is_wrong():
    code, out, err = crash("--second", "3")
    assert code == 0 and err == "", (code, out, err)
    assert out.startswith("No promise is broken in "), out
    result = json.loads(read("out/results.json"))
    assert result["kept"] == result["numbers"]["cases"] > 6 and result["unknown"] == 0, result
    assert result["broken"] == [] and result["image"] is None
    assert not os.path.exists("out/broken.img")


def test_each_fault_is_found():
    for fault in flashemu_store.FAULTS:
        few = ("--cuts", "30") if fault == "one-header" else ()
        code, out, err = crash("--second", "0", "--junit", "junit.xml", *few, fault=fault)
        assert code == 1 and err == "", (fault, code, out, err)
        assert out.startswith("A promise is broken in "), (fault, out)
        result = json.loads(read("out/results.json"))
        first = result["broken"][0]
        assert result["kept"] > 0, (fault, result)  # the check is not against everything
        assert first["id"] in out and first["command"] in out
        for _ in range(2):
            code, out, err = lab("crash", "--state", first["id"], "-o", "out")
            assert (code, err) == (1, ""), (fault, code, out, err)
            assert out == f"{first['id']}: broken, {first['reason']}\n", out
        suite = xml.fromstring(read("junit.xml"))
        assert int(suite.get("failures")) == len(result["broken"]) == len(suite.findall(".//failure"))
        assert suite.find("testcase").get("name") == first["id"]
        page = read("out/index.html")
        assert opens_short(page)
        assert first["id"] in page and "<rect" in page, fault


def test_the_image_is_the_state_and_what_was_lost_is_told():
    crash("--second", "0", fault="no-last-flush")
    first = json.loads(read("out/results.json"))["broken"][0]
    assert first["reason"] == "the check ended with exit code 2" and first["mark"] == "record 0", first
    with open("out/broken.img", "rb") as f:
        image = f.read()
    assert len(image) == 16 << 20
    # Nothing but the first record has reached the flash: the header is in the cache.
    assert image[:8192] == bytes(8192) and image[32 * 4096:32 * 4096 + 9] == b"record 0."
    words = [cell for cell in read("out/index.html").split("<tr>") if cell.startswith("<td>3</td><td>write</td>")]
    assert len(words) == 1 and "<td>yes</td><td>no</td><td>lost</td>" in words[0], words


def test_works_that_need_no_kernel():
    """Those that are right keep their promises, and of the others a check says what is broken."""
    few = ("--second", "0", "--cuts", "16", "-o", "out", "--json")
    for name, reason in (("log", None), ("updater", None), ("overwrite", None),
                         ("log-unsummed", r"record \d+ has begun and is not whole"),
                         ("updater-unordered", r"the slot of version \d is not whole")):
        code, out, err = lab("crash", *DEVICE, "--work", name, *few)
        assert err == "" and code == (1 if reason else 0), (name, code, out, err)
        result = json.loads(out)
        assert bool(result["broken"]) == bool(reason) and result["kept"] > 3, (name, result)
        if reason:
            assert {b["kind"] for b in result["broken"]} == {"check"}
            assert all(re.fullmatch("the check ended with exit code 1: " + reason, b["reason"])
                       for b in result["broken"]), result["broken"]
            assert {b["flushed_missing"] for b in result["broken"]} == {0}
            told = " ".join(result["conclusion"])
            assert f"What has failed: the check in {len(result['broken'])}. In each of them the device has" in told


def test_a_device_that_has_lost_what_was_flushed():
    """A device that ignores each flush, under a work that is right: that is the device's fault."""
    result = good_or_broken("crash", *DEVICE, "faults.lie=flush-ignored", "--work", "log", "--second",
                            "0", "--cuts", "12", "-o", "out", "--json")
    missing = [b["flushed_missing"] for b in result["broken"]]
    assert missing and all(n > 0 and n % 512 == 0 for n in missing), missing
    assert f"In {len(missing)} of {len(missing)} of them the device has lost what was flushed" in " ".join(
        result["conclusion"]), result["conclusion"]


def good_or_broken(*words):
    code, out, err = lab(*words)
    assert code == 1 and err == "", (code, out, err)
    return json.loads(out)


def test_what_no_device_is_asked_for():
    """A cache that is safe saves a program that misses a flush.  Not any device would."""
    words = ("crash", *DEVICE, "cache.volatile=no", "faults.cut_sector=torn", "--run",
             program("work", "no-flush"), "--check", program("check", "no-flush"), "--second", "0",
             "-o", "out", "--subsets", "40")
    code, out, err = lab(*words)
    assert code == 0 and err == "" and out.startswith("No promise is broken in "), (code, out, err)
    result = json.loads(read("out/results.json"))
    broken = result["any_device"]["broken"]
    assert broken and result["any_device"]["kept"] > 0 and result["broken"] == []
    assert re.search(r"For any device: 40 draws .* a promise is broken in %d of them, the first %s: "
                     % (len(broken), broken[0]["id"]), " ".join(result["conclusion"])), result["conclusion"]
    assert "For any device: any part of what was not flushed" in read("out/index.html")
    code, out, err = lab("crash", "--state", broken[0]["id"], "-o", "out")
    assert code == 1 and out.startswith(broken[0]["id"] + ": broken, the check ended with exit code 1"), out
    assert lab(*words, "--strict")[0] == 1
    bad("--strict needs --subsets", "crash", *DEVICE, "--work", "log", "--strict")
    bad("--subsets needs --run", "crash", "ssd-page", "--subsets", "5")


def test_several_devices():
    words = ("crash", "ssd-page", "raspberrypi32g", "size=16M", "cache.size=64K", "device.used=0",
             "--work", "updater-unordered", "--second", "0", "--cuts", "12", "-o", "out")
    code, out, err = lab(*words, "--junit", "junit.xml")
    assert code == 1 and err == "", (code, out, err)
    lines = out.splitlines()
    assert [x for x in lines if x in ("ssd-page", "raspberrypi32g")] == ["ssd-page", "raspberrypi32g"]
    suites = xml.fromstring(read("junit.xml"))
    assert suites.tag == "testsuites" and [s.get("name") for s in suites] == [
        "power cuts, ssd-page", "power cuts, raspberrypi32g"]
    page = read("out/index.html")
    assert "A promise is broken with" in page and "raspberrypi32g" in page
    works = good_or_broken(*words, "--json")["works"]
    assert [w["profile"] for w in works] == ["ssd-page", "raspberrypi32g"]
    for work, name in zip(works, ("ssd-page", "raspberrypi32g")):
        assert work == json.loads(read(f"out/{name}/results.json"))


def test_without_a_check_the_states_are_counted():
    out = good("crash", *DEVICE, "--run", program("work"), "-o", "out")
    assert "power cuts at" in out and "broken" not in out, out
    fewer = good_json("crash", *DEVICE, "--run", program("work"), "-o", "out", "--cuts", "7")
    assert fewer["numbers"]["cuts"] == 7, fewer


def test_verdicts_for_a_pipe_and_the_standard_output():
    """Nothing takes the place of what is no file."""
    words = ("--second", "0", "--cuts", "5", "--junit")
    os.mkfifo("pipe")
    reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, encoding="utf-8")
    assert crash(*words, "pipe")[0] == 0
    suites = reader.communicate()[0]
    assert xml.fromstring(suites).find("testcase") is not None and Path("pipe").is_fifo()
    os.symlink("/dev/stdout", "out.xml")
    code, out, err = crash(*words, "out.xml")
    assert code == 0 and out.endswith(suites) and out.startswith("No promise"), (out, err)
    assert os.readlink("out.xml") == "/dev/stdout"
    for old in ("", suites):  # verdicts may be replaced
        write("junit.xml", old)
        assert crash(*words, "junit.xml")[0] == 0 and read("junit.xml") == suites


def test_some_of_the_states_are_judged():
    """The seed draws them, with the same verdicts as among all; states without a device are judged all."""
    def judged(*words):
        assert crash("--second", "0", "--cuts", "40", "--json", *words, fault="one-header")[0] in (0, 1)
        one = json.loads(read("out/results.json"))
        assert one["judged"] == one["kept"] + len(one["broken"]), one
        return one, [b["id"] for b in one["broken"]], " ".join(one["conclusion"])

    whole, bad_ones, told = judged()
    assert whole["judged"] == whole["numbers"]["cases"] > 9 and "drawn" not in told and len(bad_ones) > 2, told
    some, drawn, told = judged("--judge", "7", "--subsets", "30")
    assert some["judged"] == 7 and some["numbers"]["cases"] == whole["numbers"]["cases"], some["numbers"]
    assert "7 of them were judged, drawn by seed 1." in told, told
    assert drawn == [name for name in bad_ones if name in drawn] and len(drawn) < len(bad_ones)
    without = some["any_device"]
    assert without["kept"] + len(without["broken"]) == some["numbers"]["subset_cases"] > 1, some
    assert judged("--judge", "7")[1] == drawn
    bad("argument --judge: 0: allowed: ", "crash", *DEVICE, "--work", "log", "--judge", "0")


def test_results_do_not_depend_on_the_machine():
    seen = []
    for jobs, folder in (("1", "a"), ("3", "b")):
        crash("--jobs", jobs, "--second", "0", fault="no-sum", folder=folder,
              check='test "$(wc -l <"$FLASHEMU_MARKS")" != 1')
        result = json.loads(read(f"{folder}/results.json"))
        seen.append((result["recording"], result["numbers"],
                     [(b["id"], b["hash"], b["code"]) for b in result["broken"]]))
    assert seen[0] == seen[1]


def test_a_recording_is_kept_under_its_name():
    code, out, _ = lab("crash", *DEVICE, "--run", program("work", "no-sum"), "--check",
                       program("check", "no-sum"), "--second", "0")
    assert code == 1
    name, = os.listdir("store/crash")
    assert f"--state {name}:" in out, out
    assert lab("crash", "--state", out.split("--state ")[1].split()[0])[0] == 1


def test_what_cannot_be_read_is_an_error_for_the_check():
    sys.path.insert(0, os.path.dirname(LAB))
    from flashemu_lab.crash import checks
    from flashemu_lab.runs.program import Tool
    write("image", "x" * 65536)
    reads = (f"{sys.executable} -c 'import nbd, os, sys; h = nbd.NBD(); "
             "h.connect_uri(os.environ[\"FLASHEMU_URI\"]); h.pread(512, %d)' 2>/dev/null")
    for offset, code in ((0, 0), (3584, 0), (4096, 1), (5632, 1), (8192, 0), (65024, 0)):
        check = checks.Check(reads % offset, Tool(), 60)
        got = check.run(Path(os.getcwd()), Path("image").absolute(), [], ((4608, 1536),))
        assert got.code == code, (offset, got)


def test_a_check_that_cannot_tell():
    check = program("check") + "; test $? = 0 && exit 125 || exit 125"
    bad("cannot tell whether the state without a power cut keeps what was promised (ended with exit code "
        "125); it must say 0 there", "crash", *DEVICE, "--run", program("work"), "--check", check,
        "-o", "out")
    # It can tell without a cut only.
    check = 'test "$(wc -l <"$FLASHEMU_MARKS")" = 2 || exit 125'
    code, out, err = crash("--second", "0", "--json", check=check)
    assert code == 0 and json.loads(out)["unknown"] > 3, (code, out, err)


def test_what_was_recorded_elsewhere():
    """A trace gives the states of its recording, and so does a log of dm-log-writes, but for its order."""
    words, check = ("crash", *DEVICE, "--second", "0"), ("--check", program("check", "no-sum"))
    assert crash("--second", "0", fault="no-sum")[0] == 1
    want = json.loads(read("out/results.json"))
    code, out, err = lab(*words, "--trace", "out/trace", *check, "-o", "again")
    got = json.loads(read("again/results.json"))
    assert (code, err) == (1, ""), out
    for name in ("instants", "states", "cases", "requests", "marks"):
        assert got["numbers"][name] == want["numbers"][name] > 0, name
    assert [(b["request"], b["hash"], b["reason"]) for b in got["broken"]] == [
        (b["request"], b["hash"], b["reason"]) for b in want["broken"]]
    subprocess.run([FLASHEMU, "trace", "out/trace", "--lossy", "--to", "dm-log-writes", "-o", "log"], check=True)
    code, out, err = lab(*words, "--trace", "log", *check, "-o", "log.d")
    assert (code, err) == (1, ""), out
    got = json.loads(read("log.d/results.json"))
    assert got["numbers"]["marks"] == want["numbers"]["marks"] and got["kept"] > 0
    first = got["broken"][0]["id"]
    assert lab("crash", "--state", first, "-o", "log.d")[:2] == (
        1, f"{first}: broken, {got['broken'][0]['reason']}\n")
    code, out, err = lab("crash", "--state", first, "-o", "log.d", "--check", "/no/program")
    assert (code, out) == (2, "") and err.endswith("--check /no/program: is no program that can be executed\n")
    marks = [line.split(" mark ")[1] for line in read("log.d/trace").splitlines() if " mark " in line]
    assert len(marks) == 2
    few = good_json(*words, "--trace", "log", "--check", 'test "$(wc -l <"$FLASHEMU_MARKS")" = 2',
                    "-o", "few", "--behind", marks[-1])
    assert 0 < few["numbers"]["instants"] < got["numbers"]["instants"]
    for told, *more in (
            (f"--behind {marks[0]}x: there is no such mark; did you mean {marks[0]}?", "log", "--behind", marks[0] + "x"),
            ("--run and --trace are two works", "log", "--run", "true"),
            ("/log: needs --behind MARK, a mark behind which the device", "log", "--fs", "ext4"),
            ("none.trace: No such file or directory\n", "none.trace"),
            ("the trace does not say what was written", "bare.trace"),
            ("/far.trace: offset 1073741824 + length 4096 is behind the capacity 16777216\n", "far.trace"),
            ("--bisect needs a judge", "log", "--bisect"),
            ("has written nothing", "reads.trace", *check)):
        write("bare.trace", "# flashemu trace 1\n0 write 0 4096\n")
        write("far.trace", "# flashemu trace 1\n0 read 1G 4096\n".replace("1G", str(1 << 30)))
        write("reads.trace", "# flashemu trace 1\n0 read 0 4096\n")
        code, _, err = lab("crash", *DEVICE, "-o", "bad", "--trace", *more)
        assert code == (125 if "--bisect" in more else 2) and told in err and err.count("\n") == 1, (told, err)


def writes(*lines):
    """A program that does this with the device h."""
    write("writes.py", "\n".join(["import nbd, os, subprocess", "h = nbd.NBD()",
                                  "h.connect_uri(os.environ['FLASHEMU_URI'])", *lines]) + "\n")
    return f"{sys.executable} {os.path.abspath('writes.py')}"


def test_any_folder_for_what_is_temporary():
    """A work gets a URI, in which not all letters of a path stand for themselves."""
    run_ = writes("h.pwrite(bytes(4096), 0)", "h.flush()")
    folder = os.path.abspath("a,b c'd#e%41f?g&h=\u00fc")
    os.makedirs(folder, exist_ok=True)
    good("crash", *DEVICE, "--run", run_, "--check", "true", "--second", "0", "-o", "out",
         env={"TMPDIR": folder})
    assert os.listdir(folder) == []


def test_a_work_that_never_flushes():
    run_ = writes("for i in range(20): h.pwrite(bytes([i + 1]) * 4096, i * 4096)")
    words = ("crash", *DEVICE, "--run", run_, "--check", "true", "--second", "0", "-o", "out")
    told = "The work never flushed and wrote nothing with FUA, so the device owes it nothing."
    assert told in good(*words).splitlines()
    writes("h.pwrite(bytes(4096), 0)", "h.flush()")
    assert told not in good(*words).splitlines()
    writes("h.pwrite(bytes(4096), 0, nbd.CMD_FLAG_FUA)")
    assert told not in good(*words).splitlines()


def test_nothing_is_judged():
    """2, and 125 for `git bisect`, which must not take it for an answer."""
    dead = ("no state is left to judge", *DEVICE, "faults.power_cut=dead:100%", "--work", "log",
            "--second", "0", "--cuts", "12")
    none = ("--bisect needs a judge: --check CMD", *DEVICE, "--run", program("work"))
    never = ("the check could judge no state", *DEVICE, "--work", "log", "--cuts", "9", "--second",
             "0", "--jobs", "1", "--check", "test ! -e asked || exit 125; touch asked")
    for told, *words in (dead, none, never):
        code, _, err = lab("crash", *words, "-o", "out", "--bisect")
        assert code == 125 and err.splitlines() == ["flashemu-lab: " + told], (words, code, err)
    assert lab("crash", *dead[1:], "-o", "out")[0] == 2


def test_a_device_larger_than_memory():
    """32 GB: neither it nor a state of it is ever in memory or on the disk as a whole."""
    run_ = writes("for i in range(3):", "    h.pwrite(b'x' * 4096, i * 10 ** 10 // 4096 * 4096)",
                  "    h.flush()")
    subprocess.run([sys.executable, LAB, "crash", "raspberrypi32g", "device.used=0", "--run", run_, "--check",
                    "true", "--second", "0", "--cuts", "5", "-o", "out"], check=True,
                   env=dict(os.environ, FLASHEMU=FLASHEMU), stdout=subprocess.DEVNULL)
    assert 0 < resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 512 << 10, "KiB of the largest process"
    assert sum(f.stat().st_blocks for f in Path("out").iterdir()) < 4096


def test_the_recipe():
    counter = os.path.join(os.path.dirname(LAB), "../../docs/recipes/counter.py")
    code, out, err = lab("crash", *DEVICE, "--run", f"{sys.executable} {counter} work", "--check",
                         f"{sys.executable} {counter} check", "-o", "out", "--second", "0")
    assert code == 1 and err == "", (code, out, err)
    lines = out.splitlines()
    assert lines[0].startswith("A promise is broken in ") and lines[2].startswith("Again: "), lines
    assert "(flush), in front of the first mark" in lines[1], lines


def test_a_lie_that_misleads_the_work_before_any_cut():
    """The device answers reads with what was there before, and the work writes that further."""
    work_ = writes("h.pwrite(b'a' * 4096, 0)", "h.flush()", "h.pwrite(b'b' * 4096, 0)",
                   "h.pwrite(h.pread(4096, 0), 8192)", "h.flush()",
                   "subprocess.run([os.environ['FLASHEMU'], 'ctl', os.environ['FLASHEMU_CONTROL'],",
                   "                'mark', 'copied'], check=True, stdout=subprocess.DEVNULL)")
    os.rename("writes.py", "copies.py")
    work_ = work_.replace("writes.py", "copies.py")
    check = writes("if os.path.getsize(os.environ['FLASHEMU_MARKS']) and h.pread(1, 8192) != b'b':",
                   "    exit('an old copy')")
    words = ("--run", work_, "--check", check, "--second", "0", "-o", "out", "--junit", "junit.xml")
    assert good("crash", *DEVICE, *words).startswith("No promise is broken in ")
    code, out, err = lab("crash", *DEVICE, "faults.lie=stale-read:64K", *words)
    assert code == 1 and err == "", (code, out, err)
    why = "the check ended with exit code 1: an old copy"
    assert out.startswith(f"A promise is broken without a power cut: {why}. On the same device without its lie "
                          "none is broken: "), out
    assert json.loads(read("out/results.json"))["uncut"] == why
    assert "for which no flush asks" not in out, "the host has asked for nothing wrong"
    case = xml.parse("junit.xml").getroot().find("testcase")
    assert case.get("name") == "without a power cut", case.attrib
    bad("on the state without a power cut, so it would find a fault", "crash", *DEVICE,
        "faults.lie=stale-read:64K", *words[:2], "--check", "exit 7", "-o", "out")


def test_mistakes():
    work, check = ("--run", program("work")), ("--check", program("check"))
    bad("on the state without a power cut, so it would find a fault where there is none", "crash",
        *DEVICE, *work, "--check", "exit 7", "-o", "out")
    bad("--check /no/such/program: is no program", "crash", *DEVICE, *work, "--check",
        "/no/such/program", "-o", "out")
    bad("--check 'kill -9 $$': was ended by SIGKILL on the state without", "crash", *DEVICE, *work, "--check",
        "kill -9 $$", "-o", "out")
    bad("--check 'sleep 60': took more than 0.3 s on the state without a power cut; --timeout allows more",
        "crash", *DEVICE, *work, "--check", "sleep 60", "-o", "out", "--timeout", "0.3")
    bad("was ended after 1 s", "crash", *DEVICE, "--run", "sleep 60", *check, "-o", "out",
        "--timeout", "0.1")
    bad("ended with exit code 3, so nobody knows", "crash", *DEVICE, "--run", "exit 3", *check,
        "-o", "out")
    bad("--run 'kill -9 $$': was ended by SIGKILL, so nobody knows", "crash", *DEVICE, "--run", "kill -9 $$",
        *check, "-o", "out")
    bad("has written nothing", "crash", *DEVICE, "--run", "true", *check, "-o", "out")
    bad("a recording needs one device at least", "crash", *work)
    bad("ssd-page.ini: another device has this name", "crash", "ssd-page", "/tmp/ssd-page.ini", *work)
    bad("a device is named twice", "crash", "ssd-page", "ssd-page", *work)
    bad("--work nosuch: allowed: log, log-unsummed, updater, ", "crash", *DEVICE, "--work", "nosuch")
    code, out, err = lab("crash", "ssd-page", "size=1K", "--work", "log")
    assert code == 2 and err.count("\n") == 2 and "the device has 1024 bytes\n" in err, err
    bad("--run and --work are two works", "crash", *DEVICE, *work, "--work", "log")
    bad("no profile of that name", "crash", "nosuch", *work, "-o", "out")
    bad("--check needs --run", "crash", "ssd-page", *check)
    bad("--within is for some cuts under a filesystem", "crash", *DEVICE, *work, "--within", "9")
    bad("work.json: No such file", "crash", "--state", "x:1:end", "-o", "nowhere")
    bad("size=16M: given twice, allowed once", "crash", *DEVICE, *work, "--size", "16M")
    bad("argument --fs: is empty", "crash", "ideal", "--fs", "")
    write("mine", "int main;\n")
    bad("mine: is there, and is not what flashemu-lab has made", "crash", *DEVICE, *work, *check, "--junit",
        "mine")
    bad(".: Is a directory", "crash", *DEVICE, *work, *check, "--junit", ".")
    assert read("mine") == "int main;\n"
    assert lab("crash", *DEVICE, *work, "--check", "exit 7", "-o", "out", "--bisect")[0] == 125
    assert lab("crash", "--bisect", "--no-such-option")[0] == 125
    assert lab("crash", *DEVICE, *work, *check, "-o", "out", "--bisect", "--second", "0")[0] == 0


def refused(*words):
    """What the parser says, without a process of its own."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            build_parser().parse_args(("crash", *words))
        except SystemExit as e:
            assert e.code == 2, words
            return said.getvalue()
    raise AssertionError(f"{words}: nobody has refused it")


def test_options_that_are_empty_or_twice():
    for option in ("run", "check", "work", "fs", "filesystem", "workload", "state", "size"):
        bad(f"argument --{option}: is empty", "crash", f"--{option}", " ")
        assert f"argument --{option}: given twice" in refused(f"--{option}", "a", f"--{option}", "b"), option
    for seconds in ("0", "-1", "nan", "inf", "x", "\uff11\uff10", "1_0"):
        assert f"argument --timeout: {seconds}: allowed: seconds, more than 0" in refused(
            f"--timeout={seconds}"), seconds
    for option in ("judge", "cuts"):
        assert f"argument --{option}: 0: allowed: a number of at least 1, or all" in refused(
            f"--{option}=0"), option
    for option, value in (("second", "-1"), ("subsets", "x"), ("jobs", "0")):
        assert f"argument --{option}: {value}: allowed: " in refused(f"--{option}={value}"), option


def test_a_check_that_hangs_on_what_it_does_not_understand():
    check = 'test -s "$FLASHEMU_MARKS" || sleep 12345.5'
    code, out, err = crash("--second", "0", "--timeout", "2", "--cuts", "4", check=check)
    assert code == 1 and "the check took more than 2 s" in out, (code, out, err)
    assert not alive("12345.5")


def test_a_folder_that_cannot_be_written():
    code, _, err = lab("crash", *DEVICE, "--run", program("work"), "--check", program("check"), "-o",
                       "/proc/nothing")
    assert code == 2 and err.count("\n") == 1 and "/proc/nothing" in err, (code, err)


def small_disk(size, where, *words):
    """`crash` with a folder of a disk of this size: the output, or where TMPDIR is."""
    os.makedirs("disk", exist_ok=True)
    place = "-o disk/out" if where == "out" else "-o out"
    tmp = "" if where == "out" else "TMPDIR=$PWD/disk "
    p = subprocess.run(["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o size={size} tmpfs disk && "
                        f'{tmp}exec "$@" {place}', "-", sys.executable, LAB, "crash", *DEVICE, "--store",
                        "store", "--second", "0", *words], encoding="utf-8", check=False,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, FLASHEMU=FLASHEMU))
    return p.returncode, p.stderr.splitlines()


def test_full_disks():
    """While the work is recorded, while states and their images are made, while a check writes, and
    while the failing state is written: one line, and never a verdict that the disk has decided."""
    if subprocess.run(["unshare", "-rm", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        return
    head = "import nbd, os, subprocess\nh = nbd.NBD()\nh.connect_uri(os.environ['FLASHEMU_URI'])\n"
    write("put.py", head + "for i in range(22):\n    h.pwrite(os.urandom(4096), i * 4096)\n"
          "    if i < 20: continue\n    h.flush()\n    subprocess.run([os.environ['FLASHEMU'], 'ctl', "
          "os.environ['FLASHEMU_CONTROL'], 'mark', 'x'], check=True, stdout=subprocess.DEVNULL)\n")
    write("fill.py", head + "for i in range(16): h.pwrite(os.urandom(1 << 20), i << 20)\n")
    one = 'test "$(wc -l <"$FLASHEMU_MARKS")" != 1'
    for size, where, check, told in (
            ("32k", "out", one, "trace-data=.*: requests are missing at the end of the recording"),
            ("144k", "out", one, "disk/out/broken.img: .*"),
            ("4k", "tmp", one, "/.*/states.*"),
            ("24k", "tmp", one, "/.*/image: .*"),
            ("8m", "tmp", f"{sys.executable} {os.path.abspath('fill.py')}", "nbdkit: file.*: error: pwrite: .*")):
        code, err = small_disk(size, where, "--run", f"{sys.executable} {os.path.abspath('put.py')}",
                               "--check", check, "--cuts", "all" if where == "out" else "12")
        err = [line for line in err if line.startswith("flashemu-lab: ")]  # and not those of put.py
        assert code == 2 and len(err) == 1 and re.fullmatch(f"flashemu-lab: {told}", err[0]), (size, err)
        assert "No space left on device" in err[0], err


def test_kill_leaves_nothing_running():
    mark = "54321.5"
    process = subprocess.Popen([sys.executable, LAB, "crash", *DEVICE, "--run", program("work"), "--check",
                                f"exec sleep {mark}", "-o", "out", "--timeout", "99999"],
                               stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               env=dict(os.environ, FLASHEMU=FLASHEMU))
    until(lambda: alive(mark))
    process.kill()
    process.wait()
    until(lambda: not alive(mark))


def test_kill_ends_the_search_for_states():
    """The program that looks for them has the seed on its command line, and would go on for minutes."""
    work_ = writes("for i in range(4000): h.pwrite(bytes([i % 250 + 1]) * 4096, i % 3000 * 4096)")
    words = [sys.executable, LAB, "crash", *DEVICE, "--run", work_, "--seed", "918273645", "-o", "long"]
    for way in (signal.SIGKILL, signal.SIGINT):
        process = subprocess.Popen(words, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   env=dict(os.environ, FLASHEMU=FLASHEMU))
        until(lambda: any("cuts" in command_of(pid) for pid in alive("seed=918273645")))
        process.send_signal(way)
        assert process.wait() == (130 if way == signal.SIGINT else -9), process.returncode
        until(lambda: not alive("seed=918273645"))


def command_of(pid):
    """The words of a process; none if it has ended."""
    try:
        return read(f"/proc/{pid}/cmdline").split("\0")
    except OSError:
        return []


def test_how_far_it_is():
    """Of the search for states as well as of the judging, where standard error is a terminal."""
    work_ = writes("for i in range(60): h.pwrite(bytes([i + 1]) * 4096, i * 4096)", "h.flush()")
    words = [sys.executable, LAB, "crash", *DEVICE, "--run", work_, "--check", "true", "--second", "0", "-o", "out"]
    for quiet in ([], ["-q"]):
        there, here = pty.openpty()
        process = subprocess.Popen([*words, *quiet], stdout=subprocess.DEVNULL, stderr=here,
                                   env=dict(os.environ, FLASHEMU=FLASHEMU))
        os.close(here)
        said = b""
        with contextlib.suppress(OSError):  # of a terminal that nobody has open any more
            while chunk := os.read(there, 4096):
                said += chunk
        os.close(there)
        assert process.wait() == 0, said
        found = re.findall(rb"\rcrash: (\d+ of \d+) (cuts|states), ", said)
        assert not quiet or said == b"", said
        assert quiet or {word for _, word in found} == {b"cuts", b"states"}, said


def test_the_bytes_of_the_states_are_those_of_the_program():
    """Images that the laboratory makes step by step, against those that the program makes alone."""
    write("keep.py", "import os, nbd\nh = nbd.NBD()\nh.connect_uri(os.environ['FLASHEMU_URI'])\n"
          "import hashlib\nwith open('hashes', 'a') as f:\n    print(hashlib.sha256(h.pread(1 << 20, 0)).hexdigest(), file=f)\n"
          "h.pwrite(b'x' * 4096, 0)\n")  # what a check writes must not stay
    code, out, err = crash("--second", "0", "--jobs", "1", fault="no-flush",
                           check=f"{sys.executable} {os.path.abspath('keep.py')}")
    assert code == 0, (out, err)
    hashes = read("hashes").split()[1:]
    work = json.loads(read("out/work.json"))
    subprocess.run([FLASHEMU, "cuts", work["profile"], "out/trace", *work["settings"], "seed=1",
                    "--timed", "--second", "0", "--states", "s"], check=True, stdout=subprocess.DEVNULL)
    states = flashemu_data.states("s")
    assert len(states) == len(hashes) > 6
    for i in range(0, len(states), 5):
        subprocess.run([FLASHEMU, "cuts", work["profile"], "out/trace", *work["settings"], "seed=1",
                        "--timed", "--state", states[i]["id"], "-o", "image"], check=True,
                       stdout=subprocess.DEVNULL)
        with open("image", "rb") as f:
            assert hashlib.sha256(f.read(1 << 20)).hexdigest() == hashes[i], states[i]


run(globals())
