#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The option table keeps what profiles rely on: no key goes away, and none allows less.

tests/data/options.tsv has the table as users know it. A new key needs no row there. A key that goes
moves to tests/data/old_keys.tsv, and is still understood.
"""

import os

from flashemu_script import run
from flashemu_tool import call, good_json

PROMISED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/options.tsv")


OLD = os.path.join(os.path.dirname(PROMISED), "old_keys.tsv")


def promised():
    """(key, type, allowed, default, names of strategies) of each row."""
    with open(PROMISED, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    for row in rows:
        yield (row + ["", ""])[:5]


def test_every_key_allows_what_it_did():
    options = {o["key"]: o for key in good_json("help", "--json")
               for o in [key, *key.get("details", [])]}
    rows = list(promised())
    assert len(rows) >= 112, len(rows)
    for key, kind, allowed, default, users in rows:
        o = options.get(key)
        assert o, f"{key} is gone"
        assert o["type"] == kind, o
        known = o["default"]
        if known is None:
            known = "derived" if o["derived"] else "required"
        assert known == default, (key, known, default)
        if kind == "name":
            lost = set(allowed.split(", ")) - set(o["allowed"].split(", "))
            assert not lost, f"{key} no longer allows {lost}"
        else:
            assert o["allowed"] == allowed, (key, o["allowed"], allowed)
        lost = set(users.split()) - set(o["used_by"] or [])
        assert not lost, f"{key} is no longer used by {lost}"


def test_the_ends_of_each_range():
    """What help says is what the parser does: it takes both ends, and nothing beyond them."""
    refused = 0
    for key, kind, allowed, _, _ in promised():
        ends = allowed.split(",")[0].split(" to ")
        if kind != "number" or len(ends) != 2:
            continue
        least, most = int(ends[0]), int(ends[1])
        for value in (least, most):
            err = call("show", "ideal", f"{key}={value}")[2]
            assert f"allowed: {allowed}" not in err, (key, value, err)
        for value in (least - 1, most + 1):
            if value == 0 and ", or " in allowed:
                continue  # zero is another way to write the name
            code, _, err = call("show", "ideal", f"{key}={value}")
            assert code == 2 and f"allowed: {allowed}" in err, (key, value, code, err)
            refused += 1
    assert refused > 20, refused


def test_keys_that_went_are_understood():
    """The default says nothing.  Another value sets the heir with one note, or is refused."""
    known = {o["key"] for key in good_json("help", "--json") for o in [key, *key.get("details", [])]}
    with open(OLD, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    assert len(rows) >= 4, rows
    for key, default, other, heir, *needs in rows:
        assert key not in known and (heir == "-" or heir in known), (key, heir)
        profile = needs[0].split() if needs else ["ideal"]
        plain = call("show", *profile)[1]
        code, out, err = call("show", *profile, f"{key}={default}")
        assert (code, out, err) == (0, plain, ""), (key, code, err)
        code, out, err = call("show", *profile, f"{key}={other}")
        if heir == "-":
            assert code == 2 and "no such key any more" in err and err.count("\n") == 1, (key, err)
            assert f"allowed: {default}" in err, (key, err)
        else:
            assert code == 0 and err.count("\n") == 1 and f"{key} is {heir}" in err, (key, err)
            assert out == call("show", *profile, f"{heir}={other}")[1], key
        code, _, err = call("help", key)
        assert code == 2 and key in err, (key, code, err)


run(globals())
