#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a run of `meson test` was not able to do, and where its time went.

    tools/testlog.py NAME testlog.json      NAME stands for the run, such as gcc

Prints "skip NAME: TEST: REASON" for each test, or part of a test, that says it was skipped, and
"time SECONDS NAME: SUITE, N tests, the longest ..." for each suite.  Seconds are those of the tests,
which run side by side, so their sum is more than the time that passes.
"""

import json
import re
import sys
from collections import defaultdict

_REASON = re.compile(r"(?:SKIP|skipped):\s*(.+)")


def skipped(name: str, test: dict) -> list[str]:
    """The lines of one test."""
    reasons = [found[1] for line in (test.get("stdout") or "").splitlines()
               if (found := _REASON.match(line))]
    if test["result"] == "SKIP" and not reasons:
        reasons = ["it gives no reason"]
    short = test["name"].rpartition(" / ")[2]
    return [f"skip {name}: {short}: {reason}" for reason in dict.fromkeys(reasons)]


def times(name: str, tests: list[dict]) -> list[str]:
    """A line for each suite, the longest first."""
    suites = defaultdict(list)
    for test in tests:
        suite, _, short = test["name"].rpartition(" / ")
        suites[suite.rpartition(":")[2]].append((test["duration"], short))
    rows = sorted(((sum(t for t, _ in found), suite, found) for suite, found in suites.items()),
                  reverse=True)
    return [f"time {seconds:.0f} {name}: {suite}, {len(found)} tests, the longest {max(found)[1]} "
            f"with {max(found)[0]:.0f} s" for seconds, suite, found in rows]


def main(name: str, path: str) -> None:
    with open(path, encoding="utf-8") as file:
        tests = [json.loads(line) for line in file if line.strip()]
    for line in [row for test in tests for row in skipped(name, test)] + times(name, tests):
        print(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
