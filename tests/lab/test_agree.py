#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/agree: the lab's figures next to those of flashemu verify, row by row."""

import json
import os
import sys

from flashemu_lab_bench import FLASHEMU, TOP, write
from flashemu_script import ended, run

AGREE = os.path.join(TOP, "tools/agree")
PROFILES = ("transcend8g", "kingston512m", "luxmini32g")


def agree(*words):
    code, out, err = ended([sys.executable, AGREE, *words], env=dict(os.environ, FLASHEMU=FLASHEMU))
    return code, out, err


def verify(profile, *words, codes=(0, 1, 3)):
    code, out, err = ended([FLASHEMU, "verify", profile, "--json", *words])
    assert code in codes, err
    return json.loads(out)


def rows(*words):
    code, out, err = agree("--json", *words)
    assert code in (0, 1) and not err, err
    return {r["procedure"]: r for r in json.loads(out)}


def taken(result, **changed):
    """A file with this result, in which some procedures were measured."""
    for row in result["rows"]:
        if row["procedure"] in changed:
            row.update(measured=changed[row["procedure"]], verdict="ok")
    return write("%s.json" % result["profile"], json.dumps(result))


def test_every_published_figure_has_a_row():
    for profile in PROFILES:
        result = verify(profile, "--dry-run")
        found = rows("--take", taken(result))
        assert set(found) == {r["procedure"] for r in result["rows"]}, profile
        for r in found.values():
            assert not r["agrees"] and r["verify"] is None and r["why"], r


def test_two_percent():
    result = verify("transcend8g", "--dry-run")
    lab = {name: r["lab"] for name, r in rows("--take", taken(result)).items()}
    near = {name: value / 1.019 for name, value in lab.items()}
    found = rows("--take", taken(result, **near))
    assert all(r["agrees"] and abs(r["difference"] - .019) < 1e-9 for r in found.values()), found
    code, out, err = agree("--take", "transcend8g.json")
    assert code == 0 and out.count(" ok\n") == len(lab) == 6 and "+1.90 %" in out
    found = rows("--take", taken(result, **dict(near, **{"hdparm-t": lab["hdparm-t"] / .979})))
    assert [name for name, r in found.items() if not r["agrees"]] == ["hdparm-t"]
    code, out, err = agree("--take", "transcend8g.json")
    assert code == 1 and "-2.10 %  off\n" in out


def test_without_a_kernel_it_is_the_same_program():
    # flashbench needs none, so verify and the lab have the same requests on the same device.
    found = rows("--take", write("l.json", json.dumps(
        verify("luxmini32g", "--quick", "--kernel", "none"))))
    for name in ("flashbench-rate bs=64K", "flashbench-rate bs=4M"):
        assert found[name]["agrees"] and abs(found[name]["difference"]) < 1e-6, found[name]
    assert found["copy-fat32-factory"]["why"]


def test_wrong_use():
    write("x.json", "{}")
    for words, message in ((["--take", "x.json"], "--take x.json: is not what flashemu verify"),
                           (["--take", "none.json"], "--take none.json: is not what"),
                           (["lexar8g"], "lexar8g: allowed: transcend8g, kingston512m")):
        code, out, err = agree(*words)
        assert code == 2 and message in err and not out, err


run(globals())
