#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu verify --against: a measurement from a file next to a profile."""

import csv
import json
import math
import os
import random
import statistics

from flashemu_against import against, document, point, sets, small_card
from flashemu_script import run
from flashemu_tool import SLC_PROFILE, bad, call, good, good_json, write

CURVES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../profiles/curves.csv")
UNIT = 4 << 20


def card_points(card):
    """The curves of a shipped card in the order in which verify's own experiment runs."""
    curves = {}
    with open(CURVES) as file:
        for name, test, number, *values in csv.reader(x for x in file if not x.startswith("#")):
            if name == card:
                curves[test, int(number)] = values
    found = []
    for i, value in enumerate(curves["align-pre", 0]):
        if value:
            found.append(point("flashbench-align", float(value), "ns", align=2048 << i, bs=1024,
                               place="pre"))
    # the experiment goes down to chunks of 1 KiB, which the curves do not have
    found.append(point("flashbench-find-fat", 1, erasesize=UNIT, units=8, unit=0, chunk=1024))
    for unit in range(8):
        found += [point("flashbench-find-fat", float(v), erasesize=UNIT, units=8, unit=unit,
                        chunk=UNIT >> i)
                  for i, v in enumerate(curves["find-fat", unit]) if v]
    for test in ("linear", "random"):
        for units in range(1, 8):
            found += [point("flashbench-open-au", float(v), erasesize=UNIT, open=units,
                            random=test == "random", chunk=UNIT >> i)
                      for i, v in enumerate(curves[test, units]) if v]
    return found


def kind(p):
    if p["procedure"] == "flashbench-open-au":
        return "random" if p["parameters"]["random"] else "linear"
    return "find-fat" if p["procedure"] == "flashbench-find-fat" else "align"


def test_agrees_with_the_curves_that_are_compiled_in():
    for card in ("sandisk-su04g", "transcend-usd14"):
        own = good_json("verify", card, "--json", "flashbench-linear", "flashbench-random",
                        "flashbench-find-fat")
        want = {r["id"]: r["measured"] for r in own["rows"] if r["measured"] is not None}
        points, out = against(*card_points(card), device=card)
        for test in ("linear", "random", "find-fat"):
            errors = [abs(p["error_percent"]) for p in points
                      if kind(p) == test and p["parameters"]["chunk"] >= 4096]
            assert abs(100 - statistics.median(errors) - want[test]) < 0.001, (card, test)
        align = [abs(p["error_percent"]) for p in points if kind(p) == "align"]
        told = out["procedures"]["flashbench-align"]["median_error_percent"]
        assert abs(told - statistics.median(align)) < 1e-9, (card, told)


def test_summary_is_about_the_points():
    small_card()
    rates = [3e6, 5e6, 8e6, 1e5]
    points, out = against(*[point("seq-write", r, bs=4096 << i, size=1 << 20)
                            for i, r in enumerate(rates)],
                          point("somebody-elses", 5, op="read"),
                          point("flashbench-align", -3, "ns", align=4096, bs=1024, place="diff"))
    assert [p["state"] for p in points] == ["measured"] * 4 + ["left out"] * 2
    errors = [abs(p["measured"] / p["published"] - 1) * 100 for p in points[:4]]
    for p, error in zip(points, errors):
        assert abs(abs(p["error_percent"]) - error) < 1e-6
    assert abs(out["all"]["median_error_percent"] - statistics.median(errors)) < 1e-6
    assert out["all"]["points"] == 6 and out["all"]["compared"] == 4
    again, _ = against(*[dict(point("seq-write", [p["measured"] * f for f in (5, 1.05, 0.01)],
                                    **p["parameters"])) for p in points[:4]])
    assert abs(again[0]["error_percent"] - (1 / 1.05 - 1) * 100) < 0.01
    _, out = against(*[point("seq-write", p["measured"] * f, **p["parameters"])
                       for p, f in zip(points[:2], [1.05, 1.2])])
    assert out["all"]["share_within_10_percent"] == 0.5


