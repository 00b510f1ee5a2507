#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab life: what /proc/diskstats, iostat, sar, sadf and mmc print, in all their forms."""

import json

from flashemu_lab_bench import bad, good, good_json, write
from flashemu_script import run

from flashemu_lab.core.errors import LabError
from flashemu_lab.life import diskstats, extcsd, reading, readings, sysstat, works
from flashemu_lab.life.reading import Reading
from flashemu_lab.runs.program import Tool

DAY = 86400


def refused(said, function, *arguments):
    """Asserts that it is refused by one line that says this."""
    try:
        found = function(*arguments)
    except LabError as e:
        assert said in str(e) and "\n" not in str(e), (said, str(e))
        return
    raise AssertionError((said, found))


# ---- /proc/diskstats ----

# By kernels before 4.18, before 5.5, and later; the partition comes first where a kernel lists it so.
TAILS = ("", " 0 0 0 0", " 0 0 0 0 17 4")
DISKS = """   8       0 sda 100 0 800 9 10 0 80 9 0 9 9{0}
 179       0 mmcblk0 12039 3022 983474 90000 {1} 9 {2} 9 0 9 9{0}
 179       1 mmcblk0p1 200 20 9000 100 10 0 80 10 0 100 110{0}
"""


def disks(writes, sectors, tail=TAILS[1]):
    return DISKS.format(tail, writes, sectors)


WANT = Reading("/proc/diskstats", "mmcblk0", 51200000 * 12, 102400, 7200)
FIRST, SECOND = disks(400, 1803200), disks(900, 1903200)


def of_sums(first, second, apart=7200, device=""):
    return diskstats.read([("a", first), ("b", second)], device, apart)


def test_two_readings_of_any_kernel():
    """100000 sectors in 500 writes within two hours."""
    for tail in TAILS:
        assert of_sums(disks(400, 1803200, tail), disks(900, 1903200, tail)) == WANT, tail
    assert of_sums(FIRST, "".join(reversed(SECOND.splitlines(keepends=True)))) == WANT
    old_partition = "   3    1 hda1 35486 38030 38030 38030\n"
    old = (disks(*sums, "") + old_partition for sums in ((400, 1803200), (900, 1903200)))
    assert of_sums(*old) == WANT
    assert of_sums(FIRST + "\n\n", "$ cat /proc/diskstats\n" + SECOND) == WANT
    raid = " 104 0 cciss/c0d0 100 0 800 9 {} 0 {} 9 0 9 9\n"
    found = of_sums(raid.format(400, 1803200), raid.format(900, 1903200))
    assert (found.device, found.per_day) == ("cciss/c0d0", WANT.per_day)
    assert readings.kind_of(FIRST) == "diskstats"


def test_clocks_in_front_of_readings():
    for clocks in (("2026-02-28 23:00:00", "2026-03-01T01:00:00"), ("1700000000", "1700007200"),
                   ("Fri Jan  9 22:30:00 UTC 2026", "Sat Jan 10 00:30:00 UTC 2026"),
                   ("Fri Jan  9 11:30:00 AM UTC 2026", "Fri Jan  9 01:30:00 PM UTC 2026"),
                   ("Sat 31 Jan 23:00:00 GMT 2026", "Sun 1 Feb 01:00:00 GMT 2026"),
                   ("Fri, 09 Jan 2026 22:30:00 +0100", "Sat, 10 Jan 2026 00:30:00 +0100"),
                   ("2026-03-29T01:30:00+01:00", "2026-03-29T04:30:00+02:00"),
                   ("2026-01-09T22:30:00,123456789+01:00", "2026-01-10T00:30:00,123456789+01:00"),
                   ("100.5 90.1", "7300.5 7000.2")):
        dated = [(n, f"{clock}\n{t}") for (n, t), clock in
                 zip((("a", FIRST), ("b", SECOND)), clocks)]
        assert diskstats.read(dated, "", 0) == WANT, clocks
        assert diskstats.read([("x", "".join(t for _, t in dated))], "", 0) == WANT, clocks


def test_a_line_that_is_no_clock():
    """Dates that there are not, more seconds than a clock has, and digits of other scripts."""
    for line in ("2026-13-01 10:00:00", "2026-11-31 10:00:00", "2026-11-30 24:00:01", "0000-01-01 10:00:00",
                 "2026-11-30 10:00:00 +31:00", "1" * 400, "\u0661\u0667\u0660\u0660", "\uff11.5 \uff12.5",
                 "\u0662\u0660\u0662\u0666-\u0661\u0661-\u0663\u0660 \u0661\u0660:\u0660\u0660:\u0660\u0660"):
        assert reading.clock_of(line) is None, line
        refused("do not say how much time lies between", of_sums, f"{line}\n{FIRST}", f"{line}\n{SECOND}", 0)


