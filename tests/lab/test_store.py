#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The lab's store: each result once, whole or not at all."""

import errno
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from flashemu_lab_bench import LAB, SMALL, TOP, good, stored, write
from flashemu_script import ended, run

from flashemu_lab.runs.local import execute
from flashemu_lab.core.errors import LabError
from flashemu_lab.runs.run import Run, Source
from flashemu_lab.runs.store import Store
from flashemu_lab.runs.program import Outcome

# Writes results 0, 1, 2 ... into the store "store" until it is killed.
WRITER = """
import sys
sys.path.insert(0, %r)
from pathlib import Path
from flashemu_lab.runs.program import Outcome
from flashemu_lab.runs.run import Run, Source
from flashemu_lab.runs.store import Store
store = Store(Path("store"))
print("up", flush=True)
for i in range(%d):
    store.put(Run("1", "x", (), "canonical", i, (Source("pattern", "gen:a", "gen:a"),)),
              Outcome("done", {"i": i, "long": "x" * 9000}))
"""


def a_run(seed=0, **changes):
    values = dict(program="1", profile="x", overrides=(), canonical="canonical", seed=seed,
                  requests=(Source("pattern", "gen:a", "gen:a"),))
    return Run(**{**values, **changes})


def done(**members):
    return Outcome("done", members)


def refused(code, message, function, *args):
    try:
        function(*args)
    except LabError as e:
        assert message in str(e) and e.code == code, (str(e), e.code)
    else:
        raise AssertionError("no error: " + message)


def test_a_result_comes_back():
    store = Store(Path("store"))
    assert store.get(a_run()) is None
    store.put(a_run(), done(waf=1.5, host={"write": 3}))
    store.put(a_run(1), Outcome("failed", None, "no such thing"))
    again = Store(Path("store"))
    assert again.get(a_run()) == done(waf=1.5, host={"write": 3})
    assert again.get(a_run(1)) == Outcome("failed", None, "no such thing")
    assert set(stored()) == {a_run().key(), a_run(1).key()} and os.listdir("store/tmp") == []


def test_a_key_is_what_decides_about_the_result():
    one = a_run()
    same = [a_run(profile="y"), a_run(overrides=("a.b=1",)),
            a_run(requests=(Source("pattern", "another/name", "gen:a"),))]
    other = [a_run(1), a_run(program="2"), a_run(canonical="c"), a_run(depth=2),
             a_run(flags=("--wrap",)), a_run(warmup=one.requests[0]),
             a_run(requests=one.requests * 2), a_run(requests=(Source("trace", "gen:a", "gen:a"),))]
    assert {r.key() for r in same} == {one.key()}
    assert len({r.key() for r in [one, *other]}) == 1 + len(other)


def test_a_second_result_must_be_equal():
    store = Store(Path("store"))
    store.put(a_run(), done(waf=1.5, erases=7))
    store.put(a_run(), done(waf=1.5, erases=7))
    refused(1, "differ in waf: 1.5 and 1.6; the stored result is store/", store.put, a_run(),
            done(waf=1.6, erases=7))
    refused(1, "one is done, the other is failed", store.put, a_run(), Outcome("failed", None, "x"))
    assert store.get(a_run()) == done(waf=1.5, erases=7) and os.listdir("store/tmp") == []


def test_forgotten_results_may_change():
    store = Store(Path("store"))
    store.put(a_run(), done(waf=1))
    store.forget(a_run())
    store.forget(a_run())
    store.put(a_run(), done(waf=2))
    assert store.get(a_run()) == done(waf=2)


