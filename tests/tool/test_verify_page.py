#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu verify -o: what the page says, against --json, and what a browser makes of it."""

import functools
import json
import os
import re
import xml.etree.ElementTree as ET

from flashemu_against import document, point
from flashemu_browser import BROWSER
from flashemu_pages import check, found_faults
from flashemu_script import run
from flashemu_tool import SLC_PROFILE, bad, call, good_json, read, write

CARD = SLC_PROFILE % "64M"
NO_KERNEL = ["--kernel", "none"]
CHEAP = ["append-quiet", "append-quiet-share", "run-read-delay"]  # of two shipped devices


@functools.cache
def rate(procedure="seq-write bs=1M size=8M"):
    """What the model says, in MB/s, by way of a row that is far off."""
    write("rate.ini", CARD + "x = %s | 1 MB/s | 1%%\n" % procedure)
    return json.loads(call("verify", "rate.ini", "--json")[1])["rows"][0]["measured"]


def row(name, factor, reason="", tolerance=10, unit="MB/s"):
    """A published figure of which the device does `factor` times as much."""
    return "%s = seq-write bs=1M size=8M | %.6f %s | %d%% %s\n" % (
        name, rate() / factor, unit, tolerance, "| " + reason if reason else "")


def card(*rows):
    return write("card.ini", CARD + "".join(rows))


def page(*args):
    """The page as a tree, and its text."""
    code, out, err = call("verify", "card.ini", "-o", "page.html", *NO_KERNEL, *args)
    assert code in (0, 1, 3) and err == "", (code, err)
    text = read("page.html")
    return parse(text), text


def parse(text):
    return ET.fromstring(re.sub(r"^<!DOCTYPE html>", "", text))


def words(element):
    return re.sub(r"\s+", " ", "".join(element.itertext())).strip()


def answer(tree):
    return words(tree.find(".//p[@class='answer']"))


def names(tree):
    """Of the rows of the figure, from above."""
    return [words(li.find("span")) for li in tree.findall(".//div[@class='top']/ul/li")
            if li.get("class") != "scale"]


MIXED = [("near", 1.02, ""), ("far", 3, ""), ("slow", 0.4, ""), ("edge", 0.95, ""),
         ("said", 1.5, "another stick")]


def mixed():
    card(*(row(*r) for r in MIXED), "kernel = hdparm-t | 3 MB/s | 10%\n")


def test_the_sentence_names_the_outliers():
    mixed()
    tree, _ = page()
    # the largest ratio first, in either direction; what is known and what is missing stand apart
    assert answer(tree) == (
        "2 of 5 published figures are met. Off: far, 3.00 times as published; slow, 0.400 times as "
        "published. Off for a reason that the profile gives: said, +50.0 %. 1 was not measured "
        "here."), answer(tree)
    assert names(tree) == ["far", "slow", "said", "edge", "near", "kernel"], names(tree)
    shown = [words(li) for li in tree.findall(".//div[@class='top']/ul/li")]
    assert shown[1].endswith(", 3.00 times, off") and shown[5].endswith(", +2.0 %"), shown
    assert shown[6].endswith("3.00 MB/s, skipped") and "kernel:" not in shown[6], shown
    # what is off is no mark among those that are met
    marks = {words(c).split(":")[0]: c.get("class") for c in tree.findall(".//div/ul/li/svg/circle")}
    assert marks == {"far": "mark off", "slow": "mark off", "said": "mark known",
                     "edge": "mark met", "near": "mark met"}, marks


def test_a_mark_stands_where_the_figure_is():
    card(row("a", 2), row("b", 0.5), row("c", 1), row("d", 10 / 3))
    tree, _ = page()
    at = {words(c).split(":")[0]: float(c.get("cx")[:-1])
          for c in tree.findall(".//div/ul/li/svg/circle")}
    # the scale goes from a fifth to five times: log 2 / log 5 = 0.4307
    assert abs(at["c"] - 50) < 0.02 and abs(at["a"] - 71.53) < 0.02, at
    assert abs(at["b"] - 28.47) < 0.02 and abs(at["d"] - 87.40) < 0.02, at
    band = tree.find(".//rect[@class='tolerance']")
    # ln 0.9 and ln 1.1
    assert abs(float(band.get("x")[:-1]) - 46.73) < 0.02, band.attrib
    assert abs(float(band.get("width")[:-1]) - 6.23) < 0.02, band.attrib


def test_all_are_met():
    card(row("a", 1.04), row("b", 0.97))
    assert answer(page()[0]) == "2 of 2 published figures are met. The largest error is 4.0 %."
    card(row("a", 1.04))
    assert answer(page()[0]) == ("The one published figure that was measured is met. The largest "
                                 "error is 4.0 %.")
    card("kernel = hdparm-t | 3 MB/s | 10%\n")
    assert answer(page()[0]) == ("None of the 1 published figure could be measured here: --kernel "
                                 "none."), answer(page()[0])


