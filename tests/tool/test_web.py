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
    every = [(p.split()[0], r) for p in good("profiles").splitlines() for r in names()]
    if os.environ.get("FLASHEMU_LONG") == "1":
        return every
    draw = random.Random(SEED)
    # Partitions start everywhere, as the page's slider lets them.
    return [(p, r + draw.choice(("", ",start=63", ",start=2048", ",start=8191,measure=format")))
            for p, r in draw.sample(every, DRAWN)]


def native(pair):
    code, out, err = call("replay", pair[0], "rec:" + pair[1], "--json")
    if code == 0:
        stats = json.loads(out)
        return {"stats": {k: v for k, v in stats.items() if k not in OWN}}
    return {"error": re.sub(r"^flashemu: ", "", err.strip())}


def web(wanted):
    p = subprocess.run(["node", os.path.join(ROOT, "tests/tool/web_pairs.mjs"),
                        os.path.join(ROOT, "tools/web/core.js"),
                        os.path.join(BUILD, "core.wasm"), RECORDINGS],
                       input="".join("%s %s\n" % pair for pair in wanted), text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=10 * PROGRAM_HANG_S)
    assert p.returncode == 0, p.stderr[-2000:]
    found = [json.loads(line) for line in p.stdout.splitlines()]
    assert len(found) == len(wanted), (len(found), len(wanted))
    for answer in found:
        for key in OWN:
            answer.get("stats", {}).pop(key, None)
    return found


def test_statistics_are_equal():
    wanted = pairs()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        expected = list(pool.map(native, wanted))
    for pair, a, b in zip(wanted, expected, web(wanted)):
        assert a == b, (pair, a, b)
    done = [a["stats"] for a in expected if "stats" in a]
    assert len(done) > len(wanted) / 2 and len({s["busy_ns"] for s in done}) > len(done) / 2


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
    unknown, absent = web([("no-such-device", "vfat-large"), ("transcend8g", "no-such-recording")])
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
