#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab crash without a virtual machine: a script plays the guest.

The servers are real.  tests/vm/test_crash.sh has the whole with a kernel.
"""

import json
import os
import re
import signal
import subprocess
import sys

from flashemu_lab_bench import (FLASHEMU, LAB, bad, children_of, good, good_json, lab, read,
                                stored, until, write)
from flashemu_script import need, run, skip

# Plays tools/vm/run: for each cut it does what the file `plays` says, by default a good result,
# and ends the server as the guest does.
GUEST = """#!/usr/bin/python3
import json, os, socket, sys, time
words = sys.argv[1:]
ctl = words[words.index("--forward-unix") + 1].rsplit(":", 1)[0]
port = int([w for w in words if w.startswith("NBD_PORT=")][0].split("=")[1])
cuts = words[[i for i, w in enumerate(words) if w.endswith("crash.sh")][0] + 1:]
plays = json.load(open("plays")) if os.path.exists("plays") else {}
def ask(line):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(ctl)
        s.sendall(json.dumps(line).encode() + b"\\n")
        return json.loads(s.makefile().readline())
last = None
for cut in cuts:
    name, fs, work, writes = cut.split("|")
    while True:
        try:
            pid = open(os.path.dirname(ctl) + "/pid").read()
            if pid.endswith("\\n") and pid != last:
                seen = ask({"cmd": "stats"})
                break
        except OSError:
            pass
        time.sleep(0.01)
    last = pid
    with open("log", "a") as log:
        print(name, writes, seen["profile"], file=log)
    play = plays.get(name, "good")
    print("begin", name, flush=True)
    if play == "die":
        print("Oops: a page fault", flush=True)
        sys.exit(125)
    if play in ("panic", "panic once"):
        if play == "panic once":
            json.dump({**plays, name: "good"}, open("plays", "w"))
        print("vm/run: the machine died: Kernel panic - not syncing: no", flush=True)
        sys.exit(125)
    if play == "wait":
        time.sleep(1000)
    if play == "fail":
        print("failed", name, "mkfs: no room", flush=True)
    else:
        lost = 2 if play == "lost" else 0
        print("something that nobody asked for")
        print("result", name, "synced=5 lost=%d wrong=0 unsynced=4 whole=1 part=2 gone=1 bad=0 "
              "recover_ns=1000000 mount_ns=2000000 mounted=yes fsck=clean" % lost, flush=True)
    time.sleep(0.1)  # the host looks for the server before it ends
    ask({"cmd": "quit"})
    print("end", name, flush=True)