def test_more_than_a_screen_is_folded():
    card(*("row-%02d = seq-write bs=1M size=8M | %.6f MB/s | 50%%\n" % (i, rate() / (1 + i / 100))
           for i in range(40)))
    tree, _ = page()
    assert names(tree) == ["row-%02d" % i for i in range(39, 15, -1)], names(tree)
    folded = tree.findall(".//details")
    assert words(folded[0].find("summary")) == "The other 16, which are nearer"
    assert len(folded[0].findall("ul/li")) == 17 and all("open" not in d.attrib for d in folded)
    rows = [[words(td) for td in tr.findall("td")] for tr in folded[1].findall(".//tr")[1:]]
    assert len(rows) == 40 and rows[0][0] == "row-39", rows[0]


def test_numbers_are_those_of_json():
    mixed()
    tree, _ = page()
    code, out, _ = call("verify", "card.ini", "--json", *NO_KERNEL)
    want = {r["id"]: r for r in json.loads(out)["rows"]}
    for tr in tree.findall(".//table//tr")[1:]:
        name, procedure, published, measured, unit, error, tolerance, verdict = [
            words(td) for td in tr.findall("td")]
        r = want.pop(name)
        assert procedure == r["procedure"] and tolerance == "%g %%" % r["tolerance_percent"], name
        assert verdict.split(":")[0] == r["verdict"] and unit == r["unit"], (name, verdict)
        if r["measured"] is not None:
            decimals = len(published.partition(".")[2])
            assert len(measured.partition(".")[2]) == decimals >= 1, (published, measured)
            assert measured == "%.*f" % (decimals, r["measured"]), (measured, r)
    assert not want, want


def test_text_is_text():
    card(row("a", 3, "a < b & \"c\""))
    tree, text = page()
    assert 'a < b & "c"' in words(tree) and "<script" not in text


def test_json_and_page_together():
    mixed()
    out = call("verify", "card.ini", "--json", "-o", "page.html", *NO_KERNEL)[1]
    assert len(json.loads(out)["rows"]) == 6
    alone = call("verify", "card.ini", "-o", "-", *NO_KERNEL)[1]
    assert alone.startswith("<!DOCTYPE html>") and alone.endswith("</html>\n")


def test_a_page_of_several_devices():
    code, out, err = call("verify", "--all", *CHEAP, "-o", "all.html", *NO_KERNEL)
    assert code in (0, 3), err
    tree = parse(read("all.html"))
    shown = good_json("verify", "--all", "--dry-run", "--json", *CHEAP)["profiles"]
    assert names(tree) == [p["profile"] for p in shown] == ["flashfx4m", "generic32m"]
    ends = [(len(li.findall(".//circle")), words(li)[-10:])
            for li in tree.findall(".//div[@class='top']/ul/li")[1:]]
    assert ends == [(2, "2 of 2 met"), (5, "5 of 5 met")], ends


def test_against_a_measurement():
    write("card.json", document(point("seq-write", rate() * 1e6, bs=1 << 20, size=8 << 20),
                                point("seq-write", rate() * 3e6, bs=1 << 20, size=8 << 20)))
    card()
    call("verify", "card.ini", "--against", "card.json", "-o", "page.html")
    tree = parse(read("page.html"))
    assert "as measured" in words(tree)
    assert "against card.json" in words(tree.find(".//h1")), words(tree.find(".//h1"))
    assert answer(tree).startswith("1 of 2 points are within 10 %. Farthest off: seq-write"), \
        answer(tree)


def test_what_has_no_page():
    mixed()
    bad("--dry-run has no figures for a page", "verify", "card.ini", "--dry-run", "-o", "x.html")
    bad("--list has no figures", "verify", "--list", "-o", "x.html")
    bad("--class has no figures", "verify", "card.ini", "--class", "-o", "x.html")
    bad("cannot both be on standard output", "verify", "card.ini", "--json", "-o", "-")
    bad("--force: has no effect without -o", "verify", "card.ini", "--force")
    bad("is also the input", "verify", "card.ini", "-o", "card.ini")
    write("mine.html", "<html>mine</html>")
    bad("--force to replace it", "verify", "card.ini", "-o", "mine.html", *NO_KERNEL)
    assert read("mine.html") == "<html>mine</html>"
    call("verify", "card.ini", "-o", "mine.html", "--force", *NO_KERNEL)
    call("verify", "card.ini", "-o", "mine.html", *NO_KERNEL)  # is flashemu's now
    assert read("mine.html").startswith("<!DOCTYPE html>")
    bad("has no figure or procedure nothing", "verify", "card.ini", "nothing", "-o", "x.html")
    assert not os.path.exists("x.html")


def test_in_a_browser():
    if not BROWSER:
        print("no chromium: left out")
        return
    mixed()
    _, several = page()
    card(*("row-%02d = seq-write bs=1M size=8M | %.6f MB/s | 50%%\n" % (i, rate() / (1 + i / 100))
           for i in range(60)))
    _, many = page()
    call("verify", "--all", *CHEAP, "-o", "all.html", *NO_KERNEL)
    check({"mixed": several, "many": many, "all": read("all.html")})
    assert "below" in found_faults([many.replace("</h1>", '</h1><div style="height:400px"></div>')])[0]


run(globals())
