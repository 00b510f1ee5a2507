#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab crash --fs, without a machine: the disk that becomes one state after the other, what
the checks of FAT say, and mistakes.  tests/vm/test_cuts.sh has the rest."""

import copy
import dataclasses
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
from argparse import Namespace
from pathlib import Path

from flashemu_lab_bench import LAB, bad
from flashemu_script import run

sys.path.insert(0, os.path.dirname(LAB))
SCRIPT = os.path.join(os.path.dirname(LAB), "../vm/cuts.sh")
SIZE = (5 << 20) + 512  # not a whole number of chunks


def test_a_disk_becomes_each_image():
    from flashemu_lab.crash import mounted
    draw = random.Random(3)
    disk = mounted.Disk(Path("disk"), SIZE)
    for turn in range(12):
        with open("image", "wb") as f:
            f.truncate(SIZE)
            for _ in range(draw.randrange(6)):
                f.seek(draw.randrange(SIZE // 512) * 512)
                f.write(draw.randbytes(min(draw.choice((512, 4096, 70000)), SIZE - f.tell())))
        with open("disk", "r+b") as f:  # what a guest has written
            f.seek(draw.randrange(SIZE // 512) * 512)
            f.write(draw.randbytes(512))
        disk.become(Path("image"))
        assert Path("disk").read_bytes() == Path("image").read_bytes(), turn


def test_what_is_the_same_is_not_written():
    from flashemu_lab.crash import mounted
    disk = mounted.Disk(Path("disk"), SIZE)
    with open("image", "wb") as f:
        f.truncate(SIZE)
        f.seek(3 << 20)
        f.write(b"x" * 4096)
    disk.become(Path("image"))
    assert os.stat("disk").st_blocks * 512 <= 64 << 10, "holes are holes"
    os.utime("disk", (1, 1))
    disk.become(Path("image"))
    assert os.stat("disk").st_mtime == 1


def test_a_full_disk_is_no_fault_of_the_filesystem():
    from flashemu_lab.core.errors import LabError
    from flashemu_lab.crash import checks, mounted

    class Room:
        f_bavail, f_frsize = 255, 4096

    judge = mounted.Mounted.__new__(mounted.Mounted)
    judge._folder = Path("here")
    real, os.statvfs = os.statvfs, lambda path: Room
    try:
        for code, room, refused in ((0, 255, False), (1, 255, True), (None, 255, True), (1, 256, False)):
            judge._judged = lambda *words, code=code: checks.Told(code)
            Room.f_bavail = room
            try:
                assert judge.run(Path("x"), Path("image"), [], ()).code == code and not refused
            except LabError as e:
                assert refused and str(e).startswith("here: No space left on device, so nobody"), e
    finally:
        os.statvfs = real


def test_what_a_guest_answers():
    """A check that dies is told by its signal, and what was not the check's is told as the guest does."""
    from flashemu_lab.crash import checks, mounted
    judge = mounted.Mounted.__new__(mounted.Mounted)
    judge._timeout_s = 7
    judge._disk = Namespace(become=lambda image: None)
    judge._guest = Namespace(process=Namespace(poll=lambda: None), ask=lambda line, timeout: answer)
    for answer, told in (
            ("broken 139 check dirty row 3 is gone", checks.Told(
                139, "the check was ended by SIGSEGV: row 3 is gone", ("dirty",))),
            ("broken 4 check - ", checks.Told(4, "the check ended with exit code 4")),
            ("unknown 125 check - ", checks.Told(125, "the check ended with exit code 125")),
            ("kept 0 check - ", checks.Told(0)),
            ("broken 0 fsck - fsck: Bad magic", checks.Told(1, "fsck: Bad magic", kind="fsck"))):
        assert judge._judged(Path("image"), [], ()) == told, (answer, told)
    recording = Namespace(kernel="")
    assert mounted._heard(recording, ["kernel 6.1"], 137) == "the command was ended by SIGKILL"
    assert mounted._heard(recording, ["kernel 6.1", "FAIL: no disk"], 1) == "no disk"


