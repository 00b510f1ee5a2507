#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""`health` of a served device, the metrics and `top`, against what was done to its blocks."""

import json

from flashemu_script import ended, from_env
from flashemu_server import Server, run

TOOL = from_env("FLASHEMU_TOOL")
# 64 blocks: 2 bad from the factory, 10 spare, 52 in use.
CARD = ["ssd-page", "clock=virtual", "size=8M", "nand.channels=1", "nand.dies_per_channel=1",
        "nand.blocks_per_plane=64", "nand.pages_per_block=64", "nand.endurance=3000",
        "faults.factory_bad=3.5%", "faults.spare_blocks=10", "faults.life_spread=device:50%"]


def worn_card(s):
    """900 cycles on every block that can be worn, 903 on one of them; a cut; 8 more bad blocks."""
    blocks = s.ctl("map", "64")
    for block in range(64):
        if not blocks["bad"][block]:
            assert s.ctl("wear", str(block), "900")["ok"]
    assert s.ctl("power-cut", "at", "now")["ok"] and s.ctl("power-on")["ok"]
    good = [block for block in range(64) if not blocks["bad"][block]]
    for block in good[:8]:
        assert s.ctl("mark-bad", str(block))["ok"]
    assert s.ctl("wear", str(good[20]), "903")["ok"]


def test_a_worn_card():
    with Server(*CARD) as s:
        new = s.ctl("health")
        assert new["emmc"] == {"pre_eol_info": 1, "pre_eol": "normal", "life_time_est_typ_a": 0,
                               "life_time_est_typ_b": 1}, new
        worn_card(s)
        health = s.ctl("health")
        assert health["emmc"] == {"pre_eol_info": 2, "pre_eol": "warning",
                                  "life_time_est_typ_a": 0, "life_time_est_typ_b": 4}, health
        card, truth = health["sd"], health["truth"]
        assert card["spare_blocks"] == 2 and card["initial_bad_blocks"] == 2, card
        assert card["later_bad_blocks"] == 8 and card["power_up_count"] == 2, card
        assert card["abnormal_power_off_count"] == 1 and card["max_erase_count"] == 903, card
        assert card["min_erase_count"] == 900 and card["average_erase_count"] == 900, card
        assert abs(card["good_block_pct"] - 100 * 54 / 64) < 1e-9, card
        assert card["total_erase_count"] == 900 * 62 + 3, card
        assert abs(card["life_used_pct"] - 100 * (900 + 3 / 52) / 3000) < 1e-9, card
        assert truth["cells"]["rated_endurance"] == 3000 != truth["cells"]["endurance"], truth
        assert truth["reserve_blocks"] == 10 and truth["state"] == "alive", truth
        text = s.ctl("metrics")["text"]
        for line in ('life_time_step{type="b"} 4', "pre_eol_step 2", "spare_blocks 2"):
            assert "flashemu_" + line + "\n" in text, text
        code, out, err = ended([TOOL, "top", "--count", "1", "--interval", "10ms", s.control])
        assert code == 0 and "health    life 30 % used, reserve warning\n" in out, (code, out, err)
        code, out, err = ended([TOOL, "ctl", s.control, "health"])
        assert code == 0 and json.loads(out) == s.ctl("health"), (out, err)


run(globals())
