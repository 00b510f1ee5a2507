#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What results say about replays and a kernel: the file of samples, its sentence, and the sentence
beside every result that comes from recordings."""

import json
import os
import shutil
import sys

from flashemu_lab_bench import FLASHEMU, bad, good, good_json, read, write
from flashemu_script import ended, run

from flashemu_lab import recordings, sampled
from flashemu_lab.errors import LabError

HEAD = ("seed,filesystem,recording,sha256,profile,start,phase,kernel_ns,replay_ns,difference\n")
SAMPLES = HEAD + """1,vfat,vfat-log,0123456789ab,transcend8g,63,write,1014000000,1000000000,+1.40%
1,ext4,ext4-log,0123456789ab,luxmini32g,256,write,994000000,1000000000,-0.60%
2,ext4,ext4-log,0123456789ab,luxmini32g,256,write,1001000000,1000000000,+0.10%
"""
EXPERIMENT = """name = "x"
title = "X"
[factors]
run = [%s]
[device]
profile = "transcend8g"
[workload]
requests = "{run}"
[measure.busy]
value = "busy_ns"
"""
LOG = '"rec:%s-log,start=63,measure=write"'
ALL = "Replayed results differ by at most 1.4 % from runs through the kernel (3 samples; here: "
NONE = ("It is not known how far these replayed results are from runs through the kernel: there "
        "are no samples (no sampled.csv next to the recordings).")


def there(text=SAMPLES):
    """An environment with these samples."""
    os.makedirs("mine", exist_ok=True)
    write("mine/sampled.csv", text)
    return {"FLASHEMU_RECORDINGS": os.path.abspath("mine")}


def experiment(*filesystems):
    return write("x.toml", EXPERIMENT % ", ".join(LOG % name for name in filesystems))


def in_one_line(text):
    return " ".join(text.split())


def test_the_sentence_is_beside_every_result():
    env = there()
    for names, here in ((["vfat"], "vfat: 1.4 % in 1 sample)."),
                        (["ext4"], "ext4: 0.6 % in 2 samples)."),
                        (["vfat", "ext4"], "ext4, vfat: 1.4 % in 3 samples)."),
                        (["ext4", "xfs"], "ext4: 0.6 % in 2 samples; no sample of xfs)."),
                        (["xfs", "f2fs"], "no sample of f2fs and xfs).")):
        experiment(*names)
        text = in_one_line(good("run", "x.toml", "-o", "out", env=env))
        assert ALL + here in text, text
        assert text.count("Replayed results") == 1
        assert ALL + here in read("out/index.html")
        out = json.loads(read("out/results.json"))
        assert out["replay"]["sentence"] == ALL + here
        assert out["replay"]["samples"] == 3 and abs(out["replay"]["largest"] - 0.014) < 1e-12
        assert set(out["replay"]["filesystems"]) == set(names)
        assert good_json("run", "x.toml", env=env)["replay"] == out["replay"]
        good("report", "out", "-o", "again.html")  # from what the result says, wherever it is read
        assert read("again.html") == read("out/index.html")
    assert out["replay"]["filesystems"]["xfs"] == {"samples": 0, "largest": None}
    text = good("sweep", "transcend8g,luxmini32g", "rec:vfat-log,measure=write", env=env)
    assert ALL + "vfat: 1.4 % in 1 sample)." in in_one_line(text)


def test_warm_up_from_a_recording_counts():
    env = there()
    write("x.toml", EXPERIMENT.replace("[measure.busy]", 'warmup = "rec:vfat-log"\n[measure.busy]')
          % '"gen:random,op=write,count=10"')
    assert ALL + "vfat: " in in_one_line(good("run", "x.toml", env=env))


def test_a_result_without_recordings_says_nothing():
    env = there()
    write("x.toml", EXPERIMENT % '"gen:random,op=write,count=10"')
    assert "eplayed results" not in good("run", "x.toml", "-o", "out", env=env)
    assert "eplayed results" not in read("out/index.html")
    assert json.loads(read("out/results.json"))["replay"] is None


def test_advice_says_it():
    env = there()
    words = ("advise", "kingston512m", "--workload", "log")
    out = in_one_line(good(*words, "-o", "out", env=env))
    assert out.count(ALL) == 1 and "ext4" in out.split(ALL)[1]
    assert ALL in read("out/filesystems/index.html") and ALL not in read("out/index.html")
    o = good_json(*words, env=env)
    assert o["replay"] is None and o["filesystems"]["replay"]["sentence"].startswith(ALL)


def copied():
    """A copy of the lab, without the samples."""
    here = recordings.shipped_folder().parent
    os.makedirs("lab", exist_ok=True)
    for name in ("flashemu_lab", "recordings", "flashemu-lab"):
        if (here / name).is_dir():
            shutil.copytree(here / name, "lab/" + name)
        else:
            shutil.copy(here / name, "lab/" + name)
    os.remove("lab/recordings/sampled.csv")


def test_without_a_file_it_says_so():
    copied()
    experiment("vfat")
    os.environ["XDG_DATA_HOME"] = os.getcwd()
    command = [sys.executable, "lab/flashemu-lab", "run", "x.toml", "--store", "store"]
    code, out, err = ended(command)
    assert code == 0 and NONE in in_one_line(out), (out, err)
    assert NONE in in_one_line(good("run", "x.toml", env=there(HEAD)))


def test_damaged_files():
    experiment("vfat")
    for old, new, message in (
            ("seed,", "sead,", "mine/sampled.csv:1: expected seed,filesystem,recording,"),
            ("+1.40%", "+1.30%", "mine/sampled.csv:2: '1,vfat,vfat-log"),
            ("1001000000", "x", "mine/sampled.csv:4: '2,ext4,"),
            (",-0.60%", "", "mine/sampled.csv:3: "),
            ("994000000,1000000000", "994000000,0", "mine/sampled.csv:3: ")):
        assert old in SAMPLES
        bad(message, "run", "x.toml", env=there(SAMPLES.replace(old, new)))
    with open("mine/sampled.csv", "wb") as f:
        f.write(b"\xff\xfe")
    bad("mine/sampled.csv: is damaged", "run", "x.toml",
        env={"FLASHEMU_RECORDINGS": os.path.abspath("mine")})


def test_a_file_reads_back():
    samples = sampled.parse(SAMPLES, "x")
    assert sampled.to_csv(samples) == SAMPLES
    assert [round(s.difference, 9) for s in samples] == [0.014, -0.006, 0.001]
    try:
        sampled.parse("", "x")
    except LabError as e:
        assert str(e).startswith("x:1: expected seed,")
    else:
        raise AssertionError("no error")


def test_the_shipped_samples_are_of_the_shipped_recordings():
    folder = recordings.shipped_folder()
    samples = sampled.parse(read(folder / sampled.NAME), sampled.NAME)
    assert len(samples) >= 16 and len({s.seed for s in samples}) >= 2
    os.environ["XDG_DATA_HOME"] = os.getcwd()
    shipped = [recordings.load(name) for name in recordings.names()]
    assert {s.filesystem for s in samples} == {r.filesystem for r in shipped}
    by_name = {r.name: r for r in shipped}
    for s in samples:
        r = by_name[s.recording]
        assert (r.filesystem, r.sha256[:12]) == (s.filesystem, s.sha256), s.recording
        operand = "rec:%s,start=%d,measure=%s" % (s.recording, s.start, s.phase)
        code, out, err = ended([FLASHEMU, "replay", "--json", s.profile, operand])
        assert code == 0 and json.loads(out)["busy_ns"] == s.replay_ns, (s, out, err)


run(globals())
