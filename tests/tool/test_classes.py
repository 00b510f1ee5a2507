#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu verify --class: which classes of the SD specification a profile would be granted."""

from flashemu_script import run
from flashemu_tool import SCHEDULE, bad, good, good_json, write


def classes(*args):
    found = good_json("verify", "card.ini", "--class", "--json", *args)["classes"]
    return {c["class"]: c for c in found}


def granted(found):
    return [c["class"] for c in found.values() if c["granted"]]


def test_classes_follow_from_the_schedule():
    write("card.ini", SCHEDULE % 1)
    small = ["device.capacity=128M", "device.used=0"]
    found = classes(*small)  # 8.192 MB/s
    assert list(found) == ["A1", "A2", "C2", "C4", "C6", "C10", "U1", "U3", "V6", "V10", "V30",
                           "V60", "V90"]
    assert granted(found) == ["C2", "C4", "C6", "V6"], granted(found)
    assert found["C10"]["reason"] == "the slowest unit is written at 8.19 MB/s"
    assert found["A1"]["reason"] == "writes in order at 8.19 MB/s"
    assert found["A2"]["reason"] == "there is no command queue"
    fast = [*small, "nand.tPROG=250us"]  # 32.768 MB/s, 10000 reads and 4000 writes a second
    assert granted(classes(*fast)) == ["A1", "C2", "C4", "C6", "C10", "U1", "U3", "V6", "V10",
                                       "V30"]
    queued = [*fast, "link.queue_depth=32"]
    assert "A2" in granted(classes(*queued))
    assert "A2" not in granted(classes(*queued, "link.queue=off"))
    slow = classes(*queued, "nand.tR=400us")  # two dies in random order: less than 5000
    assert slow["A1"]["granted"] and not slow["A2"]["granted"], slow
    assert "random reads a second, 4000 are needed" in slow["A2"]["reason"], slow
    late = classes(*fast, "link.command_overhead=260ms")
    assert late["V6"]["reason"].startswith("the slowest unit"), late
    text = good("verify", "card.ini", "--class", *small)
    assert "  C6   granted      8.2 MB/s\n" in text and "  C10  not granted  the slow" in text


def test_classes_have_limits_of_time():
    write("card.ini", SCHEDULE % 1)  # an erase that takes 0.3 s for each MiB
    found = classes("device.capacity=128M", "device.used=1G", "nand.tPROG=10us", "nand.tBERS=300ms",
                    "nand.pages_per_block=256", "nand.dies_per_channel=1", "ftl.op=1%")
    assert found["C2"]["reason"].startswith("one write takes 300 ms, 250 are allowed"), found["C2"]


def test_classes_are_granted_at_their_rate():
    """A device whose link alone takes time, a percent faster and slower than each class."""
    rates = {"A1": 10, "C2": 2, "C4": 4, "C6": 6, "C10": 10, "U1": 10, "U3": 30, "V6": 6,
             "V10": 10, "V30": 30, "V60": 60, "V90": 90}
    for rate in sorted(set(rates.values())):
        for percent in 99, 101:
            found = good_json("verify", "ideal", "--class", "--json",
                              "link.bandwidth=%dKB/s" % (rate * percent * 10))["classes"]
            # without a queue there is no A2, and random reads are slower than A1 at first
            assert [c["class"] for c in found if c["granted"] and c["class"] != "A1"] == [
                name for name, least in rates.items()
                if least * 100 <= rate * percent and name != "A1"], (rate, percent)
            assert found[0]["class"] == "A1"
            assert found[0]["granted"] == (rate * percent >= 1000), (rate, percent)


def test_classes_ask_for_the_slowest_unit():
    # half of the units that are written have data already
    some, every, none = (good_json("verify", "transcend8g", "--class", "--json",
                                   "device.used=" + used)["classes"]
                         for used in ("3840M", "16T", "0"))
    assert len(some) == len(every) == len(none) > 10, some
    for a, b, c in zip(some[2:], every[2:], none[2:]):
        assert a == b and a["mb_per_s"] < 0.7 * c["mb_per_s"], (a, b, c)


def test_classes_know_large_cards():
    """Behind 32 GiB a unit has 64 MiB instead of 4, and a write may take 500 ms instead of 250."""
    def slow(capacity):
        text = good("verify", "ideal", "--class", "device.capacity=" + capacity,
                    "faults.hang=300ms,request:5")
        return {line.split()[0]: line for line in text.splitlines()[1:]}
    for capacity in "1G", "32G":
        found = slow(capacity)
        assert found["C10"].endswith("one write takes 300 ms, 250 are allowed"), found
        assert found["V30"].endswith("the slowest unit is written at 13.98 MB/s"), found
    assert "  granted  " in slow("64G")["V90"]


def test_classes_allow_100_ms_for_the_fat():
    for overhead, word in ("33ms", " granted  "), ("34ms", "updates of the FAT take 102 ms in"):
        text = good("verify", "ideal", "--class", "link.max_transfer=1M",
                    "link.command_overhead=" + overhead)
        lines = [line for line in text.splitlines() if line.split()[0] in ("C10", "U1")]
        assert len(lines) == 2 and all(word in line for line in lines), text


def test_classes_of_wrong_commands():
    write("card.ini", SCHEDULE % 1)
    bad("goes with a profile", "verify", "card.ini", "--class", "--quick")
    bad("takes no procedure: x", "verify", "card.ini", "--class", "x")
    bad("which profile", "verify", "--class")
    bad("8 allocation units of 524288 bytes in the second half", "verify", "card.ini", "--class",
        "device.capacity=4M")


run(globals())