def test_counters_that_go_round_and_counters_that_are_set_back():
    """2^32 sectors are 2 TiB; 100000 of them in 500 writes, some on each side of it."""
    assert of_sums(disks(400, 2**32 - 60000), disks(900, 40000)) == WANT
    assert of_sums(disks(2**32 - 100, 1803200), disks(400, 1903200)) == WANT
    refused("attached anew", of_sums, disks(400, 1803200), disks(30, 1903200))
    refused("attached anew", of_sums, disks(400, 2**33), disks(900, 40000))
    # A later one makes up for nothing: it was started anew in the middle.
    refused("started anew", diskstats.read, [("a", FIRST), ("b", disks(5, 90)), ("c", SECOND)], "",
            9000)
    refused("started anew", of_sums, FIRST, SECOND.replace(" 12039 3022 983474", " 9 3022 90"))


def test_the_device_that_is_meant():
    assert of_sums(FIRST, SECOND, device="/dev/mmcblk0") == WANT
    refused("has no device 'mmcblk1'; it has sda, mmcblk0, mmcblk0p1", of_sums, FIRST, SECOND, 60,
            "mmcblk1")
    part = SECOND.replace("mmcblk0p1 200 20 9000 100 10 0 80", "mmcblk0p1 200 20 9000 100 12 0 480")
    found = of_sums(FIRST, part, device="mmcblk0p1")
    assert (found.per_day, found.size) == (400 * 512 * 12, 102400)
    assert of_sums(FIRST, part).device == "mmcblk0", "a whole disk, not its partition"
    lone = [text.splitlines(keepends=True)[2] for text in (FIRST, part)]
    assert of_sums(*lone).device == "mmcblk0p1"


def test_readings_that_do_not_belong_together():
    dated = f"2026-01-09 22:30:00\n{FIRST}", f"2026-01-10 00:30:00\n{SECOND}"
    refused("their order is wrong", of_sums, dated[1], dated[0], 0)
    refused("their order is wrong", of_sums, SECOND, FIRST)
    refused("of the same time", of_sums, dated[0], dated[0], 0)
    refused("both readings are the same", of_sums, FIRST, FIRST)
    refused("--apart says 60 s, and the readings' own times 7200 s", of_sums, *dated, 60)
    refused("--apart TIME", of_sums, FIRST, SECOND, 0)
    refused("--apart TIME", of_sums, f"100.5 90.1\n{FIRST}", f"1700000000\n{SECOND}", 0)
    refused("a second one is needed", diskstats.read, [("a", FIRST)], "", 60)
    refused("no device in common", of_sums, FIRST.splitlines()[0], SECOND.splitlines()[1])


def test_readings_of_two_machines():
    """A disk that is in one of them only, with writes; what was never written to does not matter."""
    other = SECOND.replace("mmcblk0", "mmcblk1")
    refused("mmcblk0, mmcblk0p1, mmcblk1 and mmcblk1p1 are not in each of the readings", of_sums, FIRST,
            other)
    refused("mmcblk0p1 is not in each", of_sums, FIRST, "".join(SECOND.splitlines(keepends=True)[:2]))
    refused("has no device 'mmcblk0'; it has sda", of_sums, FIRST, other, 7200, "mmcblk0")
    stick = "   8      16 sdb 90 0 700 9 {} 0 {} 9 0 9 9\n"
    assert of_sums(FIRST, SECOND + stick.format(0, 0)) == WANT
    refused("sdb is not in each of the readings", of_sums, FIRST, SECOND + stick.format(1, 8))
    assert of_sums(FIRST, SECOND + stick.format(1, 8), device="mmcblk0") == WANT
    assert of_sums(FIRST + "   7  0 loop0 9 0 8 9 9 0 8 9 0 9 9\n", SECOND) == WANT


def test_a_clock_that_was_not_set():
    """A board without a battery begins in 1970, and hears of the time from the network."""
    for first, second, years in (("1970-01-01 00:00:31", "2026-11-30 10:00:00", 57),
                                 ("31", "1796032800", 57), ("Thu Jan 1 00:00:31 UTC 1970",
                                                            "Sun Nov 30 10:00:00 UTC 2025", 56)):
        refused(f"the readings are {years} years apart by their own times; had somebody set the clock",
                of_sums, f"{first}\n{FIRST}", f"{second}\n{SECOND}", 0)
    assert of_sums(f"0\n{FIRST}", f"7200\n{SECOND}", 0) == WANT, "seconds that begin anywhere"


def test_readings_that_were_cut_off():
    """Wherever the text ends, it is told, or nothing that counts is missing."""
    whole = len(FIRST.splitlines()[0])
    for end in range(whole + 25, len(FIRST)):
        try:
            found = of_sums(FIRST[:end], SECOND)
        except LabError as e:
            assert "\n" not in str(e)
        else:
            assert found == WANT, FIRST[:end]
    refused("a:2: mmcblk0 has 6 numbers; allowed: 11, 15, 17 or more; has it been cut off?", of_sums,
            FIRST[:FIRST.index(" 1803200")], SECOND)