def test_is_what_the_model_does():
    small_card()
    write("card2.ini", (SLC_PROFILE % "64M") + "r = seq-read bs=64K size=8M | 1 MB/s | 1%\n"
          "w = seq-write bs=64K size=8M | 1 MB/s | 1%\n")
    rows = {r["id"]: r["measured"] for r in json.loads(
        call("verify", "card2.ini", "--json", "--kernel", "none")[1])["rows"]}
    points, _ = against(point("seq-write", 1, bs=65536, size=8 << 20),
                        point("seq-read", 1, bs=65536, size=8 << 20))
    assert abs(points[0]["measured"] / 1e6 - rows["w"]) < 1e-5
    assert abs(points[1]["measured"] / 1e6 - rows["r"]) < 1e-5


def test_requests_go_where_they_are_told():
    small_card()
    # a read of one page takes as long wherever it is; across two pages it takes longer
    how = {"op": "read", "bs": 4096, "stride": 8192, "count": 64}
    write_all = point("seq-write", 1, bs=65536, size=64 << 20)
    points, _ = against(write_all, point("request", 1, "ns", start=0, **how),
                        point("request", 1, "ns", start=2048, **how),
                        point("request", 1, "ns", start=(1 << 40) + 8192, **how))
    one, two, far = (p["measured"] for p in points[1:])
    assert two > 1.2 * one and one == far
    _, out = against(point("request", 1, "ns", start=0, op="write", bs=512, stride=0, count=3))
    assert out["points"][0]["measured"] > 0


def test_places_of_an_alignment():
    """The last page of a block is read more slowly than the first of the next one."""
    card = write("mlc.ini", (SLC_PROFILE % "64M").replace("[fidelity]", "").replace(
        "cell = slc", "cell = mlc").replace("tR = 30us", "tR = 30us/130us"))
    places = ("pre", "on", "post")
    points, _ = against(point("seq-write", 1, bs=65536, size=64 << 20),
                        *[point("flashbench-align", 1, "ns", align=64 * 4096, bs=4096, place=place)
                          for place in places], device=card)
    pre, on, post = (p["measured"] for p in points[1:])
    assert abs(pre - post - 100e3) < 1 and on > pre + 1e3, (pre, on, post)


def test_parts_of_a_fill_have_their_requests_and_no_others():
    small_card()
    series = point("request", 1, "ns", op="write", bs=4096, start=0, stride=4096, count=4)
    points, _ = against(series, *[point("fill", 1, bs=4096, start=0, idle=0, after=after, size=size)
                                  for after, size in ((0, 4096), (4096, 4096), (8192, 8192))])
    for p in points[1:]:
        assert abs(p["measured"] * points[0]["measured"] / 4096e9 - 1) < 1e-9, points