def test_a_work_is_recorded_in_the_time_of_the_device():
    """Without a kernel: what the guest is given, what is kept of it, and what is said if it fails."""
    from flashemu_lab.core.errors import LabError
    from flashemu_lab.crash import mounted, work
    seen = []

    class Played:
        def live(self, life, folder):
            seen.append(life)
            (folder / "trace").write_text("# flashemu trace 1\n5 write 0 4096 done=9\n# end\n")
            (folder / "log").touch()
            code = 7 if life.seed == 8 else 0
            output = "kernel 9.9\nFAIL: mount: no\n" if life.seed == 8 else "kernel 9.9\nsaid\n"
            return Namespace(code=code, output=output, trace=folder / "trace")

    class Described:
        def canonical(self, profile, keys):
            assert profile == "ssd-page" and keys == ("cache.size=64K",)

    wishes = []
    kept, mounted.chosen = mounted.chosen, lambda tool, wish: wishes.append(wish) or Played()
    try:
        made = work.Work("ssd-page", ("cache.size=64K", "size=64M"), 7, "echo 'a b'", "true", "ext4",
                         "data=journal", ("/x/y",))
        mounted.record_mounted(made, Path("kept"), Described(), 9.0, "timed")
        life, = seen
        assert wishes == ["timed"]
        assert (life.profile, life.overrides, life.seed) == ("ssd-page", ("cache.size=64K",), 7)
        assert life.server == ("flush=always", "size=64M",
                               "trace-data=" + os.path.abspath("kept/data"))
        assert life.filesystem == "none" and life.limit_s == 9.0 and Path("/x/y") in life.files
        assert "RUN='echo '\"'\"'a b'\"'\"''" in life.script and "FLASHEMU_SEED=7" in life.script
        assert "cuts.sh record ext4 data=journal" in life.script
        again = work.Recording.load(Path("kept"))
        assert again.work == made and again.kernel == "9.9, in the device's time"
        assert work.read_trace(again.trace)[0][0].done == 9
        try:
            mounted.record_mounted(dataclasses.replace(made, seed=8), Path("failed"), Described(), 9.0)
            raise AssertionError("it has failed")
        except LabError as e:
            assert str(e) == "the work on ext4 was not recorded: mount: no", e
    finally:
        mounted.chosen = kept


def said(kind, text):
    """What the script makes of the output of a check."""
    with open(SCRIPT, encoding="utf-8") as f:
        function = f.read().split("read_%s() {" % kind)[1].split("\n}")[0]
    return subprocess.run(["bash", "-c", function], input=text, encoding="utf-8", check=True,
                          stdout=subprocess.PIPE).stdout.splitlines()


def test_a_kernel_that_crashes_crashes_twice():
    """A state is judged again by another machine, and what that one says counts; a note tells it."""
    from flashemu_lab.crash import broken, mounted
    kept, crashed = mounted.Told(0, "", ("dirty",)), mounted.Told(1, "the kernel crashed: x", kind="kernel")
    once = dataclasses.replace(kept, notes=("dirty", "crashed-once"))
    for answers, wanted, left in (((crashed, kept), once, 0), ((crashed, crashed, kept), crashed, 1),
                                  ((kept, crashed), kept, 1)):
        judge = object.__new__(mounted.Mounted)
        judge._folder, said = Path("."), list(answers)
        judge._judged = lambda image, marks, ranges: said.pop(0)
        assert judge.run(Path("."), Path("image"), [], ()) == wanted and len(said) == left, answers
    assert set(once.notes) <= set(broken._NOTES)


def test_what_a_killed_call_has_left_goes():
    """Folders of images in memory: those that nobody holds and that are not new."""
    from flashemu_lab.crash import mounted
    os.mkdir("room")
    kept, os.environ["TMPDIR"], tempfile.tempdir = os.environ.get("TMPDIR"), os.path.abspath("room"), None
    try:
        with mounted.scratch(4096, 2) as held:
            assert held.parent == Path("room").absolute()
            for name in ("flashemu-judge.old", "flashemu-judge.new", "other.old"):
                Path("room", name, "0").mkdir(parents=True)
            Path("room/flashemu-judge.old/0/image").write_bytes(b"x" * 4096)
            for path in (held, Path("room/flashemu-judge.old"), Path("room/other.old")):
                os.utime(path, (1, 1))
            with mounted.scratch(4096, 2) as second:
                assert sorted(os.listdir("room")) == sorted(
                    [held.name, second.name, "flashemu-judge.new", "other.old"])
        assert sorted(os.listdir("room")) == ["flashemu-judge.new", "other.old"]
    finally:
        tempfile.tempdir = None
        if kept is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = kept