# ---- iostat and sar ----

X12 = ("r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz d/s dkB/s "
       "drqm/s %drqm d_await dareq-sz f/s f_await aqu-sz %util")
X9 = "Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await svctm %util\n"
BANNER = "Linux 6.1.0-18-amd64 (pi) \t11/30/26 \t_x86_64_\t(2 CPU)\n\n"
CPU = "avg-cpu:  %user %nice %system %iowait %steal %idle\n  35.72 29.61 18.64 0.46 1.33 14.24\n\n"
BASIC = "Device tps kB_read/s kB_wrtn/s kB_dscd/s kB_read kB_wrtn kB_dscd\n"

# Program, text, bytes a second, bytes of a write, seconds.
TABLES = (
    ("iostat", BANNER + CPU + BASIC + "mmcblk0 5.52 1.2 121.71 0 1 1217100 0\n\n", 121.71 * 1024, 0,
     10000),
    ("iostat", BASIC.replace("kB", "MB") + "mmcblk0 5 1 2.50 0 1 9 0\n", 2.5 * 2**20, 0, 3.6),
    ("iostat", "Device:  tps  Blk_read/s Blk_wrtn/s Blk_read Blk_wrtn\nmmcblk0 4 1 77 3 7700\n",
     77 * 512, 0, 100),
    ("iostat", f"Device {X12}\nsda 9 9 9 9 9 9 0.60 6.33 9 9 9 10.55 0 0 0 0 0 0 0 0 0 0\n"
     "mmcblk0 0,1 9,0 9 9 9 9 0,80 16,00 9 9 9 20,00 0 0 0 0 0 0 0 0 0 0\n", 16 * 1024, 20 * 1024, 0),
    ("iostat", f"Device {X12}\nmmcblk0 0 9 9 9 9 9 1.00 2.00 9 9 9 2048 0 0 0 0 0 0 0 0 0 0\n".replace(
        "wkB/s", "wMB/s"), 2 * 2**20, 2 * 2**20, 0),
    # The first report is since the start; the others' clocks tell how long they were.
    ("iostat", f"11/30/26 11:59:00 AM\n{CPU}{X9}mmcblk0 0 1 0 2 0 64 32 0 9 9 9\n\n"
     f"11/30/26 12:59:00 PM\n{CPU}{X9}mmcblk0 0 1 0 4 0 256 64 0 9 9 9\n\n"
     f"11/30/26 01:59:00 PM\n{CPU}{X9}mmcblk0 0 1 0 6 0 512 64 0 9 9 9\n", 384 * 512, 384 * 512 / 5,
     7200),
    # A long name has a line of its own; with --human the name comes last, and numbers have units.
    ("iostat", X9 + "mmcblk0\n 0 1 0 2 0 64 32 0 9 9 9\n", 64 * 512, 64 * 512 / 2, 0),
    ("iostat", "tps kB_read/s kB_wrtn/s kB_read kB_wrtn Device\n 18.36 1.1M 2.5M 58.2G 135.0G vda\n"
     " 0.71 60.7k 99.9k 3.2G 5.3G loop1\n", 2.5 * 2**20, 0, 135 * 1024 / 2.5),
    ("iostat", "r/s rkB/s rrqm/s %rrqm r_await rareq-sz Device\n9 9 9 9 9 9 vda\n\nw/s wkB/s wrqm/s "
     "%wrqm w_await wareq-sz Device\n 8.00 1.0M 9 9 9 128.0k vda\n", 2**20, 2**17, 0),
    ("sar", "12:00:01 AM DEV tps rkB/s wkB/s areq-sz aqu-sz await svctm %util\n"
     "12:10:01 AM dev179-0 5.5 0 120 22 0 9 9 9\n12:20:01 AM dev179-0 5.5 0 60 24 0 9 9 9\n",
     90 * 1024, 23 * 1024, 1200),
    ("sar", "11:50:01 AM DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util\n12:00:01 PM mmcblk0 5.5 "
     "0 120 0 22 0 9 9\n\n02:00:01 PM LINUX RESTART (4 CPU)\n\n02:10:01 PM DEV tps rkB/s wkB/s dkB/s "
     "areq-sz aqu-sz await %util\n02:20:01 PM mmcblk0 5.5 0 60 0 24 0 9 9\n", 90 * 1024, 23 * 1024,
     9000),
    ("sar", "00:00:01 DEV tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util\n"
     "00:10:01 dev179-0 5.5 0 120 22 0 9 9 9\n\n"
     "Average: DEV tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util\n"
     "Average: dev179-0 5.5 0 50 30 0 9 9 9\n\n"
     "12:00:00 IFACE rxpck/s txpck/s\n03:00:00 eth0 1 2\n\n"
     "Average: IFACE rxpck/s txpck/s rxkB/s txkB/s rxcmp/s txcmp/s rxmcst/s %ifutil\n"
     "Average: eth0 1 2 3 999999 5 6 7 8\n", 50 * 512, 30 * 512, 600),
    # -b has all disks in one; -d of the same text is better.
    ("sar", "00:00:01 tps rtps wtps dtps bread/s bwrtn/s bdscd/s\n00:10:01 9 1 8,00 0 3 1600,00 0\n"
     "Durchschn.: 9 1 4,00 0 3 800,00 0\n", 800 * 512, 200 * 512, 600),
    ("sar", "00:00:01 tps rtps wtps bread/s bwrtn/s\n00:10:01 9 1 8 3 1600\n\n00:00:01 tps rkB/s wkB/s "
     "areq-sz DEV\n00:10:01 9 1 8 4 mmcblk0\n", 8 * 1024, 4096, 600))