def test_caches_rests_and_queues():
    """What idle, flush, depth and fill mean, on devices on which each of them matters."""
    small_card()
    text = (SLC_PROFILE % "64M").replace("[fidelity]", "")
    cached = write("cached.ini", text + "[cache]\nsize = 1M\n")
    lasting = write("lasting.ini", text + "[cache]\nsize = 1M\nvolatile = no\n[link]\ntype = usb-hs\n")
    wide = write("wide.ini", text.replace("cell = slc", "cell = slc\nchannels = 4") +
                 "[link]\ntype = uas\n")

    def series(device, **more):
        how = {"op": "write", "bs": 4096, "start": 0, "stride": 4096, "count": 64, **more}
        return against(point("request", 1, "ns", **how), device=device)[0][0]

    # a cache answers at once, and a flush waits for the flash; without a cache nobody sends one
    alone, flushed = (series(cached, flush=f)["measured"] for f in (False, True))
    assert flushed > alone + 300e3
    for device in "card.ini", lasting:
        assert series(device)["measured"] == series(device, flush=True)["measured"], device
    # a full cache is empty again after a rest
    full = point("fill", 1, bs=4096, start=0, idle=0, after=0, size=1 << 20)
    for idle, empty in ((0, False), (10**9, True)):
        points, _ = against(full, point("request", 1, "ns", op="write", bs=4096, start=1 << 20,
                                        stride=4096, count=64, idle=idle), device=cached)
        assert (points[1]["measured"] < 300e3) == empty, (idle, points)
    # reads from four channels: four are four times as quick, and more are not
    times = [against(point("seq-write", 1, bs=65536, size=64 << 20),
                     point("request", 1, "ns", op="read", bs=4096, start=0, stride=4096, count=64,
                           depth=n), device=wide)[0][1]["measured"] for n in (1, 2, 4, 8)]
    assert times[0] > 1.5 * times[1] > 2 * times[2] and times[3] > 0.7 * times[2], times
    # parts of one run: the first MiB goes to the cache
    parts = [point("fill", 1, bs=4096, start=0, idle=0, after=n << 20, size=1 << 20)
             for n in range(3)]
    rates = [p["measured"] for p in against(*parts, device=cached)[0]]
    assert rates[0] > 3 * rates[1] and abs(rates[1] / rates[2] - 1) < 0.1, rates
    write("my.json", document(point("request", 1, "ns", op="trim", bs=4096, start=0, stride=4096,
                                    count=64)))
    code, out, _ = call("verify", "card.ini", "--against", "my.json")
    assert code == 1 and "op=trim: the device has no TRIM (device.discard=no)" in out, out
    assert series(write("trims.ini", text.replace("[nand]", "discard = yes\n[nand]")),
                  op="trim")["state"] == "measured"
    points, _ = against(point("content", 3, "1", after="write", found="same", first=0, last=9))
    assert points[0]["state"] == "left out"


def test_medians_pushes_and_loads():
    """What median, push and load mean."""
    small_card()
    text = (SLC_PROFILE % "64M").replace("[fidelity]", "")
    cached = write("cached.ini", text + "[cache]\nsize = 1M\nvolatile = no\n")

    def one(device="card.ini", **more):
        how = {"op": "write", "bs": 4096, "start": 0, "stride": 4096, "count": 5, **more}
        return against(point("request", 1, "ns", **how), device=device)[0][0]["measured"]

    # a rest frees some of the cache: the first writes take no time, and most of them do
    full = point("fill", 1, bs=4096, start=0, idle=0, after=0, size=1 << 20)
    median, mean = (against(full, point("request", 1, "ns", op="write", bs=4096, start=1 << 20,
                                        stride=4096, count=64, median=m, idle=3 * 10**6),
                            device=cached)[0][1]["measured"] for m in (True, False))
    assert 0 < mean < median, (mean, median)
    assert median == int(median)
    # four writes to an empty cache take no time of the flash, unless more is pushed behind them
    alone, pushed = (one(device=cached, count=4, **more)
                     for more in ({}, {"push": 4 << 20, "push_start": 8 << 20}))
    assert pushed > 100 * alone, (alone, pushed)
    further = one(device=cached, count=4, push=8 << 20, push_start=8 << 20)
    assert further > 1.8 * pushed, (pushed, further)

    def load(name, unit, **more):
        how = {"op": "read", "pattern": "sequential", "bs": 65536, "size": 8 << 20, **more}
        return point(name, 1, unit, **how)

    points, _ = against(load("load", "bytes/s"), load("load-latency", "ns"),
                        point("seq-read", 1, bs=65536, size=8 << 20),
                        load("load", "bytes/s", op="write", pattern="random", depth=2))
    rate, latency, same = (p["measured"] for p in points[:3])
    assert abs(rate / same - 1) < 1e-6 and abs(65536e9 / latency / rate - 1) < 1e-6
    assert points[3]["state"] == "measured"
    write("my.json", document(load("load", "bytes/s", size=1 << 30)))
    code, out, _ = call("verify", "card.ini", "--against", "my.json")
    assert code == 1 and "offset=0 size=1073741824: does not fit the device of 67108864" in out, out