def test_what_is_no_result_is_told():
    store = Store(Path("store"))
    store.put(a_run(), done(waf=1))
    store.put(a_run(1), done(waf=1))
    path, other = ("store/%s/%s.json" % (r.key()[:2], r.key()) for r in (a_run(), a_run(1)))
    whole = Path(path).read_text()
    parts = [('"done"', '"lost"'), ('"done"', '"failed"'), ('"done"', "1"), ('"message":""', '"message":7'),
             ('{"waf":1}', "null"), ('{"waf":1}', "[]"), ('{"waf":1}', '{"waf":NaN}'), ('{"waf":1}', '{"waf":1e400}')]
    assert all(old in whole for old, _ in parts), whole
    for text in ("", "{", "[]", "[" * 50000, json.dumps({"format": 1}), Path(other).read_text(),
                 *(whole.replace(old, new) for old, new in parts)):
        Path(path).write_text(text)
        refused(2, path + ": is damaged or belongs to another run; remove the file", store.get,
                a_run())
    Path(path).write_bytes(b"\xff")
    refused(2, "cannot be read", store.get, a_run())


def test_a_full_disk_leaves_nothing():
    store = Store(Path("store"))
    store.put(a_run(), done(small=1))
    before = stored()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in (0, 1, 100, 4096, 8191):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            refused(2, "cannot store", store.put, a_run(1), done(long="x" * 9000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert stored() == before and os.listdir("store/tmp") == []
    store.put(a_run(1), done(long="x" * 9000))


def test_whatever_call_fails_for_want_of_room():
    """ENOSPC from each call that can tell it, in turn."""
    store = Store(Path("store"))
    store.put(a_run(), done(small=1))
    before = stored()
    def no_room(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for name in ("mkdir", "open", "fsync", "link"):
        real = getattr(os, name)
        setattr(os, name, no_room)
        try:
            refused(2, "store: cannot store %s: No space left on device" % a_run(1).key(),
                    store.put, a_run(1), done(x=1))
        finally:
            setattr(os, name, real)
        assert stored() == before and os.listdir("store/tmp") == [], name
    store.put(a_run(1), done(x=1))


def test_a_result_is_durable_before_it_has_its_name():
    store = Store(Path("store"))
    real, calls = {name: getattr(os, name) for name in ("fsync", "link")}, []

    def noted(name):
        def call(*args):
            calls.append(name)
            return real[name](*args)
        return call

    for name in real:
        setattr(os, name, noted(name))
    try:
        store.put(a_run(), done(x=1))
    finally:
        for name, function in real.items():
            setattr(os, name, function)
    assert calls == ["fsync", "link"], calls


def test_whoever_sees_a_result_finds_it_in_the_store():
    class Engine:
        def perform(self, runs):
            for one in runs:
                yield one, done(seed=one.seed)

    store = Store(Path("store"))
    runs = [a_run(i) for i in range(3)]
    for one, outcome in execute(runs, store, Engine()):
        assert Store(Path("store")).get(one) == outcome
    assert len(stored()) == 3


# $1 is the size of the disk, $2 a command, $3 what follows when there is room.
SMALL_DISK = """
mkdir -p disk && mount -t tmpfs -o "$1" tmpfs disk || exit 99
shift
"$@"; echo "code $?"
echo "tmp $(ls -A disk/store/tmp 2>/dev/null | wc -l)"
cp -r disk copy
mount -o remount,size=64M,nr_inodes=0 disk
"$@" >/dev/null; echo "code $?"
cp -r disk/store whole
"""


def on_small_disk(options, *command):
    """(standard output, standard error) of a command on a disk that fills up, and then grows;
    None where nothing can be mounted."""
    code, out, err = ended(["unshare", "--map-root-user", "--mount", "sh", "-c", SMALL_DISK, "sh",
                            options, *command])
    return None if code == 99 or "unshare:" in err else (out, err)


def test_a_disk_that_fills_up():
    """The program on real disks of some pages or some files: one line, whole results, and when
    there is room the rest."""
    write("x.toml", SMALL)
    good("run", "x.toml", store="want")
    kept_counts = set()
    for options in ["size=%dK" % k for k in (4, 8, 12, 20)] + ["nr_inodes=%d" % n
                                                                   for n in (2, 4, 6, 8)]:
        for folder in ("copy", "whole", "disk"):
            shutil.rmtree(folder, ignore_errors=True)
        found_ = on_small_disk(options, sys.executable, LAB, "run", "x.toml", "--store",
                              "disk/store", "--jobs", "1")
        if found_ is None:
            print("nothing can be mounted here: left out")
            return
        out, err = found_
        assert "code 2" in out and "tmp 0" in out and out.endswith("code 0\n"), (options, out, err)
        assert re.fullmatch(r"flashemu-lab: disk/store: cannot (store \w{64}|open the store): "
                            r"No space left on device( \(--store or \w+ names another\))?\n",
                            err), (options, err)
        kept = stored("copy/store")
        assert kept.items() < stored("want").items(), options
        assert stored("whole") == stored("want"), options
        kept_counts.add(len(kept))
    assert len(kept_counts) > 3, kept_counts


def test_a_page_on_a_full_disk():
    """Each file is the old one or the new one, or is not there."""
    write("x.toml", SMALL)
    good("run", "x.toml", "-o", "old", store="want")
    write("x.toml", SMALL.replace("A small experiment", "Another title"))
    good("run", "x.toml", "-o", "new", store="want")
    refusals, compared = 0, set()
    pages = sum(-(-os.path.getsize("old/" + n) // 4096) for n in os.listdir("old"))
    empty, over = "", "[ -e disk/store ] || cp -r old disk/store;"
    for script, size in [*((over, pages + more) for more in (0, 2, 40)),
                         *((empty, pages * n // 6) for n in range(1, 6))]:
        shutil.rmtree("copy", ignore_errors=True)
        shutil.rmtree("whole", ignore_errors=True)
        found = on_small_disk("size=%dK" % (4 * size), "sh", "-c",
                              script + "\"$@\"", "sh", sys.executable, LAB, "run", "x.toml",
                              "--store", "want", "-o", "disk/store")
        if found is None:
            print("nothing can be mounted here: left out")
            return
        if "code 2" in found[0]:
            refusals += 1
            assert re.fullmatch(r"flashemu-lab: disk/store\S*: No space left on device\n", found[1])
        for name in os.listdir("copy/store"):
            text = Path("copy/store", name).read_bytes()
            known = [Path(f, name).read_bytes() for f in ("old", "new")]
            assert text in known, (size, name)
            compared.add(known.index(text))
        assert all(Path("whole", n).read_bytes() == Path("new", n).read_bytes()
                   for n in os.listdir("new"))
    assert refusals > 1 and compared == {0, 1} and "results.json" in os.listdir("new"), compared


def test_a_folder_that_cannot_be():
    Path("file").write_text("")
    refused(2, "file/store: cannot open the store: Not a directory (--store or "
            "FLASHEMU_LAB_STORE names another)", Store, Path("file/store"))


def writer(count):
    code = WRITER % (os.path.join(TOP, "tools/lab"), count)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)


def test_kill_9_leaves_whole_results_or_none():
    draw = random.Random(1)
    for _ in range(12):
        p = writer(100000)
        assert p.stdout.readline() == b"up\n"
        enough = len(stored()) + draw.randint(0, 3)
        while len(stored()) < enough:
            assert p.poll() is None
        time.sleep(draw.uniform(0, 0.01))
        p.kill()
        p.wait()
        p.stdout.close()
        found = stored()
        for key, text in found.items():
            assert json.loads(text)["result"]["long"] == "x" * 9000, key
        numbers = sorted(json.loads(text)["result"]["i"] for text in found.values())
        assert numbers == list(range(len(found)))
        store = Store(Path("store"))
        assert os.listdir("store/tmp") == []
        for i in numbers:
            assert store.get(a_run(i)) is not None
    assert len(stored()) > 10


def test_writers_that_live_keep_their_files():
    p = writer(100)
    assert p.stdout.readline() == b"up\n"
    while p.poll() is None:
        Store(Path("store"))
    p.stdout.close()
    assert p.returncode == 0 and len(stored()) == 100


def test_many_writers_of_the_same_keys():
    writers = [writer(40) for _ in range(4)]
    for p in writers:
        p.communicate()
        assert p.returncode == 0
    assert len(stored()) == 40 and os.listdir("store/tmp") == []


run(globals())