AVERAGES = ("Average:", "Durchschn.:", "Moyenne\u202f:", "Trung bình:", "平均値:", "平均時間：",
            "Среднее:")


def test_tables_of_iostat_and_sar():
    for kind, text, rate, size, seconds in TABLES:
        assert readings.kind_of(text) == kind, text
        found = sysstat.read(text, "", "x")
        assert abs(found.per_day / DAY / rate - 1) < 1e-9, (text, found.per_day / DAY)
        assert abs(found.size - size) < 1e-6, (text, found.size)
        assert abs(found.seconds - seconds) < 1e-6, (text, found.seconds)
    found = sysstat.read(TABLES[3][1], "/dev/sda", "x")
    assert (found.device, found.per_day) == ("sda", 6.33 * 1024 * DAY)


def test_a_mean_in_any_language():
    for word in AVERAGES:
        for clock in ("12:00:01 AM", "00:00:01", "00.00.01", "00时00分01秒"):
            n = len(clock.split()) - len(word.split())
            pad = " -" * n if n > 0 else ""
            text = (f"{clock} DEV tps wkB/s %util\n{clock} mmcblk0 1,0 7,00 0\n\n"
                    f"{word}{pad} DEV tps wkB/s %util\n{word}{pad} mmcblk0 1,0 2,50 0\n")
            assert sysstat.read(text, "", "x").per_day == 2560 * DAY, (word, clock)


DAY_OF_SAR = """Linux 6.1.0-18-armv6l (pi) \t11/{}/26 \t_armv6l_\t(1 CPU)

00:00:01 DEV tps rkB/s wkB/s areq-sz aqu-sz await %util
{}
Average: DEV tps rkB/s wkB/s areq-sz aqu-sz await %util
Average: mmcblk0 5.5 0 {} 24 0 9 9
"""


def test_sar_of_several_days():
    """A day of 24 hours with 10 kB/s, six hours of the next with 50: 18 kB/s.  Its files are put one
    behind the other, so a banner may follow a table without an empty line; another table in front
    has its own hours."""
    def hours(n):
        return "".join(f"{h % 24:02}:00:01 mmcblk0 5.5 0 7 24 0 9 9\n" for h in range(1, n + 1))
    days = DAY_OF_SAR.format(28, hours(24), 10) + DAY_OF_SAR.format(29, hours(6), 50)
    cpu = ("00:00:01 CPU %user %idle\n05:00:01 all 1 2\nAverage: CPU %user %idle\nAverage: all 1 2\n\n"
           "00:00:01 DEV")
    for text in (days, days.replace("00:00:01 DEV", cpu)):
        found = sysstat.read(text, "", "x")
        assert abs(found.per_day / DAY / 1024 - 18) < 1e-9, found.per_day / DAY / 1024
        assert (found.seconds, found.size) == (30 * 3600, 24 * 1024), found


def test_iostat_that_was_started_each_hour():
    """Each run has a first report since the start of the machine, and with an interval later ones."""
    def run_of(*rates):
        return BANNER + "".join(CPU + BASIC + f"mmcblk0 5 1 {r} 0 1 {r * 600} 0\n\n" for r in rates)
    assert sysstat.read(run_of(99, 10) + run_of(77, 30), "", "x").per_day == 20 * 1024 * DAY
    assert sysstat.read(run_of(10) + run_of(10), "", "x").per_day == 10 * 1024 * DAY


HEAD = "# hostname;interval;timestamp;"