"""


# Plays tools/vm/prepare, with the engine that the file `engine` names.
PREPARE = """#!/bin/sh
case $1 in --engine) cat %s/engine ;; *) echo %s/vm ;; esac
"""


def env():
    """A folder with the script that plays the machine, and programs that are only looked for."""
    os.makedirs("scripts", exist_ok=True)
    os.makedirs("bin", exist_ok=True)
    os.makedirs("vm", exist_ok=True)
    for path, text in (("scripts/run", GUEST), ("scripts/prepare", PREPARE % (2 * (os.getcwd(),))),
                       ("vm/vmlinux", "6.1"), ("vm/linux.uml", "6.2"), ("vm/uml.lacks", "exfat\n"),
                       ("engine", "tcg and why\n"),
                       ("scripts/crash.sh", "# the script\n"),
                       ("bin/qemu-system-x86_64", "#!/bin/sh\n")):
        write(path, text)
        os.chmod(path, 0o755)
    return {"FLASHEMU_SCRIPTS": os.path.abspath("scripts"),
            "PATH": os.path.abspath("bin") + ":" + os.environ["PATH"]}


def done():
    return [line.split()[0] for line in read("log").splitlines()] if os.path.exists("log") else []


TWO = ("crash", "transcend8g", "--filesystem", "ext4,vfat", "--cuts", "2")
IDS = ["transcend8g:%s:files:1:%d" % (fs, n) for fs in ("ext4", "vfat") for n in (0, 1)]


def test_cuts_and_their_store():
    e = env()
    first = good_json(*TWO, env=e)
    assert done() == IDS == [c["id"] for c in first["cuts"]]
    assert set(stored()) == {c["key"] for c in first["cuts"]} and len(stored()) == 4
    writes = [int(line.split()[1]) for line in read("log").splitlines()]
    assert writes == [c["writes"] for c in first["cuts"]] and len(set(writes)) == 4
    assert all(1 <= w <= 300 for w in writes)
    assert good_json(*TWO, env=e) == first and done() == IDS, "what is stored is not done"
    more = good_json(*TWO[:-1], "3", env=e)
    assert len(more["cuts"]) == 6 and len(done()) == 6
    assert [c["writes"] for c in more["cuts"] if c["id"] in IDS] == writes, "the same places"
    assert {c["writes"] for c in good_json(*TWO, "--seed", "2", env=e)["cuts"]} != set(writes)
    groups = {g["filesystem"]: g for g in first["groups"]}
    assert groups["vfat"]["cuts"] == 2 and groups["vfat"]["synced"] == 10
    assert groups["vfat"]["mount_ns"] == [2000000] * 2
    assert first["conclusion"] == [
        "Nothing that fsync had confirmed was lost with ext4 on transcend8g and FAT32 on "
        "transcend8g: 20 files, records and blocks in 4 power cuts.",
        "The slowest mount took 2 ms of the device's time with ext4 on transcend8g (files)."]


def test_the_machine_counts():
    """Another kernel, other programs of the guest, or another script: another cut."""
    e = env()
    keys = [good_json(*TWO, env=e)["cuts"][0]["key"]]
    for path in ("vm/vmlinux", "vm/usr.img", "scripts/crash.sh", "scripts/guest.sh"):
        write(path, "another one")
        keys.append(good_json(*TWO, env=e)["cuts"][0]["key"])
    assert len(set(keys)) == 5 and len(done()) == 5 * len(IDS)


def test_the_engine_counts():
    """The other engine is another kernel; and a kernel that runs nothing matters to no cut."""
    e = env()
    keys = []
    for engine, changed in (("tcg", ""), ("uml", ""), ("tcg", "linux.uml"), ("uml", "vmlinux"),
                            ("uml", "linux.uml")):
        write("engine", engine)
        if changed:
            write("vm/" + changed, "another one")
        keys.append(good_json(*TWO, env=e)["cuts"][0]["key"])
    assert keys[0] == keys[2] != keys[1], "another engine"
    assert keys[3] == keys[4] != keys[1], "linux.uml has changed, and vmlinux means nothing"


def test_what_user_mode_linux_lacks_has_a_machine_of_its_own():
    e = env()
    write("scripts/run", GUEST.replace('last = None', 'with open("boots", "a") as boots:\n    print('
                                       '" ".join(words[:words.index("--forward-unix")][2:]), '
                                       'len(cuts), file=boots)\nlast = None', 1))
    three = (*TWO[:3], "ext4,exfat,vfat", *TWO[4:])
    keys = {}
    for engine in ("tcg", "uml"):
        write("engine", engine)
        cuts = good_json(*three, env=e)["cuts"]
        keys[engine] = [c["key"] for c in cuts]
        assert [c["id"].split(":")[1] for c in cuts] == [
            f for f in ("ext4", "exfat", "vfat") for _ in "ab"]
        assert all(c["status"] == "done" for c in cuts)
    same = [a == b for a, b in zip(keys["tcg"], keys["uml"])]
    assert same == [False, False, True, True, False, False], "exfat has the same kernel with both"
    assert read("boots").splitlines() == ["--needs exfat 6", " 4"], read("boots")


def test_one_cut_again():
    e = env()
    cuts = good_json(*TWO, env=e)["cuts"]
    words = cuts[3]["command"].split()[1:]
    found = good_json(*words, env=e)["cuts"]
    assert done() == [*IDS, IDS[3]] and found == [cuts[3]]
    write("plays", json.dumps({IDS[3]: "lost"}))
    assert good_json(*words, env=e)["cuts"][0]["result"]["lost"] == 2
    again = good_json(*TWO, env=e)
    assert again["cuts"][3]["result"]["lost"] == 2, "the new result replaces the old one"
    assert again["conclusion"][0] == (
        "FAT32 on transcend8g (files) lost 2 of 10 synced files in 2 power cuts, although fsync had "
        "confirmed them.")
    write("plays", json.dumps({IDS[0]: "lost"}))
    broken = good_json("crash", "--cut", IDS[0], "--again", env=e)["conclusion"][0]
    assert broken.endswith("that breaks the promise of fsync."), broken


def test_a_kernel_that_panics():
    """Its cut is tried once more.  The second machine is the last one for it, and not for others."""
    e = env()
    write("plays", json.dumps({IDS[0]: "panic once", IDS[2]: "panic"}))
    code, out, err = lab(*TWO, "--json", env=e)
    assert code == 1 and err == "", err
    assert done() == [IDS[0], *IDS[:3], *IDS[2:]], done()
    assert [c["status"] for c in json.loads(out)["cuts"]] == ["done", "done", "lost", "done"]
    assert json.loads(out)["cuts"][2]["message"].endswith("Kernel panic - not syncing: no")


def test_a_guest_that_dies():
    e = env()
    write("plays", json.dumps({IDS[1]: "die", IDS[2]: "fail"}))
    code, out, err = lab(*TWO, "--json", env=e)
    assert code == 1 and err == "", err
    assert done() == IDS, "the machine boots again for the others"
    assert [c["status"] for c in json.loads(out)["cuts"]] == ["done", "lost", "failed", "done"]
    assert json.loads(out)["cuts"][1]["message"] == (
        "the virtual machine has ended: Oops: a page fault")
    assert len(stored()) == 3, "what is lost is not stored"
    assert json.loads(out)["conclusion"][-1].startswith("2 of 4 cuts have no result. The first")
    os.unlink("plays")
    code, out, err = lab(*TWO, "--json", env=e)
    assert code == 1 and done() == [*IDS, IDS[1]], "a failure is a result"
    good(*TWO, "--again", env=e)


def waits_in_the_third_cut(e):
    """The program in the middle of a cut, and what its machine is called by."""
    write("plays", json.dumps({IDS[2]: "wait"}))
    mark = os.path.abspath("scripts")
    p = subprocess.Popen([sys.executable, LAB, *TWO], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True,
                         env=dict(os.environ, FLASHEMU_LAB_STORE="store", TMPDIR=os.getcwd(), **e))
    until(lambda: IDS[2] in done())
    assert children_of(mark) and children_of(os.getcwd() + "/flashemu-crash.")
    return p, mark


def test_ctrl_c_leaves_nothing_running():
    e = env()
    p, mark = waits_in_the_third_cut(e)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate()
    assert p.returncode == 130 and err == (
        "flashemu-lab: stopped with 2 of 4 cuts done; the same command continues\n"), err
    assert not children_of(mark + "/run") and not children_of(os.getcwd() + "/flashemu-crash.")
    assert not [name for name in os.listdir(".") if name.startswith("flashemu-crash.")]
    os.unlink("plays")
    good(*TWO, env=e)
    assert done() == [*IDS[:3], *IDS[2:]]


def test_kill_leaves_nothing_running():
    p, mark = waits_in_the_third_cut(env())
    p.kill()
    p.communicate()
    until(lambda: not children_of(mark + "/run"))
    until(lambda: not children_of(os.getcwd() + "/flashemu-crash."))


def test_the_page_and_the_table():
    e = env()
    write("plays", json.dumps({IDS[2]: "lost"}))
    text = good(*TWO, "-o", "x", env=e)
    assert text.endswith("\n\nx/index.html\n") and sorted(os.listdir("x")) == [
        "index.html", "results.json"]
    assert re.search(r"^transcend8g +ext4 +files +2 +10 +0 +0 +8 +2 +4 +2 +0", text, re.M), text
    page = read("x/index.html")
    for word in [*IDS, "FAT32 on transcend8g (files) lost 2 of 10 synced files", "--again --cut " + IDS[0], "Mounting again"]:
        assert word in page, word
    assert json.loads(read("x/results.json"))["kind"] == "crash"
    good(*TWO, "-o", "y", env=e)
    assert page == read("y/index.html")
    assert read("x/results.json") == read("y/results.json")


def test_the_page_is_made_again():
    e = env()
    write("plays", json.dumps({IDS[1]: "fail", IDS[2]: "lost"}))
    code, _, _ = lab("crash", "transcend8g", "luxmini32g", *TWO[2:], "-o", "x", env=e)
    assert code == 1
    good("report", "x", "-o", "again.html")
    assert read("again.html") == read("x/index.html") and "luxmini32g" in read("again.html")
    whole = json.loads(read("x/results.json"))

    def refused(message, **members):
        os.makedirs("y", exist_ok=True)
        write("y/results.json", json.dumps({**whole, **members}))
        bad(message, "report", "y", "-o", "no.html")
        assert not os.path.exists("no.html")
    refused("y/results.json: format: 9; allowed: 1", format=9)
    first = whole["cuts"][0]
    for cuts, message in (
            (5, "cuts: 5; allowed: a list"), ([5], "cuts[0]: 5; allowed: an object"),
            ([{}], "cuts[0]: id is missing"),
            ([{**first, "result": {"synced": 1}}],
             "cuts[0].result.lost: null; allowed: a whole number below 10^18"),
            ([{**first, "id": 5}], "cuts[0].id: 5; allowed: a text")):
        refused("y/results.json: " + message, cuts=cuts)
    refused("y/results.json: is not a result of flashemu-lab", kind="else")
    refused("expected PROFILE:FILESYSTEM:WORKLOAD:SEED:NUMBER",
            cuts=[{**whole["cuts"][0], "id": "x"}])


def test_wrong_use():
    e = env()
    bad("a crash needs a device: a profile such as transcend8g", "crash", env=e)
    bad("--fs ext5: allowed: ext4, ", *TWO[:2], "--filesystem", "ext4,ext5", env=e)
    bad("--workload x: allowed: files, log, database", *TWO[:2], "--workload", "x", env=e)
    bad("--size 5: allowed: at least 1M", *TWO[:2], "--size", "5", env=e)
    bad("--cut x: expected PROFILE:FILESYSTEM:WORKLOAD:SEED:NUMBER", "crash", "--cut", "x", env=e)
    bad("transcend8g: --cut names the profile already", *TWO[:2], "--cut", IDS[0], env=e)
    bad("profile=nope: no profile of that name", "crash", "nope", env=e)
    bad("cache.size=x: ", *TWO[:2], "cache.size=x", env=e)
    bad("there is no crash.sh in %s; set FLASHEMU_SCRIPTS" % os.getcwd(), *TWO,
        env=dict(e, FLASHEMU_SCRIPTS=os.getcwd()))
    write("scripts/prepare", "#!/bin/sh\necho 'vm/prepare: no kernel here' >&2\nexit 2\n")
    bad("the virtual machine: vm/prepare: no kernel here", *TWO, env=e)
    assert not done()


need("nbdkit")
if not os.path.exists(os.path.join(os.path.dirname(FLASHEMU), "../plugin/nbdkit-flashemu-plugin.so")):
    skip("no plugin next to the program")
run(globals())