def test_all_end_when_one_fails():
    """Each checker ends behind the state that it is at, and not at the end of all of them."""
    from flashemu_lab.core.errors import LabError
    from flashemu_lab.crash import checks
    judged, closed, both = [], [], threading.Barrier(2)

    class Checker:
        def __init__(self, number):
            self.number = number

        def judge(self, state):
            if len(judged) < 2:
                judged.append(state)
                both.wait(60)
            if self.number == 1:
                raise LabError("no room")
            failed.wait(60)
            judged.append(state)
            return checks.Verdict(state, checks.Told(0))

        def close(self):
            closed.append(self.number)
            if self.number == 1:
                failed.set()

    failed = threading.Event()
    try:
        checks.judge_all(Checker, Namespace(states=list(range(1000))), 2, lambda done, bad: None)
        raise AssertionError("nobody has failed")
    except LabError as e:
        assert str(e) == "no room" and sorted(closed) == [0, 1] and len(judged) <= 4, (e, closed, judged)


def test_what_any_cut_may_leave_of_fat_is_no_fault():
    head = "fsck.fat 4.2 (2021-01-31)\n"
    tail = "\nLeaving filesystem unchanged.\n/dev/vdb: 2 files, 3/129022 clusters\n"
    assert said("vfat", head + tail) == []
    assert said("vfat", head + "There are differences between boot sector and its backup.\n"
                "This is mostly harmless. Differences: (offset:original/backup)\n  65:01/00\n"
                "  Not automatically fixing this.\nDirty bit is set. Fs was not properly unmounted and "
                "some data may be corrupt.\n Automatically removing dirty bit.\n" + tail) == ["note dirty"]
    assert said("vfat", head + "Reclaimed 3 unused clusters (1536 bytes).\n"
                "Free cluster summary wrong (129018 vs. really 129021)\n  Auto-correcting.\n" + tail) == [
                    "note lost-clusters", "note summary"]
    assert said("vfat", head + "/f1\n  File size is 2 bytes, cluster chain length is > 512 bytes.\n"
                "  Truncating file to 2 bytes.\n" + tail) == ["note lost-clusters"]
    assert said("vfat", head + "/f1\n  Contains a free cluster (3). Assuming EOF.\n" + tail) == [
        "fault /f1:   Contains a free cluster (3). Assuming EOF."]
    assert said("vfat", head + "/f1\n  File size is 900 bytes, cluster chain length is 512 bytes.\n"
                "  Truncating file to 512 bytes.\n" + tail) == [
        "fault /f1:   File size is 900 bytes, cluster chain length is 512 bytes."]
    assert said("vfat", "Logical sector size is zero.\n") == ["fault Logical sector size is zero."]


    assert said("vfat", head + "/f1\n  File size is 2 bytes, cluster chain length is > 512 bytes.\n"
                "  Truncating file to 2 bytes.\nFATs differ\n") == ["note lost-clusters", "fault FATs differ"]


def test_what_the_check_of_exfat_says():
    head = "exfatprogs version : 1.2.0\n"
    assert said("exfat", head + "/dev/vdb: clean. directories 1, files 4\n") == []
    assert said("exfat", head + "ERROR: /f1: cluster 0x6 is marked as free at 0x203060. Truncate (y/N)? n\n"
                "/dev/vdb: corrupted. directories 1, files 0\n"
                "/dev/vdb: files corrupted 1, files fixed 0\n") == [
        "fault ERROR: /f1: cluster 0x6 is marked as free at 0x203060. Truncate (y/N)? n"]