def test_what_sadf_prints():
    """An hour of 10 kB/s and ten minutes of 80; a restart in between is no reading."""
    semicolons = ("DEV;tps;rkB/s;wkB/s;areq-sz\npi;3600;2026-11-30 01:00:00 UTC;mmcblk0;1;0;10,00;4\n"
                  "pi;-1;2026-11-30 01:00:30 UTC;LINUX-RESTART\t(4 CPU)\n"
                  "pi;600;2026-11-30 01:10:30 UTC;mmcblk0;1;0;80,00;8\n")
    across = ("tps;rtps;wtps;bread/s;bwrtn/s;DEV;tps;rkB/s;wkB/s;areq-sz[...]\n"
              "pi;3600;2026-11-30 01:00:00 UTC;9;9;9;9;9;sda;1;0;1;4;mmcblk0;1;0;10;4\n"
              "pi;600;2026-11-30 01:10:30 UTC;9;9;9;9;9;sda;1;0;1;4;mmcblk0;1;0;80;8\n")
    ppc = "".join(f"pi\t{n}\t2026-11-30 0{n}\tmmcblk0\t{column}\t{value}\n"
                  for n, rate, size in ((3600, 10, 4), (600, 80, 8))
                  for column, value in (("tps", 1), ("wkB/s", rate), ("areq-sz", size)))
    disk = '"disk": [{"disk-device": "mmcblk0", "tps": 1.00, %s}]}'
    objects = '{"sysstat": {"hosts": [{"statistics": [%s]}]}}' % ", ".join(
        f'{{"timestamp": {{"time": "01:00:00", "utc": 1, "interval": {n}}}, {disk % fields}'
        for n, fields in ((3600, '"wr_sec": 20.00, "wkB": 10.00, "avgrq-sz": 8.00, "areq-sz": 4.00'),
                          (600, '"wr_sec": 160.00, "wkB": 80.00, "avgrq-sz": 16.0, "areq-sz": 8.0')))
    commas = objects.replace("0.00", "0,00")  # old versions did that
    elements = '<?xml version="1.0"?>\n<sysstat>\n' + "".join(
        f'<timestamp date="2026-11-30" time="01:00:00" utc="1" interval="{n}"><disk per="second">'
        f'<disk-device dev="mmcblk0" tps="1.00" wr_sec="{2 * rate}" wkB="{rate}" areq-sz="{size}"/>\n'
        for n, rate, size in ((3600, 10, 4), (600, 80, 8)))
    for text in (HEAD + semicolons, HEAD + across, ppc, objects, commas, elements,
                 HEAD + semicolons.replace("areq-sz", "avgrq-sz").replace(";4\n", ";8\n").replace(
                     ";8\n", ";16\n").replace("00;16\npi;-1", "00;8\npi;-1")):
        assert readings.kind_of(text) == "sar", text
        found = sysstat.read(text, "", "x")
        assert abs(found.per_day / DAY - 20 * 1024) < 1e-6, (text, found.per_day / DAY / 1024)
        assert (found.device, found.seconds) == ("mmcblk0", 4200), (text, found)
        assert abs(found.size - (4096 * 3600 + 8192 * 600) / 4200) < 1e-6, "requests of 4 and of 8 KiB"
    both = HEAD + "tps;rtps;wtps;bread/s;bwrtn/s\npi;600;2026-11-30 01:00:00 UTC;9;1;4;9;1600\n"
    assert sysstat.read(both, "", "x") == Reading("sar", sysstat.ALL, 1600 * 512 * DAY, 400 * 512, 600)


def test_what_iostat_prints_as_json():
    def text(*reports):
        return json.dumps({"sysstat": {"hosts": [{"nodename": "pi", "statistics": [
            {"timestamp": f"11/30/26 11:0{i}:00", "avg-cpu": {"user": 1}, "disk": [
                {"disk_device": "mmcblk0", **r}, {"disk_device": "loop0", "wkB/s": 1}]}
            for i, r in enumerate(reports)]}]}})
    new = text({"w/s": 1, "wkB/s": 999, "wareq-sz": 9}, {"w/s": 2, "wkB/s": 10}, {"w/s": 3, "wkB/s": 40})
    assert readings.kind_of(new) == "iostat"
    assert sysstat.read(new, "", "x") == Reading("iostat", "mmcblk0", 25600 * DAY, 10240, 120)
    old = text({"w": 2.5, "wkB": 10})
    assert sysstat.read(old, "", "x") == Reading("iostat", "mmcblk0", 10240 * DAY, 4096, 0)
    basic = text({"tps": 3, "MB_wrtn/s": 2, "MB_wrtn": 100})
    assert sysstat.read(basic, "", "x") == Reading("iostat", "mmcblk0", 2**21 * DAY, 0, 50)
    refused("x:1: is no JSON", sysstat.read, new[:-20], "", "x")
    deep = '{"sysstat": ' + 50000 * "[" + "]" * 50000 + ', "disk_device": 1}'
    assert readings.kind_of(deep) == "iostat"
    refused("is no JSON that can be read", sysstat.read, deep, "", "x")
    for old, other in (('{"timestamp"', '5, {"timestamp"'), ('"11/30/26 11:00:00"', '{"interval": []}'),
                       ('"11/30/26 11:00:00"', '{"interval": "x"}'), ('"mmcblk0", ', '"mmcblk0"}, 7, {'),
                       ('"disk": [', '"io": 3, "disk": ['), ('"disk": [', '"io": {"io-writes": 3}, "disk": ['),
                       ('"disk": [', '"disk": 3, "dusk": [')):
        assert old in new, old
        refused("x: report 1 is not what sysstat prints", sysstat.read, new.replace(old, other, 1), "", "x")
    refused("no sysstat.hosts", sysstat.read, '{"sysstat": {}}', "", "x")


