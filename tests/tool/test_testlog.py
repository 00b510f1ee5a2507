#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/testlog.py names what was skipped, with its reason, and where the time went.

    test_testlog.py ROOT      the folder of the sources
"""

import json
import subprocess
import sys
import tempfile

TESTS = [
    {"name": "flashemu:unit / hist", "result": "OK", "duration": 1.25, "stdout": "[ OK ] SKIP it\n"},
    {"name": "flashemu:unit / area", "result": "OK", "duration": 2.5, "stdout": None},
    {"name": "flashemu:plugin / f3", "result": "SKIP", "duration": 40.0,
     "stdout": "ok     one\nSKIP: no f3probe\nSKIP: no f3probe\n"},
    {"name": "flashemu:plugin / filters", "result": "OK", "duration": 8.4,
     "stdout": "skipped: luks: no cryptsetup\n"},
    {"name": "flashemu:vm / story", "result": "SKIP", "duration": 0.1, "stdout": ""},
]
WANTED = """skip gcc: f3: no f3probe
skip gcc: filters: luks: no cryptsetup
skip gcc: story: it gives no reason
time 48 gcc: plugin, 2 tests, the longest f3 with 40 s
time 4 gcc: unit, 2 tests, the longest area with 2 s
time 0 gcc: vm, 1 tests, the longest story with 0 s
"""

with tempfile.NamedTemporaryFile("w") as log:
    log.write("".join(json.dumps(test) + "\n" for test in TESTS))
    log.flush()
    said = subprocess.run([sys.argv[1] + "/tools/testlog.py", "gcc", log.name], check=True,
                          stdout=subprocess.PIPE, encoding="utf-8").stdout
assert said == WANTED, said