def test_the_order_of_the_file_counts():
    """On a device that has few units open, a test in front changes what the next one finds."""
    first = [point("flashbench-open-au", 1, erasesize=UNIT, open=7, random=True, chunk=c)
             for c in (UNIT, 65536)]
    then = [point("flashbench-open-au", 1, erasesize=UNIT, open=1, random=False, chunk=UNIT)]
    alone, _ = against(*then, device="sandisk-su04g")
    behind, _ = against(*first, *then, device="sandisk-su04g")
    assert alone[0]["measured"] != behind[2]["measured"]
    again, _ = against(*first, *then, device="sandisk-su04g")
    assert again == behind
    # a point in another place of the file belongs to the same test
    mixed, _ = against(first[0], *then, first[1], device="sandisk-su04g")
    assert [mixed[i]["measured"] for i in (0, 2, 1)] == [p["measured"] for p in behind]


def test_what_does_not_fit_has_failed():
    small_card()
    write("my.json", document(
        point("flashbench-align", 1, "ns", align=1 << 30, bs=1024, place="on"),
        point("flashbench-open-au", 1, erasesize=1 << 30, open=1, random=False, chunk=4096),
        point("seq-read", 1, bs=1 << 30, size=1 << 30),
        point("seq-write", 1, bs=4096, size=1 << 20)))
    code, out, err = call("verify", "card.ini", "--against", "my.json", "--json")
    points = json.loads(out)["points"]
    assert code == 1 and err == "" and points[3]["state"] == "measured"
    assert [p["state"] for p in points[:3]] == ["failed"] * 3
    assert "does not come to this point" in points[0]["reason"]
    assert "must fit the device" in points[1]["reason"] and "does not fit" in points[2]["reason"]
    text = call("verify", "card.ini", "--against", "my.json")[1]
    assert text.count("failed: ") == 3 and "1 of    4 points compared" in text


def test_page_cache():
    small_card()
    dd = point("dd", 1, op="write", bytes=4 << 20, on="device", bs=4096)
    points, _ = against(dd, dict(dd, parameters=dict(dd["parameters"], on="file")),
                        point("hdparm-t", 1e6, direct=False),
                        point("seq-write", 1, bs=1 << 20, size=4 << 20))
    assert [p["state"] for p in points] == ["measured", "left out", "measured", "measured"]
    assert points[0]["unit"] == "bytes/s" and points[1]["reason"]


