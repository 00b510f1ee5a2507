#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether lives in the device's time are equal, to the nanosecond and byte: five works on three
devices, each many times.  It takes hours, and a compile beside it is what it should not notice.

    equal_lives.py [REPEATS [FS...]]

Each repeat has another environment, time zone, language, umask and HOME, other lengths of all paths,
kernel, programs, server and scripts at other places with other dates, and another folder for temporary
files.  Every second one runs on one processor, and of a process that is root every second one as another
user, with another name of the host.  What is compared: the trace of all requests with their times, what
the work printed, each mark and each call that waited.
"""

import collections
import ctypes
import hashlib
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/lab"))
from flashemu_lab.kernel.timed import Life, Timed
from flashemu_lab.runs.program import Tool

TOP = Path(__file__).resolve().parents[2]
DEVICES = ("transcend8g", "raspberrypi32g", "sandisk-extreme32g")
# What each prints is compared as well, so they print what could differ from life to life.
WORKS = {
    "file": "dd if=/dev/urandom of=f bs=64K count=100 conv=fsync 2>/dev/null; sha256sum f; ls -li",
    "tree": """for d in 1 2 3 4; do mkdir $d; for f in 1 2 3 4 5 6 7 8 9; do
head -c $((d * f * 999)) /dev/urandom >$d/$f; done; done; mark made; cp -r . /tmp/t; sync
find . | cksum; tar -cf all /tmp/t 2>/dev/null; sync; cksum all; rm -r 1; mktemp; sync; ls -fR | cksum""",
    "database": """for i in 1 2 3 4 5; do echo "create table if not exists t(a,b);
insert into t select hex(randomblob(9)), $i from generate_series(1,50);" | sqlite3 db || :; sleep 0.3
done; sqlite3 db 'select count(*), max(a) from t'; sync; cksum db""",
    "random": """fio --name=j --filename=f --size=4m --rw=randwrite --bs=4k --fsync=8 --ioengine=libaio \
--iodepth=4 --direct=1 --numjobs=2 --thread --minimal | cut -d ';' -f 1-60""",
    "host": """env | sort; cat /proc/sys/kernel/random/uuid; date +%s.%N; uname -a; free; id; ls -i /usr/bin |
cksum; awk 'BEGIN { srand(); print rand(); for (i = 0; i < 9; i++) a["k" i]; for (k in a) printf k }'
cat /proc/self/maps | cksum; cat /proc/meminfo | head -3; (sleep 0.5; echo a >x) & echo b >y; wait
(while :; do echo c >>z; sleep 0.01; done) & sleep 1; kill $!; wait; stat z | cksum; mkfs.ext4 -V 2>&1
truncate -s 8M img; mkfs.ext4 -q img; dumpe2fs -h img 2>&1 | grep -i 'uuid\\|seed\\|created'; sync"""}


def said(timed, life):
    """Everything that a life says of itself, as a text."""
    with tempfile.TemporaryDirectory(prefix="e" * random.randrange(1, 60)) as folder:
        lived = timed.live(life, Path(folder))
        lines = lived.trace.read_text().splitlines()  # one of them is the server's command line
        trace = hashlib.sha256("\n".join(line for line in lines
                                         if not line.startswith("# command: ")).encode()).hexdigest()
        return (f"trace {trace}\ncode {lived.code}\n{lived.start_ns} {lived.script_end_ns} "
                f"{lived.end_ns}\n{lived.marks}\n{lived.syncs}\n{lived.output}")


def another(timed):
    """Changes what of this machine must not matter, with copies of all that a life uses."""
    place = Path(tempfile.mkdtemp(prefix="k" * random.randrange(1, 100)))
    place.chmod(0o755)
    os.environ.update(NOISE="x" * random.randrange(4000), HOME=str(place),
                      TZ=random.choice(["UTC", "Asia/Tokyo", "America/Lima"]),
                      LANG=random.choice(["C", "de_DE.UTF-8"]))
    timed._kernel = shutil.copy(timed._kernel, place / ("linux" * random.randrange(1, 9)))
    timed._vhost = shutil.copy(timed._vhost, place / "vhost")
    base, timed._base = timed._base, place / ("base" * random.randrange(1, 9))
    timed._base.mkdir(mode=0o755)
    for name in random.sample(("usr.img", "initramfs"), 2):
        shutil.copyfile(base / name, timed._base / name)
    timed._scripts = Path(shutil.copytree(timed._scripts, place / ("timed" * random.randrange(1, 9))))
    for path in place.rglob("*"):
        os.utime(path, (at := random.randrange(2 * 10**9), at))
    os.umask(random.choice([0o022, 0o077]))
    return place


def become_another():
    """Changes this process, which is for one life."""
    if random.random() < 0.5:
        os.sched_setaffinity(0, {random.choice(sorted(os.sched_getaffinity(0)))})
    if os.geteuid() == 0 and random.random() < 0.5:
        if ctypes.CDLL(None).unshare(0x04000000) == 0:  # CLONE_NEWUTS
            socket.sethostname("h" * random.randrange(1, 60))
        os.setgroups([])
        os.setresgid(12345, 12345, 12345)
        os.setresuid(54321, 54321, 54321)


def lived_elsewhere(life):
    """What a life says that has another surrounding than this process."""
    random.seed()
    timed = Timed(Tool())
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        code, place = 1, None
        try:
            os.close(readable)
            place = another(timed)
            become_another()
            with open(writable, "w") as f:
                f.write(said(timed, life))
            code = 0
        finally:
            print(place, flush=True) if code else None
            os._exit(code)
    os.close(writable)
    with open(readable) as f:
        text = f.read()
    _, status = os.waitpid(child, 0)
    assert status == 0
    return text


def main(repeats=10, *filesystems):
    if subprocess.run([TOP / "tools/vm/timed/kernel", "--check"], check=False).returncode:
        return 77
    os.environ["TMPDIR"] = place = tempfile.mkdtemp(prefix="equal_lives.")
    tempfile.tempdir = None
    os.chmod(place, 0o777)
    try:
        return compared(int(repeats), filesystems)
    finally:
        shutil.rmtree(place)


def compared(repeats, filesystems):
    bad = 0
    for name, work in WORKS.items():
        for number, profile in enumerate(DEVICES):
            fs = (filesystems or ("ext4", "vfat", "exfat"))[number % (len(filesystems) or 3)]
            life = Life(profile, (), f"cd /mnt\n{work}\n", filesystem=fs, seed=5)
            seen, other = collections.Counter(), ""
            for _ in range(repeats):
                seen[lived_elsewhere(life)] += 1
                other = other or lived_elsewhere(replace(life, seed=6))
                for copies in Path(tempfile.gettempdir()).iterdir():
                    shutil.rmtree(copies)
            different = other not in seen
            print(f"{name} on {profile}, {fs}: {sum(seen.values())} lives, {len(seen)} kinds"
                  f"{'' if different else '; another seed is the same'}", flush=True)
            if len(seen) > 1 or not different:
                bad += 1
                for i, text in enumerate(seen):
                    Path(f"{name}-{profile}-{i}").write_text(text)
            elif "-v" in os.environ.get("EQUAL_LIVES", ""):
                print(next(iter(seen)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