class Exfat:
    """An image with one file of three clusters, which hang together in the FAT: 7, 9 and 8."""

    def __init__(self, path):
        subprocess.run(["truncate", "-s", "16M", path], check=True)
        subprocess.run(["mkfs.exfat", path], check=True, stdout=subprocess.DEVNULL)
        with open(path, "rb") as f:
            self.bytes = bytearray(f.read())
        sector = 1 << self.bytes[108]
        self.cluster = sector << self.bytes[109]
        self.fat, self.heap = (struct.unpack_from("<I", self.bytes, at)[0] * sector for at in (80, 88))
        self.root = self.at(struct.unpack_from("<I", self.bytes, 96)[0])
        self.bitmap = self.at(struct.unpack_from("<I", self.bytes, self.root + 32 + 20)[0])
        for cluster, behind in ((7, 9), (9, 8), (8, 0xffffffff)):
            self.link(cluster, behind)
            self.use(cluster)
        self.entry = self.root + 96
        self.put(self.entry, 0x85, 2, size=3 * self.cluster, first=7, flags=1)

    def at(self, cluster):
        return self.heap + (cluster - 2) * self.cluster

    def link(self, cluster, behind):
        struct.pack_into("<I", self.bytes, self.fat + 4 * cluster, behind)

    def use(self, cluster):
        self.bytes[self.bitmap + (cluster - 2) // 8] ^= 1 << (cluster - 2) % 8

    def put(self, at, kind, n, size, first, flags):
        """A file "a" as three entries, with their sum."""
        name_hash = 0
        for byte in (0x41, 0):
            name_hash = ((name_hash << 15 | name_hash >> 1) + byte) & 0xffff
        whole = bytearray(struct.pack("<BBHH26x", kind, n, 0, 0x20))
        whole += struct.pack("<BBxBHxxQ4xIQ", 0xc0, flags, 1, name_hash, size, first, size)
        whole += struct.pack("<BB2s28x", 0xc1, 0, b"a\0")
        total = 0
        for i, byte in enumerate(whole):
            if i not in (2, 3):
                total = ((total << 15 | total >> 1) + byte) & 0xffff
        struct.pack_into("<H", whole, 2, total)
        self.bytes[at:at + 96] = whole


def looked_at(image):
    """The notes and the fault that the script finds with Debian's own program."""
    Path("exfat").write_bytes(image.bytes)
    with open(SCRIPT, encoding="utf-8") as f:
        functions = f.read().split("# --- filesystems ---")[1].split("# --- record ---")[0]
    p = subprocess.run(["bash", "-c", f"{functions}\nfs=exfat here=$PWD notes='' why=''; look exfat; "
                        "printf '%s|%s' \"$notes\" \"$why\""], encoding="utf-8", check=True,
                       stdout=subprocess.PIPE)
    return p.stdout


def test_what_is_found_on_exfat():
    """A mark and lost clusters are notes; a wrong chain, a wrong sum and a file in free space are faults."""
    if not shutil.which("fsck.exfat", path=os.environ["PATH"] + ":/usr/sbin"):
        return
    os.environ["PATH"] += ":/usr/sbin"
    new = Exfat("new")

    def mark(image):
        struct.pack_into("<H", image.bytes, 106, 2)

    def lose(image):
        image.use(12)
        image.use(13)

    def both(image):
        mark(image)
        lose(image)

    for change, wanted in ((lambda image: None, "|"), (mark, "dirty|"), (lose, "lost-clusters|"),
                           (both, "dirty,lost-clusters|"),
                           (lambda image: image.use(9), "|fsck: ERROR: /a: cluster 0x9 is marked as free"),
                           (lambda image: image.link(9, 0), "|fsck: ERROR: /a: broken cluster chain"),
                           (lambda image: image.link(9, 0xffffffff), "|fsck: ERROR: /a: less clusters"),
                           (lambda image: image.bytes.__setitem__(image.entry + 2, 1),
                            "|fsck: ERROR: /: the checksum of a file is wrong"),
                           (lambda image: image.bytes.__setitem__(200, 7), "|fsck: ")):
        image = copy.deepcopy(new)
        change(image)
        found = looked_at(image)
        assert found == wanted if wanted[-1] == "|" else found.startswith(wanted), (wanted, found)


def test_the_works_have_names():
    from flashemu_lab.crash import mounted
    names = mounted.named_works()
    assert {"files", "log", "log-unsummed", "replace", "replace-unsynced", "updater", "packages",
            "sqlite-wal-full", "sqlite-rollback-off"} <= set(names), names
    script = os.path.join(os.path.dirname(SCRIPT), "works.sh")
    p = subprocess.run(["bash", script, "run", "no"], stdout=subprocess.PIPE, encoding="utf-8", check=False)
    assert (p.returncode, p.stdout) == (1, "no: no such work\n")


SCRIPT_WORKS = os.path.abspath(os.path.join(os.path.dirname(SCRIPT), "works.sh"))


def works(word, name, before="", **more):
    """A work, or its check, in the folder root of this host, behind other commands."""
    os.makedirs("root", exist_ok=True)
    env = dict(os.environ, FLASHEMU_MARKS=os.path.abspath("marks"), TMPDIR=os.getcwd(), FLASHEMU_SEED="3", **more)
    p = subprocess.run(["bash", "-c", f'{before}\nmark() {{ echo "$*" >>"$FLASHEMU_MARKS"; }}\n'
                        f"export -f mark; bash {SCRIPT_WORKS} {word} {name}"], cwd="root", env=env,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", check=False)
    return p.returncode, p.stdout + p.stderr


def test_what_the_check_of_packages_finds():
    """dpkg of this host, in a folder: each promise that is not kept, and one that nobody made."""
    if not shutil.which("dpkg-deb") or os.geteuid():
        return
    assert works("run", "packages") == (0, "")
    assert Path("marks").read_text(encoding="utf-8").split("\n")[5] == "package 6"
    assert works("check", "packages") == (0, "")
    there = Path("root/usr/lib/p3/2").read_bytes()
    for before, told in (("printf x >>usr/lib/p3/2", "file 2 of package 3 is not whole\n"),
                         ("rm usr/lib/p3/2", "file 2 of package 3 is not there\n"),
                         ("sed -i '/^Package: p4/,/^$/s/ok installed/ok half-installed/' var/lib/dpkg/status",
                          "package 4 was installed, and dpkg says: install ok half-installed\n")):
        assert works("check", "packages", before) == (1, told), before
        Path("root/usr/lib/p3/2").write_bytes(there)
    Path("marks").write_text("package 1\npackage 2\npackage 3\n", encoding="utf-8")
    assert works("check", "packages") == (0, "")


def test_what_the_check_of_a_log_finds():
    assert works("run", "log") == (0, "") and works("check", "log") == works("check", "log-unsummed") == (0, "")
    cut = "dd if=/dev/zero of=log bs=1 seek=%d count=9 conv=notrunc status=none"
    for name, at, told in (("log", 3 * 6000 - 4, "40 records were synced, and 2 are whole"),
                           ("log-unsummed", 3 * 6000 - 9, "record 2 has begun and is not whole"),
                           ("log", 12 * 6000, "40 records were synced, and 12 are whole")):
        os.rename("root/log", "log")
        shutil.copy("log", "root/log")
        assert works("check", name, cut % at) == (1, told + "\n"), (name, at)
        os.replace("log", "root/log")
    for mark, at in (("record 12", 12 * 6000), ("", 0)):  # nobody has promised what is not whole
        Path("marks").write_text(mark + "\n" * bool(mark), encoding="utf-8")
        assert works("check", "log", cut % at) == (0, ""), mark


STRESSOR = """#!/bin/sh
# %s: makes a folder by the seed, and leaves it
echo "$0 $*" >>../calls
for word; do case $last in --temp-path | -d) folder=$word ;; --seed | -s | -S) seed=$word ;; esac; last=$word; done
[ $seed != "$STOP" ] || { echo 'no more' >&2; exit 3; }
folder=${folder:-${last%%/*}}
echo $seed >$folder/file
mkdir -p $folder/a && ln -s there $folder/a/link
"""


def test_what_the_check_of_tdb_finds():
    """Of programs.sh, for docs/FINDS.md: the last mark is what counts."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib/programs.sh")
    with open("tdbtool", "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\ncat said\n")
    os.chmod("tdbtool", 0o755)
    whole = "tdb> Database integrity is OK and has 3 records.\ntdb> \nrow1\nrow2\n"
    torn = "tdb_oob len 106520 beyond eof at 696\ntdb_transaction_recover: no\nCould not open base.tdb: Success\n"
    for marks, said, told in (
            ("", torn, ""), ("row 0\n", whole, ""), ("row 0\nrow 1\nrow 2\n", whole, ""),
            ("row 0\nrow 1\nrow 2\nrow 3\n", whole, "row 3 was committed, and there are 2\n"),
            ("row 0\n", torn, "the database is not whole: tdb_oob len 106520 beyond eof at 696; "
             "tdb_transaction_recover: no\n")):
        Path("marks").write_text(marks, encoding="utf-8")
        Path("said").write_text(said, encoding="utf-8")
        p = subprocess.run(["bash", script, "check", "tdb"], check=False, stdout=subprocess.PIPE, encoding="utf-8",
                           env=dict(os.environ, HOME=os.getcwd(), FLASHEMU_MARKS="marks"))
        assert (p.returncode, p.stdout) == (int(bool(told)), told), (marks, said, p)


def test_what_the_check_of_lmdb_finds():
    """Of programs.sh, too: each row that is promised, with its value."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib/programs.sh")
    Path("mdb_dump").write_text("#!/bin/sh\ncat said && test ! -e broken\n", encoding="utf-8")
    os.chmod("mdb_dump", 0o755)
    rows = [f" row{n}\n {str(n).zfill(n * 7919 % 9000 + 1)[:3000]}\n" for n in (1, 2, 3)]
    for marks, said, told in (
            ("", "", ""), ("row 2\n", "HEADER=END\n" + rows[0] + rows[1] + "DATA=END\n", ""),
            ("row 3\n", "HEADER=END\n" + rows[0] + rows[1] + "DATA=END\n", "row 3 was committed and is not there\n"),
            ("row 2\n", "HEADER=END\n" + rows[0] + rows[1].replace("2", "3") + "DATA=END\n",
             "row 2 was committed and is not there\n"),
            ("row 1\n", "x\nmdb_env_open failed\n", "mdb_dump: mdb_env_open failed\n")):
        Path("marks").write_text(marks, encoding="utf-8")
        Path("said").write_text(said, encoding="utf-8")
        if "failed" in said:
            Path("broken").touch()
        p = subprocess.run(["bash", script, "check", "lmdb"], check=False, stdout=subprocess.PIPE, encoding="utf-8",
                           env=dict(os.environ, HOME=os.getcwd(), FLASHEMU_MARKS="marks"))
        assert (p.returncode, p.stdout) == (int(bool(told)), told), (marks, said[:80], p)


def test_works_that_stress():
    """Each of them with a program in its place: what is told to it, and each promise that is not kept."""
    os.mkdir("bin")
    for name in ("stress-ng", "fsstress", "fsx"):
        path = Path("bin", name)
        path.write_text(STRESSOR % name, encoding="utf-8")
        path.chmod(0o755)
        room = {"PATH": f"{path.parent.absolute()}:{os.environ['PATH']}"}
        for old in ("root", "marks", "calls"):
            subprocess.run(["rm", "-rf", old], check=True)
        assert works("run", name, **room) == (0, ""), name
        marks = Path("marks").read_text(encoding="utf-8").splitlines()
        assert [m.split()[:2] for m in marks] == [
            word for n in range(1, 5) for word in
            ([["file", str(4 * n - 3 + i)] for i in range(4)] + [["round", str(n)]])], marks
        calls = Path("calls").read_text(encoding="utf-8").splitlines()
        assert [next(w for w in ("13", "14", "15", "16") if f" {w}" in c) for c in calls] == [
            "13", "14", "15", "16"], "seed 3 has four of its own"
        assert works("check", name) == (0, ""), name
        faults = (("rm f7", "file 7 was synced and is not there"),
                  (": >f16", "file 16 was synced and is not whole: 0 bytes of 6705"),
                  *((f"{what} r2/{where}", "round 4 was synced, and its folders are not as they were")
                    for what, where in (("rm -r", "a"), ("ln -sfn here", "a/link"), ("touch", "new"),
                                        ("echo x >", "file"), ("chmod 0", "a"))))
        for before, told in faults if name == "stress-ng" else faults[:1]:
            subprocess.run(["cp", "-a", "root", "kept"], check=True)
            assert works("check", name, before) == (1, told + "\n"), (name, before)
            subprocess.run("chmod -R u+w root; rm -rf root; mv kept root", shell=True, check=True)
        Path("marks").write_text("\n".join(marks[:5]) + "\nfile 5\n", encoding="utf-8")
        assert works("check", name, "rm -r r2 f6; echo x >r3/more") == (0, ""), "what nobody has promised"
        subprocess.run(["rm", "-rf", "root"], check=True)
        assert works("run", name, STOP="14", **room) == (1, "no more\n")
        path.unlink()
    for name, told in (("fsx", "fsx of xfstests"), ("fsstress", "fsstress of xfstests")):
        assert works("run", name) == (1, f"this work needs {told}\n")


def test_mount_options_of_each_filesystem():
    from flashemu_lab.crash.choices import mounts_of
    assert mounts_of([], ["ext4"]) == {}
    assert mounts_of(["a=b,c"], ["ext4", "xfs"]) == {"ext4": "a=b,c", "xfs": "a=b,c"}
    assert mounts_of(["xfs:a", "ext4:data=journal,b:c"], ["ext4", "xfs"]) == {
        "xfs": "a", "ext4": "data=journal,b:c"}
    assert mounts_of(["f:a"], ["ext4"]) == {"ext4": "f:a"}, "a colon that follows no filesystem"


def test_mistakes():
    bad("--work nosuch: allowed: files, log", "crash", "ssd-page", "--fs", "ext4", "--work", "nosuch")
    bad("--run and --work are two works", "crash", "ssd-page", "--fs", "ext4", "--work", "log",
        "--run", "true")
    for option in ("--mount", "--file"):
        bad(option + " needs --fs NAME", "crash", "ssd-page", option, "x")
        bad(option + " needs --fs NAME", "crash", "ssd-page", "--run", "true", option, "x")
    bad("--fs zfs: allowed: ext4, xfs, btrfs, ", "crash", "ssd-page", "--fs", "ext4,zfs")
    bad("--mount xfs:nobarrier: --fs does not name xfs", "crash", "ssd-page", "--fs", "ext4",
        "--mount", "xfs:nobarrier")
    bad("--mount noatime: ext4 has mount options already", "crash", "ssd-page", "--fs", "ext4,vfat",
        "--mount", "ext4:nobarrier", "--mount", "noatime")
    bad("--filesystem is the older name", "crash", "ssd-page", "--fs", "ext4", "--filesystem", "xfs")
    bad("--fs zfs: allowed: ext4, xfs, btrfs, ", "crash", "ssd-page", "--fs", "zfs", "--work", "log")
    for named in ("--work", "--run", "--trace"):
        bad("--filesystem is for some cuts under a filesystem, and not for --run", "crash", "ssd-page",
            "--filesystem", "ext4", named, "log")
    bad("--check needs --run", "crash", "ssd-page", "--filesystem", "ext4", "--check", "true")
    for option in ("--fs", "--filesystem"):
        bad("--fs zfs: allowed: ext4, ext4-nojournal, ", "crash", "ssd-page", option, "zfs", "--workload",
            "log")
    bad("--fs ext5: allowed: ext4, xfs, btrfs, f2fs, vfat, exfat, ntfs, ntfs3; did you mean ext4?",
        "crash", "ssd-page", "--fs", "ext5")
    bad("; did you mean replace?", "crash", "ssd-page", "--fs", "ext4", "--work", "relpace")
    bad("; did you mean updater?", "crash", "ssd-page", "--work", "udpater")
    bad("--mount exr4:noatime: there is no filesystem exr4; did you mean ext4?", "crash", "ssd-page",
        "--fs", "ext4", "--mount", "exr4:noatime")
    bad("a recording needs one device", "crash", "--fs", "ext4")


run(globals())
