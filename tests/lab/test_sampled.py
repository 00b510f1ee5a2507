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

from flashemu_lab.experiment import replay_accuracy
from flashemu_lab.recording import recordings
from flashemu_lab.core.errors import LabError

HEAD = ("seed,filesystem,recording,sha256,limit,profile,start,phase,quick_ns,kernel_ns,pace,"
        "replay_ns,difference\n")
SAMPLES = HEAD + """\
1,vfat,vfat-log,0123456789ab,122880,transcend8g,63,write,990000000,1014000000,9.5,1000000000,+1.40%
1,ext4,ext4-log,0123456789ab,122880,luxmini32g,256,write,1000000000,994000000,9.5,1000000000,-0.60%
2,ext4,ext4-log,0123456789ab,122880,luxmini32g,256,write,1000000000,1001000000,0,1000000000,+0.10%
2,ext4,ext4-log,0123456789ab,65536,rundisk1g,256,write,1000000000,1002000000,0,1000000000,+0.20%
2,ext4,ext4-log,0123456789ab,524288,intenso4g,256,write,1000000000,1050000000,0,1000000000,+5.00%
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
END = " Of all 5 samples, ext4-log on intenso4g differs most, by 5.0 %."
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


def told(of, by, samples, lengths="120 KiB", more="."):
    """The first sentence, and what follows it."""
    return (f"Replays{of} differ by {by} from runs through the kernel at the same pace, in {samples} "
            f"with requests up to {lengths}, as here{more}")


def test_the_sentence_is_beside_every_result():
    env = there()
    for names, here in (
            (["vfat"], told(" of FAT32", "1.4 %", "1 sample")),
            (["ext4"], told(" of ext4", "at most 0.6 %", "2 samples")),
            (["vfat", "ext4"], told(" of ext4 and FAT32", "at most 1.4 %", "3 samples",
                                    more=" (ext4 0.6 % in 2, FAT32 1.4 % in 1).")),
            (["ext4", "xfs"], told(" of ext4", "at most 0.6 %", "2 samples",
                                   more=". There is no such sample of XFS.")),
            (["xfs", "f2fs"], told("", "at most 1.4 %", "3 samples",
                                   more=". There is no such sample of F2FS or XFS."))):
        experiment(*names)
        text = in_one_line(good("run", "x.toml", "-o", "out", env=env))
        assert here + END in text, text
        assert text.count("Replays") == 1
        assert here + END in read("out/index.html")
        out = json.loads(read("out/results.json"))
        assert out["replay"]["sentence"] == here + END
        assert out["replay"]["samples"] == 5 and abs(out["replay"]["largest"] - 0.05) < 1e-12
        like = out["replay"]["like"]
        assert like["samples"] == 3 and abs(like["largest"] - 0.014) < 1e-12
        assert set(out["replay"]["filesystems"]) == set(names)
        assert good_json("run", "x.toml", env=env)["replay"] == out["replay"]
        good("report", "out", "-o", "again.html")  # from what the result says, wherever it is read
        assert read("again.html") == read("out/index.html")
    assert out["replay"]["filesystems"]["xfs"] == {"samples": 0, "largest": None}
    text = good("sweep", "transcend8g,luxmini32g", "rec:vfat-log,measure=write", env=env)
    assert told(" of FAT32", "1.4 %", "1 sample") + END in in_one_line(text)


def test_the_samples_of_like_devices_count():
    """Those whose kernel sends requests as long."""
    env = there()
    for profiles, words in (
            ("rundisk1g", ("0.2 %", "1 sample", "64 KiB")),
            ("intenso4g", ("5.0 %", "1 sample", "512 KiB")),
            ("transcend8g,rundisk1g", ("at most 0.6 %", "3 samples", "64 KiB and 120 KiB"))):
        text = in_one_line(good("sweep", profiles, "rec:ext4-log,measure=write", env=env))
        assert told(" of ext4", *words) + END in text, text
        assert "there is no recording of that" not in text
    few = there("".join(line for line in SAMPLES.splitlines(True) if ",524288," not in line))
    text = in_one_line(good("sweep", "intenso4g", "rec:ext4-log,measure=write", env=few))
    assert ("Replays differ by at most 1.4 % from runs through the kernel at the same pace, in 4 "
            "samples, none with requests up to 512 KiB, as here. There is no such sample of ext4. Of all "
            "4 samples, vfat-log on transcend8g differs most, by 1.4 %.") in text, text
    text = in_one_line(good("sweep", "transcend8g", "rec:ext4-log,measure=write",
                            "link.max_transfer=1M,120K", env=env))
    assert ("A kernel would send requests up to 1024 KiB to some of these devices; there is no "
            "recording of that, so the nearest one was taken.") in text


def test_what_the_host_thinks_is_told_where_it_matters():
    """Of a recording with think times, on a device that writes behind; a few runs tell it."""
    env = there()
    words = "The host of these replays takes no time. With one that thinks as long as the recorded"
    operand = "rec:exfat-small,start=8192,measure=write"
    o = good_json("sweep", "silicongo-emmc8g", operand, env=env)
    times = []
    for pace in ("", ",pace=1"):
        code, out, err = ended([FLASHEMU, "replay", "--json", "silicongo-emmc8g", operand + pace])
        assert code == 0, err
        times.append(json.loads(out)["busy_ns"])
    share = times[1] / times[0] - 1
    assert share > 0.1 and o["replay"]["thinking"] == {"runs": 1, "largest": share}
    assert (f"{words} one, an emulated one, the device takes up to {100 * share:.1f} % longer "
            "(tried with 1 of the runs).") in o["replay"]["sentence"]
    # A stick that does nothing while it waits, and runs that have a pace already.
    o = good_json("sweep", "transcend-usd14", operand, env=env)
    assert o["replay"]["thinking"] == {"runs": 1, "largest": 0.0}
    assert words not in o["replay"]["sentence"]
    o = good_json("sweep", "silicongo-emmc8g", operand + ",pace=1", env=env)
    assert "thinking" not in o["replay"] and words not in o["replay"]["sentence"]
    write("x.toml", EXPERIMENT.replace("transcend8g", "silicongo-emmc8g") % ", ".join(
        f'"{operand.replace("8192", str(8192 + 256 * n))}"' for n in range(20)))
    assert good_json("run", "x.toml", env=env)["replay"]["thinking"]["runs"] == 5


def test_warm_up_from_a_recording_counts():
    env = there()
    write("x.toml", EXPERIMENT.replace("[measure.busy]", 'warmup = "rec:vfat-log"\n[measure.busy]')
          % '"gen:random,op=write,count=10"')
    assert told(" of FAT32", "1.4 %", "1 sample") in in_one_line(good("run", "x.toml", env=env))


def test_a_result_without_recordings_says_nothing():
    env = there()
    write("x.toml", EXPERIMENT % '"gen:random,op=write,count=10"')
    assert "Replays" not in good("run", "x.toml", "-o", "out", env=env)
    assert "Replays" not in read("out/index.html")
    assert json.loads(read("out/results.json"))["replay"] is None


def test_advice_says_it():
    env = there()
    words = ("advise", "kingston512m", "--workload", "log")
    here = told(" of ext4", "0.2 %", "1 sample", "64 KiB")
    out = in_one_line(good(*words, "-o", "out", env=env))
    assert out.count(here) == 1, out
    assert here in read("out/filesystems/index.html") and here not in read("out/index.html")
    o = good_json(*words, env=env)
    assert o["replay"] is None and o["filesystems"]["replay"]["sentence"].startswith(here)


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
            ("write,990000000", "write,0", "mine/sampled.csv:2: "),
            ("994000000,9.5,1000000000", "994000000,9.5,0", "mine/sampled.csv:3: ")):
        assert old in SAMPLES
        bad(message, "run", "x.toml", env=there(SAMPLES.replace(old, new)))
    with open("mine/sampled.csv", "wb") as f:
        f.write(b"\xff\xfe")
    bad("mine/sampled.csv: is damaged", "run", "x.toml",
        env={"FLASHEMU_RECORDINGS": os.path.abspath("mine")})


def test_the_worst_sample_is_named():
    """With its reason, where that is known."""
    worst = SAMPLES + ("3,f2fs,f2fs-large,0123456789ab,524288,CARD,256,write,1000000000,"
                       "2809900000,0,1000000000,+180.99%\n")
    experiment("vfat")
    for card, why in (("sandisk-sd4gb", "f2fs-large on sandisk-sd4gb differs most, by 181.0 %: in four "
                       "of ten runs the kernel's requests made this card copy whole units again and "
                       "again, and in the others the replay was exact."),
                      ("intenso4g", "f2fs-large on intenso4g differs most, by 181.0 %.")):
        text = in_one_line(good("run", "x.toml", "-o", "out", env=there(worst.replace("CARD", card))))
        assert "Of all 6 samples, " + why in text, text
        assert why in read("out/index.html").replace("&#x27;", "'"), card
    # A kernel that is quicker differs as well.
    quick = SAMPLES + ("3,xfs,xfs-log,0123456789ab,65536,lexar8g,256,write,1000000000,900000000,0,"
                       "1000000000,-10.00%\n")
    text = in_one_line(good("run", "x.toml", env=there(quick)))
    assert "Of all 6 samples, xfs-log on lexar8g differs most, by 10.0 %." in text, text


def test_what_differences_count_for_a_filesystem():
    """Its samples with requests as long; or those with others; or all samples.  What is no filesystem
    counts as the worst of them does."""
    worst = SAMPLES + ("3,f2fs,f2fs-log,0123456789ab,65536,lexar8g,256,write,1000000000,1300000000,"
                       "0,1000000000,+30.00%\n")
    experiment("vfat", "ext4", "f2fs", "xfs")
    replay = good_json("run", "x.toml", env=there(worst))["replay"]
    found = {name: round(replay_accuracy.off(replay, name), 9)
             for name in ("vfat", "ext4", "f2fs", "xfs", "none")}
    assert found == {"vfat": .014, "ext4": .006, "f2fs": .3, "xfs": .014, "none": .3}, found
    few = "".join(line for line in worst.splitlines(True) if ",122880," not in line)
    replay = good_json("run", "x.toml", env=there(few))["replay"]
    found = {name: round(replay_accuracy.off(replay, name), 9) for name in ("ext4", "f2fs", "xfs")}
    assert found == {"ext4": .05, "f2fs": .3, "xfs": .3}, found
    replay = good_json("run", "x.toml", env=there(HEAD))["replay"]
    assert replay_accuracy.off(replay, "vfat") == 0 == replay_accuracy.off(None, "vfat")
    assert [replay_accuracy.in_percent(x) for x in (.014, .20221, .0341)] == [
        "1.4 %", "20.3 %", "3.5 %"]


def test_damaged_results():
    """What a choice reads of `replay`."""
    experiment("vfat")
    good("run", "x.toml", "-o", "out", env=there())
    whole = json.loads(read("out/results.json"))
    for path, value, message in (
            (("like",), None, "replay.like: null; allowed: an object"),
            (("like", "largest"), "x", 'replay.like.largest: "x"; allowed: a number'),
            (("filesystems",), [], "replay.filesystems: []; allowed: an object"),
            (("filesystems", "vfat", "samples"), 0.5, "replay.filesystems.vfat.samples: 0.5"),
            (("any", "vfat"), 7, "replay.any.vfat: 7; allowed: an object"),
            (("largest",), -2.0, "replay: -2.0; allowed: differences of at least 0")):
        broken = json.loads(json.dumps(whole))
        place = broken["replay"]
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value
        write("out/results.json", json.dumps(broken))
        bad("out/results.json: " + message, "report", "out", "-o", "page.html")
    del whole["replay"]["any"]  # as older versions have written it
    write("out/results.json", json.dumps(whole))
    good("report", "out", "-o", "page.html")


def test_a_file_reads_back():
    samples = replay_accuracy.parse(SAMPLES, "x")
    assert replay_accuracy.to_csv(samples) == SAMPLES
    assert [round(s.difference, 9) for s in samples] == [0.014, -0.006, 0.001, 0.002, 0.05]
    try:
        replay_accuracy.parse("", "x")
    except LabError as e:
        assert str(e).startswith("x:1: expected seed,")
    else:
        raise AssertionError("no error")


def test_the_shipped_samples_are_of_the_shipped_recordings():
    folder = recordings.shipped_folder()
    samples = replay_accuracy.parse(read(folder / replay_accuracy.NAME), replay_accuracy.NAME)
    assert len(samples) >= 16 and len({s.seed for s in samples}) >= 2
    os.environ["XDG_DATA_HOME"] = os.getcwd()
    shipped = [recordings.load(name) for name in recordings.names()]
    assert {s.filesystem for s in samples} == {r.filesystem for r in shipped}
    assert {s.limit for s in samples} == {64 << 10, 120 << 10, 512 << 10}
    for s in samples:
        r = recordings.load(s.recording, s.limit)
        assert (r.filesystem, r.sha256[:12], r.limit) == (s.filesystem, s.sha256, s.limit), s
        operand = "rec:%s,start=%d,measure=%s" % (s.recording, s.start, s.phase)
        for pace, want in ((s.pace, s.replay_ns), ("0", s.quick_ns)):
            code, out, err = ended([FLASHEMU, "replay", "--json", s.profile,
                                    operand + ",pace=" + pace])
            assert code == 0 and json.loads(out)["busy_ns"] == want, (s, out, err)


run(globals())