def test_mistakes():
    small_card()

    def refuse(message, text):
        write("my.json", text)
        bad(message, "verify", "card.ini", "--against", "my.json")

    good_one = point("seq-write", 1, bs=4096, size=4096)
    refuse("my.json:1: is no JSON", "{")
    refuse('my.json: format: expected "flashemu-measurement"', "{}")
    refuse("my.json: version: expected 1 or 2", document(good_one).replace(": 1,", ": 3,", 1))
    refuse("my.json: points: expected a list of at least one point", document())
    refuse("my.json: points[1].procedure: expected a text", document(good_one, 3))
    refuse("my.json: points[0].parameters.bs: expected a whole number from 1 to 2^44",
           document(point("seq-write", 1, bs=-1, size=1)))
    many = {"op": "read", "bs": 512, "start": 0, "stride": 0, "count": 1}
    refuse("my.json: points[0].parameters.depth: expected at most 64",
           document(point("request", 1, "ns", depth=65, **many)))
    refuse("my.json: points[0].parameters.flush: expected false with more than one request",
           document(point("request", 1, "ns", depth=2, flush=True, **many)))
    refuse("my.json: points[0].parameters.median: expected true or false",
           document(point("request", 1, "ns", median=1, **many)))
    refuse("my.json: points[0].parameters.median: expected false with more than one request",
           document(point("request", 1, "ns", depth=2, median=True, **many)))
    refuse("my.json: points[0].parameters.push: expected no median, and one request in flight",
           document(point("request", 1, "ns", push=512, median=True, **many)))
    load = {"op": "read", "pattern": "random", "bs": 512, "size": 512}
    refuse("my.json: points[0].parameters.size: expected 1 to 1048576 requests of bs",
           document(point("load", 1, "bytes/s", **{**load, "size": 511})))
    fio = {"op": "read", "pattern": "random", "bs": 512, "depth": 1, "jobs": 1}
    refuse("my.json: points[0].parameters.jobs: expected a whole number from 1",
           document(point("fio-rate", 1, "bytes/s", **{**fio, "jobs": 0})))
    refuse("my.json: points[0].parameters.direct: expected true or false",
           document(point("fio-latency", 1, "ns", direct=1, **fio)))
    refuse("my.json: points[0].parameters.size: expected a whole number from 1",
           document(point("fio-latency", 1, "ns", size=-1, **fio)))
    for procedure, how in (("fio-rate", fio), ("load", load)):
        refuse("my.json: points[0].parameters.queue: expected true or false",
               document(point(procedure, 1, **how, queue="on")))
    refuse("my.json: points[0].unit: expected ns", document(point("fio-latency", 1, **fio)))
    refuse("my.json: points[0].parameters.test: expected one of: write rewrite random-write",
           document(point("iozone", 1, test="rd", file=1, bs=1, direct=True, fsync=True)))
    refuse("my.json: points[0].parameters: expected multiples of bs in after and size",
           document(point("fill", 1, bs=4096, start=0, idle=0, after=1, size=4096)))
    refuse("my.json: points[0].parameters.count: expected at most 1048576, and 2^44 bytes in all",
           document(point("request", 1, "ns", op="read", bs=1 << 44, start=0, stride=0,
                          count=1 << 20)))
    refuse("my.json: points[0].parameters.place: expected one of: pre on post diff",
           document(point("flashbench-align", 1, "ns", align=4096, bs=1024, place="o")))
    refuse("my.json: points[0].parameters.random: expected true or false",
           document(point("flashbench-open-au", 1, erasesize=1, open=1, chunk=1)))
    refuse("my.json: points[0].unit: expected bytes/s", document(dict(good_one, unit="ns")))
    refuse("my.json: points[0].values[1]: expected a number greater than 0",
           document(point("seq-write", [1, 0], bs=4096, size=4096)))
    refuse("my.json: points[0].values: expected a list of at least one number",
           document(point("seq-write", [], bs=4096, size=4096)))
    bad("nope.json: ", "verify", "card.ini", "--against", "nope.json")
    write("my.json", document(good_one))
    bad("--against takes a profile and changes of its keys, no seq-read", "verify", "card.ini",
        "seq-read", "--against", "my.json")
    for words in (["--quick"], ["--dry-run"], ["--dilate", "2"], ["--kernel", "vm"],
                  ["--kernel", "auto"], ["--kernel", "nonsense"], ["--verbose"]):
        bad("verify: --against takes a profile and changes of its keys, no %s: every point of the "
            "file is measured, without a kernel" % words[0], "verify", "card.ini", *words,
            "--against", "my.json")
    bad("--against takes a profile and changes of its keys, no --all: ", "verify", "--all",
        "--against", "my.json")
    assert "MB/s" in good("verify", "card.ini", "nand.tPROG=1ms", "--against", "my.json")


def nearly(value):
    """Without the digits in which two ways of printing differ."""
    return float(f"{value:.9g}")