def test_tables_that_do_not_tell():
    cpu = "00:00:01 CPU %user %idle\n00:10:01 all 1 2\n"
    short = BANNER + "Device tps kB_read/s kB_w+d/s kB_read kB_w+d\nvda 146.49 846.86 8737.06 4 9\n"
    device = TABLES[3][1]
    for said, text, name in (
            ("has no line with the rate of writes of a device; sar -d", BANNER + cpu, ""),
            ("leave out -s", short, ""),
            ("has no device 'mmcblk1'; it has sda, mmcblk0", device, "mmcblk1"),
            ("x:3: has 17 columns instead of 23; it has been cut off", device[:-13], ""),
            ("wkb/s is '-', which is no number", device.replace("16,00", "-"), ""),
            ("wkb/s is '-18446744073709551615.00', which is no number", device.replace(
                "16,00", "-18446744073709551615.00"), ""),
            ("x:2: has 7 fields instead of 8", HEAD + "DEV;tps;wkB/s;%util;x\npi;600;a;sda;1;2;3\n", "")):
        assert readings.kind_of(text), text
        refused(said, sysstat.read, text, name, "x")


def test_how_files_are_written():
    """Line ends and encodings of other systems, and files that are no text."""
    table = TABLES[0][1]
    for i, data in enumerate((table.replace("\n", "\r\n").encode(), table.encode("utf-16"),
                              b"\xef\xbb\xbf" + table.encode(), table.encode() + b"Ger\xe4t\n")):
        path = write(f"table{i}", "")
        with open(path, "wb") as f:
            f.write(data)
        w = works.read(Tool(), [path], works.Told())[0]
        assert abs(w.per_day - 121.71 * 1024 * DAY) < 1, i
    with open("sa30", "wb") as f:
        f.write(b"\x96\xd5\x00\x75" + bytes(1000))
    refused("sadf -d sa30 -- -d", works.read, Tool(), ["sa30"], works.Told())
    quick = works.read(Tool(), [write("quick", TABLES[1][1])], works.Told())[0]
    assert quick.doubts == ("the shape of the requests is assumed",
                            "the readings cover 3.6 s, which stand for years")


FRENCH = """Linux 4.9.0-6-amd64 (deb) \t30/11/2026 \t_x86_64_\t(2 CPU)

00:00:01          DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util
00:10:01       dev8-0      1,25      0,00     32,40     25,92      0,00      1,23      0,40      0,05
00:20:01       dev8-0      1,31      0,00     34,00     25,95      0,00      1,23      0,40      0,05

Moyenne :         DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util
Moyenne :      dev8-0      1,28      0,00     33,20     26,00      0,00      1,23      0,40      0,05
"""
KOREAN = """Linux 5.15.0 (pi) \t2026년 11월 30일 \t_aarch64_\t(4 CPU)

00시 00분 01초       DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
00시 10분 01초   mmcblk0      1.00      0.00     10.00      0.00      5.00      0.00      1.00      0.10
00시 20분 01초   mmcblk0      1.00      0.00     30.00      0.00      5.00      0.00      1.00      0.10
평균값:         DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
평균값:     mmcblk0      1.00      0.00     20.00      0.00      5.00      0.00      1.00      0.10
"""
HUMAN = """Linux 6.8.0 (pi) \t11/30/26 \t_aarch64_\t(4 CPU)

00:00:01          tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util DEV
00:10:01         1.15      0.0k      9.4k      0.0k      8.1k      0.00      1.43      0.1% mmcblk0
Average:         1.15      0.0k      9.4k      0.0k      8.1k      0.00      1.43      0.1% mmcblk0
"""
LINUX_2_4 = """Linux 2.4.21-27.EL (host) \t01/10/05

avg-cpu:  %user   %nice    %sys %iowait   %idle
           1.04    0.00    0.45    0.56   97.95

Device:    rrqm/s wrqm/s   r/s   w/s  rsec/s  wsec/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await  svctm  %util
hda          0.05   1.79  0.06  0.80    0.90   20.80     0.45    10.40    25.14     0.01   11.96   1.33   0.11
hda1         0.00   0.00  0.00  0.00    0.00    0.00     0.00     0.00     8.00     0.00   10.00  10.00   0.00
"""
LINUX_4_15 = """Linux 4.15.0-20-generic (host) \t11/30/2026 \t_x86_64_\t(4 CPU)

Device r/s w/s rkB/s wkB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util
loop0 0.01 0.00 0.01 0.00 0.00 0.00 0.00 0.00 0.11 0.00 0.00 2.50 0.00 0.00 0.00
mmcblk0 3.18 2.60 56.82 36.40 1.15 2.24 26.62 46.07 0.93 8.11 0.01 17.89 14.00 0.35 0.20
"""
BUSYBOX = """Linux 5.10.110 (buildroot) \t11/30/26 \t_armv7l_\t(4 CPU)

Device:            tps   Blk_read/s   Blk_wrtn/s   Blk_read   Blk_wrtn
mmcblk0           0.55        12.30        77.00     123456     770000
mmcblk0p1         0.55        12.30        77.00     123456     770000
"""


