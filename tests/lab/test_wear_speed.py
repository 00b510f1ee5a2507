#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""wear_speed.py: its numbers are found again, a device wears as it says, two cards are foreseen."""

import contextlib
import io
import json
import math
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import numpy as np # noqa: E402
import wear_speed # noqa: E402
from flashemu_script import ended, from_env, run # noqa: E402

TOOL = from_env("FLASHEMU")
# One die of 80 blocks of 16 pages, 1024 of whose pages are the host's: a pass of the device in
# order takes 64 erases, so 1.25 passes are a cycle of the blocks.
CARD = """[device]
capacity = 4M
[nand]
cell = slc
blocks_per_plane = 80
pages_per_block = 16
page_size = 4K
tR = 50us
tPROG = 400us
tBERS = 3ms
[ftl]
type = page
"""


def test_cards_of_the_file():
    cards = wear_speed.read_cards(wear_speed.FILE)
    assert sorted(cards) == ["1", "2", "5", "7"]
    assert [cards[k].endurance for k in "1257"] == [1000, 3919, 1135, 5000]
    assert np.allclose(cards["5"].speeds(), [1, (318 / 7) / (799 / 7), (18 / 2) / (799 / 7)])


PUBLISHED = """# a comment
run,card,size_GB,start,date,cycles,TB_written,note
3rd,(some TLC),8,2012-02-20,2012-03-01,100,0.8,
3rd,,,,2012-03-06,140,1.1,"slower, a little"
4th,Nobody's,8,2013-12-28,2014-01-02,60,0.5,
4th,,,,2014-01-05,75,0.6,STOP: unreadable
6th,Nobody's,8,2014-01-01,2014-01-03,60,0.5,
x,read in a forum,16,,,,10,never failed
"""


def test_cards_as_they_were_published():
    """Dates instead of days, over a leap day and a new year; the kind is in the words about a card."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
        f.write(PUBLISHED)
        f.flush()
        cards = wear_speed.read_cards(f.name)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            wear_speed.main(f.name)
    assert sorted(cards) == ["3", "4", "6"], cards
    assert [cards[k].endurance for k in "346"] == [1000, 75, 0]
    assert np.allclose(cards["3"].speeds(), [1, 0.8]) and np.allclose(cards["4"].speeds(), [1, 5 / 12])
    said = out.getvalue()
    assert "run 6: neither its kind nor its end is known\n" in said and "\n  6 " not in said, said
    assert "nand.worn = read:127%,program:127%,erase:127%,end:796%\n" in said, "of the two of the tests"
    assert "predicted, runs 3 and 4: " in said, said


def test_work_is_the_integral():
    for cycles in (0.3, 0.99, 1.5):
        c = np.linspace(0, cycles * 700, 200001)
        x = np.minimum(c / 700, 1)
        t = 1 + 1.3 * x + 8 * x**32
        want = float(np.sum((t[1:] + t[:-1]) / 2) * (c[1] - c[0]))
        assert math.isclose(float(wear_speed.work(cycles * 700, 700, 1.3, 8)), want, rel_tol=1e-6)


def test_numbers_are_found_again():
    cards = []
    for endurance, days in ((3000, (3, 9, 20, 40, 60)), (900, (2, 4, 5, 9))):
        cycles = np.array([0.2, 0.5, 0.8, 0.97, 1.0])[:len(days)] * endurance
        card = wear_speed.Card(endurance, [0.0], [0.0])
        card.cycles += list(cycles)
        card.days += list(wear_speed.work(cycles, endurance, 0.7, 5.5) / 80)
        cards.append(card)
    worn, end = wear_speed.fit(cards)
    assert abs(worn - 0.7) < 1e-4 and abs(end - 5.5) < 1e-3, (worn, end)


def device_times(profile, trace, passes, *overrides):
    """The device's time after each number of passes in order, in ns, and its blocks' cycles."""
    times, cycles = [], []
    for n in passes:
        with open(trace, "w", encoding="utf-8") as f:
            code, out, err = ended([TOOL, "gen", "sequential", "--op", "write", "--bs", "64K",
                                    "--size", "4M", "--count", str(64 * n)])
            assert code == 0, err
            f.write(out)
        code, out, err = ended([TOOL, "replay", profile, trace, "--json", *overrides])
        assert code == 0, err
        result = json.loads(out)
        times.append(result["device_ns"])
        cycles.append(result["wear"]["mean"])
    return np.array(times, float), np.array(cycles)


def test_a_device_wears_as_the_model_says():
    worn, end, endurance = 1.27, 7.96, 80
    passes = (10, 40, 70, 90, 98)
    with tempfile.TemporaryDirectory() as folder:
        profile, trace = os.path.join(folder, "card.ini"), os.path.join(folder, "trace")
        with open(profile, "w", encoding="utf-8") as f:
            f.write(CARD)
        details = [f"{op}:{100 * worn:.0f}%" for op in ("read", "program", "erase")]
        details.append(f"end:{100 * end:.0f}%")
        new, cycles = device_times(profile, trace, passes, f"nand.endurance={endurance}")
        slow, again = device_times(profile, trace, passes, f"nand.endurance={endurance}",
                                   "nand.worn=" + ",".join(details))
    assert np.array_equal(cycles, again) and 76 < cycles[-1] < 80, cycles
    took = np.diff(slow) / np.diff(new)
    want = np.diff(wear_speed.work(cycles, endurance, worn, end)) / np.diff(cycles)
    assert np.all(np.abs(took / want - 1) < 0.04), (took, want)
    assert want[-1] > 3 > 1.5 > want[0], want


def test_two_cards_are_foreseen():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        near, alike, n = wear_speed.main(wear_speed.FILE)
    assert 2 * near >= n == 6 and alike == n, out.getvalue()


run(globals())