def test_many_sets_are_as_one_after_the_other():
    small_card()
    given = [point("seq-write", 4e6, bs=4096 << i, size=1 << 20) for i in range(3)]
    given.append(point("flashbench-open-au", 3e6, erasesize=1 << 20, open=3, random=True,
                       chunk=65536))
    changes = [[], ["nand.tPROG=900us"], ["nand.tPROG=900us", "nand.tR=1ms"], []]
    alone = [[p["measured"] for p in against(*given, args=c)[0]] for c in changes]
    assert alone[0] == alone[3] != alone[1]
    found = sets([{"set": c} for c in changes])
    assert {f["state"] for f in found} == {"done"}
    assert [[nearly(m) for m in f["measured"]] for f in found] == \
        [[nearly(m) for m in a] for a in alone]
    for f in found:
        errors = [abs(math.log(m / p["values"][0])) for m, p in zip(f["measured"], given)]
        assert abs(f["sum"] - sum(errors)) < 1e-9
    # a subset has what the whole file gives
    part, later = sets([{"set": [], "points": [3, 1], "weights": [9, 2, 9, 0]},
                        {"set": [], "points": [3, 1]}])
    whole = found[0]["measured"]
    assert part["measured"] == [None, whole[1], None, whole[3]] == later["measured"]
    assert abs(part["sum"] - 2 * abs(math.log(whole[1] / 4e6))) < 1e-9
    # without weights a point counts once, whatever it counted in the set before
    assert abs(later["sum"] - abs(math.log(whole[1] / 4e6)) - abs(math.log(whole[3] / 3e6))) < 1e-9


def test_what_is_not_compared_is_done():
    """What a device was asked in front of a point decides what it takes: a unit too many, parts of
    one test, rests, TRIM.  Nothing is done behind the last point that is compared."""
    write("card.ini", (SLC_PROFILE % "64M").replace("[nand]", "discard = yes\nused = 64M\n[nand]")
          .replace("[fidelity]", ""))
    rows = [point("flashbench-open-au", 3e6, erasesize=1 << 20, open=3, random=True, chunk=size)
            for size in (65536, 16384)]
    given = [point("request", 1e6, "ns", op="write", bs=4096, start=0, stride=266240, count=6000),
             *rows, point("request", 1e6, "ns", op="trim", bs=1 << 20, start=0, stride=266240,
                          count=8),
             point("request", 1e6, "ns", op="write", bs=4096, start=1 << 19, stride=266240,
                   count=900, idle=10**9),
             point("seq-read", 4e6, bs=4096, size=1 << 20),
             point("request", 1e6, "ns", op="write", bs=4096, start=1 << 18, stride=266240,
                   count=900)]
    write("my.json", document(*given))
    whole, *some = sets([{"set": []}, *({"set": [], "points": [i]} for i in range(len(given)))])
    assert whole["state"] == "done" and None not in whole["measured"], whole
    for i, one in enumerate(some):
        assert [k for k, m in enumerate(one["measured"]) if m is not None] == [i]
        assert one["measured"][i] == whole["measured"][i], i
        write("my.json", document(given[i]))
        alone = sets([{"set": []}])[0]["measured"][0]
        assert (alone == whole["measured"][i]) == (i in (0, 3, 5)), i
    write("my.json", document(given[0], given[4]))
    alone = sets([{"set": []}])[0]["measured"]
    write("my.json", document(*given))
    left = sets([{"set": [], "points": [4], "left": [1, 2, 3]},
                 {"set": [], "left": [1, 2, 3, 5, 6]}])
    assert {m["measured"][4] for m in left} == {alone[1]} != {whole["measured"][4]}
    assert [m is None for m in left[1]["measured"]] == [i not in (0, 4) for i in range(7)]
    ns = int(whole["measured"][0] * 6000) + 1
    first, every = sets([{"set": [], "points": [0], "time": ns}, {"set": [], "time": ns}])
    assert (first["state"], every["state"]) == ("done", "stopped")


def test_beyond_a_knee_errors_count_less():
    small_card()
    write("my.json", document(*(point("seq-write", value, bs=4096, size=1 << 20)
                                for value in (1, 4e6))))
    plain, bent, plain_again = sets([{"set": []}, {"set": [], "knee": 0.25, "weights": [1, 3]},
                                     {"set": []}])
    assert plain == plain_again and bent["measured"] == plain["measured"]
    first, second = (abs(math.log(m / v)) for m, v in zip(bent["measured"], (1, 4e6)))
    wanted = 0.25 * math.log(1 + first / 0.25) + 3 * 0.25 * math.log(1 + second / 0.25)
    assert first > 1 and abs(bent["sum"] - wanted) < 1e-9
    # the bound is one of that sum
    assert sets([{"set": [], "knee": 0.25, "bound": bent["sum"]}])[0]["state"] == "done"