def test_whole_texts_of_other_machines():
    """As such machines print them: old and new versions, decimal commas, and clocks with blanks."""
    for text, device, rate, size, seconds in (
            (FRENCH, "dev8-0", 33.2 * 512, 26 * 512, 1200), (KOREAN, "mmcblk0", 20 * 1024, 5 * 1024, 0),
            (HUMAN, "mmcblk0", 9.4 * 1024, 8.1 * 1024, 600),
            (LINUX_2_4, "hda", 10.4 * 1024, 13 * 1024, 0),
            (LINUX_4_15, "mmcblk0", 36.4 * 1024, 14 * 1024, 0),
            (BUSYBOX, "mmcblk0", 77 * 512, 0, 10000)):
        found = sysstat.read(text, "", "x")
        assert found.device == device and abs(found.per_day / DAY - rate) < 1e-6, (text, found)
        assert abs(found.size - size) < 1e-6 and abs(found.seconds - seconds) < 1e-6, (text, found)


def test_what_other_programs_print():
    """It is refused as a whole, by a line that says what can be read."""
    for name, text in (
            ("freebsd", "device r/s w/s kr/s kw/s ms/r ms/w ms/o ms/t qlen %b\nmmcsd0 0 5 7 120 0 1 0 1 0 1\n"),
            ("macos", "   disk0  cpu\n KB/t tps MB/s us sy id\n 24.31 18 0.43 4 2 94\n"),
            ("vmstat", "disk- ----reads---- ----writes----\n total merged sectors ms total merged sectors ms\n"
                       "mmcblk0 12039 3022 983474 90000 900 9 1903200 9000 0 100\n"),
            ("stat", "12039 3022 983474 90000 900 9 1903200 9000 0 100 110\n"),
            ("nothing", "Could not read EXT_CSD from /dev/mmcblk0\n")):
        assert readings.kind_of(text) == ""
        refused("and not what /proc/diskstats, iostat, sar -d or mmc extcsd read prints", works.read,
                Tool(), [write(name, text)], works.Told())


# ---- an eMMC ----

EXTCSD = ("=============================================\n  Extended CSD rev 1.8 (MMC 5.1)\n"
          "=============================================\n\n"
          "eMMC Life Time Estimation A [EXT_CSD_DEVICE_LIFE_TIME_EST_TYP_A]: {}\n"
          "eMMC Life Time Estimation B [EXT_CSD_DEVICE_LIFE_TIME_EST_TYP_B]: {}\n"
          "eMMC Pre EOL information [EXT_CSD_PRE_EOL_INFO]: {}\n")


def emmc(a, b, spares="0x01"):
    return EXTCSD.format(a, b, spares)


