#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The core for WebAssembly is the native program: the same statistics, to the last bit.

Pairs of a profile and a recording are replayed by both; 60 pairs, drawn by a seed, or all of them
with FLASHEMU_LONG=1.  Where one refuses, the other one refuses with the same words.
"""

import gzip
import json
import os
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from flashemu_script import PROGRAM_HANG_S, ended, from_env, need, run, skip
from flashemu_tool import call, good

ROOT = from_env("SOURCE_ROOT")
BUILD = os.environ["FLASHEMU_WEB"]  # a folder, which the test makes
RECORDINGS = os.path.join(ROOT, "tools/lab/recordings")
SEED, DRAWN = 1, 60
# What belongs to the machine and to the command.
OWN = ("wall_seconds", "cpu_seconds", "host_ops_per_second", "version", "command", "overrides",
       "seed")


def names():
    return sorted(f[:-len(".trace.gz")] for f in os.listdir(RECORDINGS)
                  if f.endswith(".trace.gz"))


def pairs():
    """(words of a device, trace)."""
    every = [([p], "rec:" + r) for p in profiles() for r in names()]
    if os.environ.get("FLASHEMU_LONG") == "1":
        return every
    draw = random.Random(SEED)
    # Partitions start everywhere, as the page's slider lets them.
    return [(p, r + draw.choice(("", ",start=63", ",start=2048", ",start=8191,measure=format")))
            for p, r in draw.sample(every, DRAWN)]


def profiles():
    return [line.split()[0] for line in good("profiles").splitlines()]


def native(task):
    words, trace = task
    command = ["replay", words[0], trace, *words[1:], "--json"] if trace else ["show", *words]
    code, out, err = call(*command)
    if code != 0:
        return {"error": re.sub(r"^flashemu: ", "", err.strip())}
    if not trace:
        return {"profile": out}
    return {"stats": {k: v for k, v in json.loads(out).items() if k not in OWN}}


def web(tasks):
    p = subprocess.run(["node", os.path.join(ROOT, "tests/tool/web_pairs.mjs"),
                        os.path.join(ROOT, "tools/web/core.js"),
                        os.path.join(BUILD, "core.wasm"), RECORDINGS],
                       input="".join(json.dumps(task) + "\n" for task in tasks), text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=10 * PROGRAM_HANG_S)
    assert p.returncode == 0, p.stderr[-2000:]
    found = [json.loads(line) for line in p.stdout.splitlines()]
    assert len(found) == len(tasks), (len(found), len(tasks))
    for answer in found:
        for key in OWN:
            answer.get("stats", {}).pop(key, None)
    return found


def same(tasks):
    """What both say to each task, which is the same."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        expected = list(pool.map(native, tasks))
    for task, a, b in zip(tasks, expected, web(tasks)):
        assert a == b, (task, a, b)
    return expected


def test_statistics_are_equal():
    found = same(pairs())
    done = [a["stats"] for a in found if "stats" in a]
    assert len(done) > len(found) / 2 and len({s["busy_ns"] for s in done}) > len(done) / 2


def test_keys_and_seeds_count():
    """Where randomness decides, the seed is the same, and so is the default of it."""
    drawn = ["ssd-page", "ftl.gc_policy=random", "nand.blocks_per_plane=64"]
    work = "gen:random,op=write,bs=4K,count=40K"
    one, again, seven = same([(drawn, work), (drawn + ["seed=1"], work), (drawn + ["seed=7"], work)])
    assert one == again != seven, (one, seven)


ODD = """\ufeff; a comment
[device]
capacity = 64M ; of the stick
sector_size: 512

[nand]
  cell=slc
pages_per_block =\t64 ;; twice
page_size = 4K
oob_size=128
tR = 30us
tPROG = 300us
tBERS = 3ms
bus_rate = 40MB/s
# and another one
[ftl]\t; of this kind
type = page

[provenance]
device = assumed: a device
    with a second line ; and a comment
    and a third one
nand.tR = a: b = c;d
"""


def test_profiles_are_read_alike():
    with open("odd.ini", "w", encoding="utf-8", newline="") as file:
        file.write(ODD.replace("cell=slc\n", "cell=slc\r\n"))
    with open("bad.ini", "w", encoding="utf-8") as file:
        file.write(ODD.replace("type = page", "tpye = page"))
    found = same([([name], None) for name in profiles() + ["odd.ini", "bad.ini"]])
    assert "64M" in found[-2]["profile"] and "third" in found[-2]["profile"], found[-2]
    assert "bad.ini:17: unknown key ftl.tpye" in found[-1]["error"], found[-1]


def test_recordings_are_packed_without_loss():
    """What the page carries of a recording is all of it but the times, which stay out of a replay
    at the pace of a fast host."""
    packed = page.recordings()
    assert len(packed) > 100, len(packed)
    script = ("const {unpack} = new Function(require('fs').readFileSync(process.argv[1], 'utf8') + "
              "'\\nreturn {unpack};')(); const all = JSON.parse(require('fs').readFileSync(0)); "
              "for (const name in all) all[name] = unpack(all[name]); "
              "console.log(JSON.stringify(all));")
    code, out, err = ended(["node", "-e", script, os.path.join(ROOT, "tools/web/pack.js")],
                           json.dumps(packed))
    assert code == 0, err
    for name, text in json.loads(out).items():
        with gzip.open(os.path.join(RECORDINGS, name), "rt", encoding="ascii") as file:
            whole = file.read()
        wanted = re.sub(r" think=\d+$", "", whole, flags=re.M)
        wanted = re.sub(r"^# (think|kernel|tools|scale|command): .*\n", "", wanted, flags=re.M)
        assert text == wanted, name


def test_lessons_are_good_profiles():
    folder = os.path.join(ROOT, "tools/web/lessons")
    for name in os.listdir(folder):
        assert good("check", os.path.join(folder, name)) == "", name


def test_what_is_not_there_is_said():
    unknown, absent = web([(["no-such-device"], "rec:vfat-large"),
                           (["transcend8g"], "rec:no-such-recording")])
    assert "no-such-device" in unknown["error"], unknown
    assert "no-such-recording" in absent["error"], absent


sys.path.insert(0, os.path.join(ROOT, "tools/web"))
import page  # noqa: E402

need("node")
built, said, why = ended([os.path.join(ROOT, "tools/web/build"), BUILD])
if built == 77:
    skip(why.strip())
assert built == 0 and "warning" not in said, said + why
run(globals())