def test_a_bound_ends_a_set_early():
    small_card()
    given = [point("seq-write", 1, bs=4096 << i, size=1 << 20) for i in range(3)]
    write("my.json", document(*given))
    whole, early, no_bound = sets([{"set": []}, {"set": [], "bound": 1}, {"set": []}])
    assert early["state"] == "stopped" and early["measured"][1:] == [None, None]
    assert early["measured"][0] == whole["measured"][0] and early["sum"] > 1
    assert no_bound == whole
    late, enough = sets([{"set": [], "time": 10**7}, {"set": [], "time": 10**12}])
    assert late == early and enough == whole
    assert sets([{"set": [], "bound": whole["sum"] + 0.001}]) == [whole]


def test_a_set_that_makes_no_device_is_an_answer():
    small_card()
    write("my.json", document(point("seq-write", 5, bs=4096, size=65536)))
    found = sets([{"set": ["nand.page_size=3"]}, {"set": ["ftl.unit_size=4M"]}, {"set": []}])
    assert [f["state"] for f in found] == ["refused", "refused", "done"]
    assert found[0]["message"].startswith("nand.page_size=3: ") and found[0]["sum"] == 0
    assert found[0]["measured"] == [None] and found[2]["message"] is None


def test_mistakes_in_sets():
    small_card()
    write("my.json", document(point("seq-write", 5, bs=4096, size=65536)))
    for message, line in (
            ("set 2: is no JSON", "{"), ("set 2: unknown member 'zet'", {"zet": []}),
            ("set 2: set: expected a list", {}), ("set 2: set[0]: expected a text", {"set": [1]}),
            ("set 2: points[0]: expected a number below 1", {"set": [], "points": [1]}),
            ("set 2: points: expected a list", {"set": [], "points": 3}),
            ("set 2: left[1]: expected a number below 1", {"set": [], "left": [0, 1]}),
            ("set 2: left: expected a list", {"set": [], "left": {}}),
            ("set 2: weights: expected a list of 1", {"set": [], "weights": []}),
            ("set 2: weights[0]: expected", {"set": [], "weights": [-1]}),
            ("set 2: knee: expected", {"set": [], "knee": 0}),
            ("set 2: knee: expected", {"set": [], "knee": "1"}),
            ("set 2: bound: expected", {"set": [], "bound": -1}),
            ("set 2: time: expected", {"set": [], "time": 0.5})):
        assert message in sets([{"set": []}, line], code=2), line
    bad("has no effect without --against", "verify", "card.ini", "--sets", "-")
    bad("--sets takes a profile", "verify", "card.ini", "--against", "my.json", "--sets", "-",
        "nand.tR=1us")
    bad("nope: No such file", "verify", "card.ini", "--against", "my.json", "--sets", "nope")
    # A file is named once, and a folder is no file.
    for name, why in (("nope", "No such file or directory"), (".", "Is a directory")):
        assert call("verify", "card.ini", "--against", name) == (2, "", "flashemu: %s: %s\n" % (name, why))


def test_any_change_is_refused_or_run():
    small_card()
    draw = random.Random(3)
    text = document(point("seq-write", [5, 6], bs=4096, size=65536),
                    point("request", 7, "ns", op="read", bs=512, start=0, stride=512, count=3),
                    point("flashbench-align", 1, "ns", align=4096, bs=1024, place="on"))
    for _ in range(60):
        at = draw.randrange(len(text))
        changed = text[:at] + draw.choice(["", "-", '"', "[", "null", ",", "1e999", "true"]) + \
            text[at + draw.randrange(3):]
        write("my.json", changed)
        code, out, err = call("verify", "card.ini", "--against", "my.json", "--json")
        assert code in (0, 1, 2) and err.count("\n") == (code == 2), (changed, code, err)
        if code < 2:
            json.loads(out)


run(globals())