def test_what_an_emmc_says_about_itself():
    want = extcsd.Health({"A": (0.1, 0.2), "B": (0.4, 0.5)}, 1)
    for text in (emmc("0x02", "0x05"), emmc("2", "5", "1"), emmc("0X02", "0x5"), "0x02 0x05\n"):
        assert readings.kind_of(text) == "extcsd"
        assert extcsd.read(text, "x").used == want.used, text
    assert extcsd.read(emmc("0x02", "0x05"), "x") == want
    older = ("Extended CSD rev 1.7 (MMC 5.0)\nPre EOL information [PRE_EOL_INFO: 0x02]\n"
             " i.e. Warning\nDevice life time estimation type A [DEVICE_LIFE_TIME_EST_TYP_A: 0x01]\n"
             " i.e. 0% - 10% device life time used\n"
             "Device life time estimation type B [DEVICE_LIFE_TIME_EST_TYP_B: 0x00]\n")
    assert extcsd.read(older, "x") == extcsd.Health({"A": (0, 0.1)}, 2)
    for text, spares in (("0x02 0x05\n0x03\n", 3), ("/sys/block/mmcblk1/device/life_time:0x02 0x05\n"
                          "/sys/block/mmcblk1/device/pre_eol_info:0x02\n", 2), ("0x02 0x05", 0)):
        assert readings.kind_of(text) == "extcsd"
        assert extcsd.read(text, "x") == extcsd.Health(want.used, spares), text
    b_only = emmc("0x00", "0x0a").replace("EXT_CSD_PRE", "NO")
    assert extcsd.read(b_only, "x") == extcsd.Health({"B": (0.9, 1.0)}, 0)
    refused("LIFE_TIME_EST_TYP_A is '0x0c'; allowed: 0x00 to 0x0b", extcsd.read, emmc("0x0c", "1"), "x")
    refused("LIFE_TIME_EST_TYP_B is ''", extcsd.read, emmc("0x02", ""), "x")
    refused("LIFE_TIME_EST_TYP_A is '0x'", extcsd.read, emmc("0x", ""), "x")
    refused("missing or 0x00) in revision 1.5 (MMC 4.41); it is there since MMC 5.0", extcsd.read,
            "Extended CSD rev 1.5 (MMC 4.41)\nCard Supported Command sets [S_CMD_SET: 0x01]\n", "x")


def test_an_emmc_whose_text_was_cut_off():
    """Wherever it ends behind type A, the answer is whole or there is none."""
    whole = emmc("0x02", "0x05")
    want = extcsd.read(whole, "x").used
    for end in range(whole.index("LIFE_TIME_EST_TYP_A"), len(whole)):
        try:
            assert extcsd.read(whole[:end], "x").used == want, whole[:end]
        except LabError as e:
            assert "\n" not in str(e)
    refused("type A only; has it been cut off? mmc extcsd read prints types A and B", extcsd.read,
            whole[:whole.index("eMMC Life Time Estimation B")], "x")
    refused("LIFE_TIME_EST_TYP_B is '0x0'; allowed", extcsd.read, emmc("0x02", "0x0"), "x")


def test_the_life_of_an_emmc():
    path = write("ext_csd", emmc("0x02", "0x05"))
    o = good_json("life", path, "--age", "2y")
    assert 4 <= o["years"]["low"] < 4.1 and 4.8 < o["years"]["high"] <= 5 and o["card"] is None
    bad("--age TIME", "life", path)
    gone = write("gone", emmc("0x0b", "0x02", "0x03"))
    said = good("life", gone, "--age", "3y").splitlines()
    assert said[0] == "This device has used up the life that it is rated for, within 3.0 years."
    assert said[1].endswith("nine tenths of its spare blocks are used.")


def test_an_emmc_at_two_times():
    """From 10 to 20 % to 40 to 50 % of type B within a year: 1.1 to 3 years from then on."""
    first, second = emmc("0x01", "0x02"), emmc("0x01", "0x05")
    paths = write("first", first), write("second", second)
    o = good_json("life", *paths, "--apart", "1y")
    assert o["sentence"].startswith("At the pace between its two readings, this device lives")
    assert 1.25 <= o["years"]["low"] < 1.6 and abs(o["years"]["median"] / (0.55 / 0.3) - 1) < 0.03
    assert 2 < o["years"]["high"] <= 3 and o["ends"]["share"] == {"type B": 1}
    dated = write("dated", f"2025-11-30 10:00:00\n{first}2026-11-30 10:00:00\n{second}")
    assert abs(good_json("life", dated)["years"]["median"] / o["years"]["median"] - 1) < 0.002
    bad("their order is wrong", "life", *paths[::-1], "--apart", "1y")
    bad("of the same step", "life", paths[0], paths[0], "--apart", "1y")
    bad("--apart TIME", "life", *paths)
    bad("--age belongs to one reading", "life", *paths, "--apart", "1y", "--age", "2y")


def test_an_emmc_at_three_times():
    """The first and the last reading count.  A message names the file of the reading that is wrong."""
    dated = [(f"{name}.txt", f"2026-{month}-01 00:00:00\n{emmc(*steps)}") for name, month, steps in (
        ("a", "01", ("0x01", "0x02")), ("b", "02", ("0x02", "0x04")), ("c", "03", ("0x03", "0x07")))]
    found = works._of_registers(dated, works.Told())
    assert found.before.used == {"A": (0, 0.1), "B": (0.1, 0.2)}
    assert found.health.used == {"A": (0.2, 0.3), "B": (0.6, 0.7)} and found.apart == 59 * DAY
    for i, name in ((0, "a.txt"), (2, "c.txt")):
        broken = list(dated)
        broken[i] = name, dated[i][1].replace("A]: 0x0", "A]: 0x7")
        refused(f"{name}: LIFE_TIME_EST_TYP_A is '0x7", works._of_registers, broken, works.Told())


run(globals())
