#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu verify, without a kernel: rows, verdicts, exit codes, mistakes in [fidelity]."""

import json
import os
import platform
import shutil
import signal
import stat
import subprocess
import time

from flashemu_script import run, sampled
from flashemu_tool import SCHEDULE, SLC_PROFILE, TOOL, bad, call, good, good_json, read, write

CARD = SLC_PROFILE % "64M"
TOP = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../..")
NO_KERNEL = ["--kernel", "none"]


def card(*rows):
    return write("card.ini", CARD + "\n".join(rows) + "\n")


def verify(*args):
    """Exit code and the JSON."""
    code, out, err = call("verify", "card.ini", "--json", *NO_KERNEL, *args)
    assert err == "", err
    return code, json.loads(out)


def measured(procedure):
    """What the model says, by way of a row that is far off."""
    card("x = %s | 1 MB/s | 1%%" % procedure)
    return verify()[1]["rows"][0]["measured"]


SLOW_OF_NO_PROFILE = {"copy-fat32-factory", "copy-fat32-aligned", "hdparm-t-f2fs", "file-f2fs"}
SLOW = SLOW_OF_NO_PROFILE | {
    "hdparm-t-ext4", "file-ext4", "hdparm-t-xfs", "file-xfs", "hdtune-ntfs", "atto-read-ntfs",
    "atto-write-ntfs", "hdtune-fat32", "atto-read-fat32", "atto-write-fat32", "hdtune-exfat",
    "atto-read-exfat", "atto-write-exfat", "fragments-fill", "fragments-write",
    "fragments-read-whole", "fragments-read"}


def test_quick_leaves_out_what_takes_minutes():
    def procedures(*options):
        shown = good_json("verify", "--all", "--dry-run", "--json", *options)
        return {row["procedure"].split()[0] for profile in shown["profiles"] for row in profile["rows"]}
    left_out = procedures() - procedures("--quick")
    assert left_out == SLOW - SLOW_OF_NO_PROFILE, left_out


def test_list_has_what_profiles_may_name():
    table = {p["name"]: p for p in good_json("verify", "--list", "--json")}
    assert table["hdparm-t"]["where"] == "kernel" and table["hdparm-t"]["unit"] == "MB/s"
    assert table["seq-read"]["call"] == "seq-read bs= size="
    assert {name for name, p in table.items() if p["slow"]} == SLOW
    story = open(os.path.join(TOP, "tools/vm/story.sh")).read()
    for p in table.values():
        if p["where"] == "kernel":
            assert "\nstep_%s()" % p["experiment"] in story, p
        else:
            assert not p["slow"], p  # --quick leaves out nothing that needs no kernel
    text = good("verify", "--list")
    for name, p in table.items():
        assert name in text and p["help"] in text, name
    bad("takes no argument", "verify", "--list", "ideal")


def test_verdicts_and_exit_codes():
    rate = measured("seq-write bs=1M size=8M")
    card("a = seq-write bs=1M size=8M | %.3f MB/s | 1%%" % rate)
    code, o = verify()
    assert code == 0 and o["rows"][0]["verdict"] == "ok", o
    assert abs(o["rows"][0]["error_percent"]) < 0.1 and o["verdicts"]["ok"] == 1
    # 10 % above what comes out: off with 9 %, ok with 11 %, known with a reason
    for tolerance, reason, want, want_code in [
            ("9%", "", "off", 1), ("11%", "", "ok", 0), ("9%", "| another stick", "known", 0)]:
        card("a = seq-write bs=1M size=8M | %.3f MB/s | %s %s" % (rate * 1.1, tolerance, reason))
        code, o = verify()
        assert (code, o["rows"][0]["verdict"]) == (want_code, want), (code, o)
        assert -9.2 < o["rows"][0]["error_percent"] < -9.0, o
    assert o["rows"][0]["reason"] == "another stick" and o["rows"][0]["note"] is None
    assert o["mean_error_percent"] == o["largest_error_percent"]
    assert "known: another stick" in good("verify", "card.ini", *NO_KERNEL)
    # a note excuses nothing
    card("a = seq-write bs=1M size=8M | %.3f MB/s | 9%% | note: a part of it" % (rate * 1.1))
    code, o = verify()
    assert (code, o["rows"][0]["verdict"]) == (1, "off") and o["rows"][0]["reason"] is None, o
    assert o["rows"][0]["note"] == "a part of it"
    assert "\n      note: a part of it\n" in call("verify", "card.ini", *NO_KERNEL)[1]


def test_orderings():
    def orderings(*rows):
        card(*rows)
        code, o = verify()
        assert all(r["measured"] is not None for r in o["rows"]), o
        return o["orderings"]["pairs"], o["orderings"]["wrong"]

    # a read of 1 KiB takes less than a call that appends, which programs a page
    assert orderings("r = flashbench-align-pre | 50 us | 1%", "w = append-quiet | 60 us | 1%") == (1, [])
    assert orderings("r = flashbench-align-pre | 60 us | 1%", "w = append-quiet | 50 us | 1%") == (
        1, [["r", "w"]])
    # too near, another unit, one procedure (which is measured once): no pair
    assert orderings("r = flashbench-align-pre | 60 us | 1%", "w = append-quiet | 59 us | 1%") == (0, [])
    assert orderings("r = flashbench-align-pre | 60 us | 1%", "w = append-quiet | 1 ms | 1%") == (0, [])
    assert orderings("r = append-quiet | 60 us | 1%", "w = append-quiet | 50 us | 1%") == (0, [])
    # other arguments are another figure: larger requests are faster
    small, large = "seq-write bs=4K size=4M", "seq-write bs=1M size=4M"
    assert orderings("s = %s | 9 MB/s | 1%%" % small, "l = %s | 10 MB/s | 1%%" % large) == (1, [])
    assert orderings("s = %s | 10 MB/s | 1%%" % small, "l = %s | 9 MB/s | 1%%" % large) == (
        1, [["s", "l"]])


def test_what_cannot_be_run_is_said_and_the_rest_is_run():
    rate = measured("seq-read bs=64K size=4M")
    card("a = hdparm-t | 30 MB/s | 5%", "b = seq-read bs=64K size=4M | %.3f MB/s | 5%%" % rate)
    code, o = verify()
    assert code == 3, o
    assert [r["verdict"] for r in o["rows"]] == ["skipped", "ok"], o
    assert o["rows"][0]["reason"] == "--kernel none" and o["rows"][0]["measured"] is None
    code, out, err = call("verify", "card.ini", *NO_KERNEL)
    assert code == 3 and "skipped: --kernel none" in out, out
    # a figure that is off weighs more than one that could not be run
    card("a = hdparm-t | 30 MB/s | 5%", "b = seq-read bs=64K size=4M | 1 MB/s | 5%")
    assert verify()[0] == 1


class Machine:
    """An environment with just so much of what a kernel takes, whatever this machine has: of a
    server that never runs, and scripts of which only `prepare` is the real one."""

    def __init__(self):
        rate = measured("seq-read bs=64K size=4M")
        card("a = hdparm-t | 30 MB/s | 5%",
             "b = seq-read bs=64K size=4M | %.3f MB/s | 5%%" % rate)
        for folder in ("bin", "empty", "scripts", "vm"):
            os.mkdir(folder)
        for program in ("bin/nbdkit", "scripts/serve", "scripts/on-host"):
            write(program, "#!/bin/sh\necho %s was run\nexit 1\n" % program)
            os.chmod(program, 0o755)
        # a copy, because the folder of the sources may be closed to others
        shutil.copy(os.path.join(TOP, "tools/vm/prepare"), "scripts")
        self.contents("guest bash bash")
        write("plugin.so", "")
        here = os.getcwd()
        self.env = {"PATH": here + "/bin:/usr/bin:/bin", "FLASHEMU_PLUGIN": here + "/plugin.so",
                    "FLASHEMU_SCRIPTS": here + "/scripts", "FLASHEMU_VM_DIR": here + "/vm"}

    def contents(self, *lines):
        """What a virtual machine is made of."""
        write("scripts/contents", "\n".join(lines) + "\n")

    def why_not(self, kernel, **env):
        """The reason for which the kernel's figure is skipped; the model's is measured."""
        code, out, err = call("verify", "card.ini", "--json", "--kernel", kernel,
                              env=dict(self.env, **env))
        assert code == 3 and err == "", (code, err)
        return self.reason(json.loads(out))

    @staticmethod
    def reason(o):
        assert [r["verdict"] for r in o["rows"]] == ["skipped", "ok"], o
        assert o["rows"][0]["measured"] is None, o
        return o["rows"][0]["reason"]


def test_without_scripts_plugin_or_server_there_is_no_kernel():
    machine = Machine()
    for kernel in ("auto", "vm", "host"):
        for env, want in [
                ({"FLASHEMU_SCRIPTS": "/nonexistent"}, "no scripts in /nonexistent "),
                ({"FLASHEMU_PLUGIN": "/nonexistent"}, "no plugin /nonexistent "),
                ({"PATH": os.getcwd() + "/empty"}, "no nbdkit"),
                ({"PATH": ""}, "no nbdkit")]:
            why = machine.why_not(kernel, **env)
            assert why.startswith(want), (kernel, env, why)
    os.unlink("scripts/on-host")  # half of them
    assert machine.why_not("vm").startswith("no scripts in "), machine.why_not("vm")


def test_a_virtual_machine_that_cannot_be_made():
    machine = Machine()
    no_vm = "no virtual machine: vm: "
    here = platform.machine() == "x86_64"
    why = machine.why_not("vm")
    assert why.startswith(no_vm + ("not downloaded yet: " if here else "not an x86_64 host")), why
    machine.contents("guest bash bash", "host qemu-none qemu-system-none")
    why = machine.why_not("vm")
    assert why == no_vm + ("packages missing: qemu-none" if here else "not an x86_64 host"), why
    assert os.listdir("vm") == []  # asking makes nothing
    os.unlink("scripts/prepare")
    write("scripts/prepare", "#!/bin/sh\nexit 1\n")
    os.chmod("scripts/prepare", 0o755)
    assert machine.why_not("vm") == "no virtual machine"
    os.unlink("scripts/prepare")
    assert machine.why_not("vm").startswith("no virtual machine: "), machine.why_not("vm")


SERVES = """#!/bin/sh
echo "kernel 9.9 ${FLASHEMU_VM_ENGINE-}"
echo hdparm-t figure=31000000
"""


def test_a_kernel_in_the_time_of_the_device():
    """It is taken where it has been built, unless the environment or --dilate says otherwise; each row
    says which kernel it was."""
    machine = Machine()
    os.mkdir("scripts/timed")
    os.unlink("scripts/prepare")

    def script(name, text):
        write("scripts/" + name, text)
        os.chmod("scripts/" + name, 0o755)

    def taken(*args, **env):
        env = dict({"FLASHEMU_VM_ENGINE": ""}, **machine.env, **env)
        row = json.loads(call("verify", "card.ini", "--json", *args, env=env)[1])["rows"][0]
        return row["kernel"] or row["reason"]

    script("prepare", "#!/bin/sh\n")
    script("serve", SERVES)
    assert taken() == "9.9 ", "it has not been built"
    assert taken("--kernel", "timed").startswith("no kernel in the device's time"), taken()
    script("timed/kernel", '#!/bin/sh\n[ "$1" = --check ]\n')
    assert taken() == taken("--kernel", "timed") == "9.9 timed"
    assert taken(FLASHEMU_VM_ENGINE="auto") == "9.9 timed"
    assert taken(FLASHEMU_VM_ENGINE="tcg") == "9.9 tcg"
    assert taken("--kernel", "timed", FLASHEMU_VM_ENGINE="uml") == "9.9 timed"
    assert taken(FLASHEMU_VM_ENGINE="timed") == "9.9 timed"
    assert taken("--kernel", "vm") == taken("--dilate", "3") == "9.9 "
    assert taken("--kernel", "vm", FLASHEMU_VM_ENGINE="timed") == "9.9 auto", "what is typed counts"
    assert taken("--dilate", "3", FLASHEMU_VM_ENGINE="timed").startswith("--dilate: a kernel in")
    assert taken("--kernel", "timed", "--dilate", "3").startswith("--dilate: a kernel in the device's")
    code, out, _ = call("verify", "card.ini", env=machine.env)
    assert code == 0 and out.count("  kernel 9.9 timed\n") == 1, out
    script("timed/kernel", "#!/bin/sh\necho vm: none; exit 1\n")
    assert taken("--kernel", "timed") == "no kernel in the device's time: vm: none"
    assert taken() == "9.9 "
    assert taken(FLASHEMU_VM_ENGINE="timed") == "no kernel in the device's time: vm: none"


def alive(pid):
    """Whether a process exists and is no zombie."""
    try:
        return read("/proc/%s/stat" % pid).rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_signal_ends_it_while_a_line_is_half_written():
    Machine()
    half = "#!/bin/sh\nprintf 'half a line'\necho $$ >pid.new; mv pid.new pid\n"
    endless = "#!/bin/sh\necho $$ >pid.new; mv pid.new pid\ntr '\\0' x </dev/zero\n"
    fine = "#!/bin/sh\nexit 0\n"
    env = {"FLASHEMU_SCRIPTS": os.getcwd() + "/scripts", "FLASHEMU_PLUGIN": os.getcwd() + "/plugin.so",
           "PATH": os.getcwd() + "/bin:/usr/bin:/bin"}
    for prepare, serve in [(fine, half + "sleep 1000\n"), (fine, endless),
                           (half + "sleep 1000\n", fine)]:
        for number in (signal.SIGINT, signal.SIGTERM):
            os.unlink("scripts/prepare")
            for name, text in (("prepare", prepare), ("serve", serve)):
                write("scripts/" + name, text)
                os.chmod("scripts/" + name, 0o755)
            p = subprocess.Popen([TOOL, "verify", "card.ini", "--kernel", "vm", "a"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 env=dict(os.environ, **env))
            while not os.path.exists("pid"):
                assert p.poll() is None, p.stderr.read()
                time.sleep(0.01)
            p.send_signal(number)
            try:
                p.wait(timeout=100)  # it hangs without an end otherwise
            finally:
                p.kill()
            assert p.returncode == 130 and b"interrupted" in p.stderr.read(), p.returncode
            p.stderr.close()
            assert not alive(read("pid").strip())
            os.unlink("pid")


def call_as_nobody(*args, env):
    """As call(), without root; None if that cannot be done here."""
    if os.geteuid() != 0:
        return call(*args, env=env)
    shutil.copy(TOOL, "flashemu")  # the build folder may be closed to others
    os.chmod("flashemu", 0o755)
    os.chmod(".", stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
    nobody = {"user": 65534, "group": 65534, "extra_groups": [], "env": dict(os.environ, **env)}
    tool = os.path.abspath("flashemu")
    try:
        if subprocess.run([tool, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          **nobody).returncode:
            return None
    except OSError:  # no such user here, or a folder above is closed
        return None
    p = subprocess.run([tool, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       universal_newlines=True, **nobody)
    return p.returncode, p.stdout, p.stderr


def test_without_root_there_is_no_device_on_this_host():
    machine = Machine()
    machine.contents("guest bash bash", "host qemu-none qemu-system-none")
    for kernel, want in [("host", "not root, which it takes to attach and mount on this host"),
                         ("auto", "no virtual machine: vm: ")]:
        result = call_as_nobody("verify", "card.ini", "--json", "--kernel", kernel,
                                env=machine.env)
        if result is None:
            print("     left out: nobody cannot run the tool here")
            return
        code, out, _ = result
        assert code == 3, result
        why = machine.reason(json.loads(out))
        assert why.startswith(want) and "not root" in why, why


def test_a_failed_experiment_is_a_failed_row():
    card("a = seq-write bs=1M size=128M | 30 MB/s | 5%",
         "b = seq-write bs=1M size=4M | 1 MB/s | 5%")
    code, o = verify()
    assert code == 1 and [r["verdict"] for r in o["rows"]] == ["failed", "off"], o
    assert "do not fit the device of 67108864 bytes" in o["rows"][0]["reason"], o


def test_a_profile_that_makes_no_device_is_one_mistake():
    rows = ["%s = %s bs=4K depth=4 size=1M | 1 MB/s | 5%%" % (p, p) for p in
            ("fio-read", "fio-write", "fio-read-cq-off")]
    card(*rows, "a = seq-write bs=1M size=4M | 1 MB/s | 5%", "s = sniff-rand-read | 9 count | 5%",
         "d = dd-fsync | 1 MB/s | 5%", "i = iozone-seq-read bs=4K size=1M | 1 MB/s | 5%")
    for args in ([], ["--class"], ["--json"]):
        code, out, err = call("verify", "card.ini", *NO_KERNEL[:0 if args == ["--class"] else 2],
                              *args, "faults.spare_blocks=4000000", "ftl.op=0%")
        assert code == 2 and out == "" and err.count("\n") == 1, (code, out, err)
        assert "blocks" in err, err


def test_the_worst_orderings_are_printed():
    sizes = [4, 8, 16, 32, 64]
    card(*("s%d = seq-write bs=%dK size=4M | %d MB/s | 5%%" % (k, k, 400 // k) for k in sizes))
    o = verify()[1]["orderings"]
    assert len(o["wrong"]) == o["pairs"] == 10, o  # larger requests are faster, not slower
    out = call("verify", "card.ini", *NO_KERNEL)[1].split("\n")
    at = out.index("  the wrong way round, the worst five:")
    assert out[at - 1] == "  0 of 10 orderings right", out
    shown = [line.split(":")[0].strip() for line in out[at + 1:] if line]
    assert shown[0] == "s4 over s64" and len(shown) == 5, out
    assert "published 100 and 6 MB/s, measured " in out[at + 1], out
    card("s4 = seq-write bs=4K size=4M | 9 MB/s | 5%", "s8 = seq-write bs=8K size=4M | 8 MB/s | 5%")
    out = call("verify", "card.ini", *NO_KERNEL)[1]
    assert "  the wrong way round:\n    s4 over s8: published 9 and 8 MB/s, " in out, out


def test_a_row_has_one_number_of_digits():
    card("a = seq-write bs=1M size=4M | 1 MB/s | 5%", "b = seq-write bs=1M size=4M | 33.43 MB/s | 5%",
         "c = seq-write bs=1M size=4M | 140 MB/s | 5%", "d = hdparm-t | 7.125 MB/s | 5%")
    out = call("verify", "card.ini", *NO_KERNEL)[1]
    rows = {line.split()[0]: line for line in out.splitlines() if line.startswith("  ")}
    rate = verify("a")[1]["rows"][0]["measured"]
    assert " 1.00 %9.2f MB/s " % rate in rows["a"] and " 33.43 %9.2f MB/s " % rate in rows["b"], rows
    assert " 140 %9.0f MB/s " % rate in rows["c"], rows
    assert " 7.125         - MB/s " in rows["d"], rows


def test_choosing():
    card("a = seq-write bs=1M size=4M | 10 MB/s | 5%", "b = seq-read bs=1M size=4M | 30 MB/s | 5%",
         "c = hdparm-t | 30 MB/s | 5%")
    for word, want in [("a", "a"), ("seq-read", "b"), ("seq-read bs=1M size=4M", "b")]:
        o = verify(word)[1]
        assert [r["id"] for r in o["rows"] if r["verdict"] != "left out"] == [want], (word, o)
    bad("has no figure or procedure nope; --dry-run", "verify", "card.ini", "nope")
    bad("which profile", "verify")
    bad("published figures", "verify", "ideal", *NO_KERNEL)
    bad("belong to one profile", "verify", "--all", "nand.tR=1us", *NO_KERNEL)
    bad("no profile has a figure", "verify", "--all", "nope", *NO_KERNEL)
    bad("--kernel maybe", "verify", "card.ini", "--kernel", "maybe")
    bad("--dilate 0", "verify", "card.ini", "--dilate", "0")
    bad("nosuch", "verify", "nosuch")


def test_dry_run_measures_nothing():
    card("a = seq-write bs=1M size=4M | 10 MB/s | 5%", "b = hdparm-t | 30 MB/s | 5% | why")
    code, o = verify("--dry-run")
    assert code == 0 and [r["verdict"] for r in o["rows"]] == ["not run"] * 2, o
    assert [r["measured"] for r in o["rows"]] == [None] * 2 and o["rows"][1]["reason"] == "why"


def test_a_profile_may_have_any_name():
    write("a\udcffz.ini", CARD + "a = hdparm-t | 30 MB/s | 5%\n")
    o = good_json("verify", "a\udcffz.ini", "--json", "--dry-run")
    assert o["profile"] == "a?z" and len(o["rows"]) == 1, o


def test_changes_of_the_profile_count():
    card("a = seq-write bs=1M size=4M | 1 MB/s | 5%")
    slow = verify("nand.tPROG=3ms")[1]["rows"][0]["measured"]
    assert verify()[1]["rows"][0]["measured"] > 5 * slow > 0


def scheduled(depth, *procedures, changes=()):
    """The figures of some procedures on that card, with a queue of that depth."""
    write("card.ini", SCHEDULE % depth + "".join(
        "f%d = %s | 1 %s | 1%%\n" % (i, p, "count" if "-rand-" in p and "sniff" in p else "MB/s")
        for i, p in enumerate(procedures)))
    return [row["measured"] for row in verify(*changes)[1]["rows"]]


def test_fio_keeps_requests_in_flight():
    args = " bs=4K depth=%d size=1M"
    for depth, host, dies in (1, 4, 1), (4, 1, 1), (4, 4, 2), (2, 2, 2):
        read, writes, off = scheduled(depth, "fio-read" + args % host, "fio-write" + args % host,
                                      "fio-write-cq-off" + args % host)
        assert abs(read - dies * 40.96) < 1e-6 and abs(writes - dies * 4.096) < 1e-6, (read, writes)
        assert abs(off - 4.096) < 1e-6, off
    rand, = scheduled(1, "fio-randwrite" + args % 1)
    assert abs(rand - 4.096) < 1e-6, rand
    # the pause ends in the fourth of eight pages, 300 ms each, that leave the cache; the test begins
    # behind it, and reads 252 of 256 pages from the flash, 100 us each
    read, = scheduled(1, "fio-read" + args % 1, changes=["cache.size=32K", "nand.tPROG=300ms"])
    assert abs(read - 1.048576 / 0.0252) < 1e-4, read


def test_sniff_test_ends_after_ten_seconds():
    read, writes, off = scheduled(4, "sniff-rand-read", "sniff-rand-write", "sniff-rand-write-cq-off")
    assert off == 1000 and 1000 < writes <= 2000, (writes, off)  # two dies, in random order
    assert 10000 < read <= 20000, read


def test_iozone_sends_one_request_at_a_time():
    figures = scheduled(4, *("iozone-%s bs=4K size=4M" % w for w in
                             ("seq-write", "seq-read", "rand-read", "rand-write")))
    assert all(abs(f - w) < 1e-6 for f, w in zip(figures, (4.096, 40.96, 40.96, 4.096))), figures


def test_a_write_cache_gathers_what_the_slc_cache_would():
    """Three pages wait in SLC mode, 100 us each; the fourth brings all to two dies, 1 ms each."""
    write("card.ini", SCHEDULE % 1 + "a = iozone-seq-write bs=4K size=4M | 1 MB/s | 1%\n")

    def rate(*more):
        return verify("nand.cell=mlc", "ftl.slc_mode=static", "ftl.slc_blocks=32",
                      "nand.slc_tPROG=100us", "ftl.slc_run=4K", *more)[1]["rows"][0]["measured"]

    alone, together = rate(), rate("ftl.slc_gather=16K")
    assert abs(alone - 4.096) < 0.01 and abs(together - 16384 / 2300) < 0.01, (alone, together)
    cached = rate("cache.size=64K")
    assert cached == rate("cache.size=64K", "ftl.slc_gather=16K") != alone, cached
    off = rate("cache.size=64K", "cache.mode=off", "ftl.slc_gather=16K")
    assert off == together, (off, together)


def test_the_host_of_iozone_thinks_between_its_requests():
    """A write takes 1 ms, a read 0.1 ms; 1024 of them have 1023 rests between them."""
    args = " bs=4K size=4M think=300us"
    writes, reads, none = scheduled(4, "iozone-rand-write" + args, "iozone-seq-read" + args,
                                    "iozone-rand-write bs=4K size=4M think=0")
    assert abs(writes - 1024 * 4096 / (1024 * 1000 + 1023 * 300)) < 1e-6, writes
    assert abs(reads - 1024 * 4096 / (1024 * 100 + 1023 * 300)) < 1e-6, reads
    assert abs(none - 4.096) < 1e-6, none
    card("a = iozone-rand-read bs=4K size=4M think=2s | 1 MB/s | 5%")
    assert "think=2s is out of range; allowed: 0 to 1s" in call("verify", "card.ini")[2]


def test_the_kernel_begins_to_write_after_dd():
    write("card.ini", SCHEDULE % 1 + "a = dd-fsync | 1 MB/s | 1%\nb = dd-fsync start=5s | 1 MB/s | 1%\n")
    at_once, later = (row["measured"] for row in verify("device.capacity=512M")[1]["rows"])
    size = 50 * 1024 * 8192 / 1e6
    assert abs(size / later - size / at_once - 5) < 1e-4, (at_once, later)


def test_dd_counts_the_fsync():
    write("card.ini", SCHEDULE % 1 + "a = dd-fsync | 1 MB/s | 1%\n")
    plain = verify("device.capacity=512M")[1]["rows"][0]["measured"]
    assert abs(plain - 8.192) < 1e-6, plain  # two dies
    cached = verify("device.capacity=512M", "cache.write_behind=64M")[1]["rows"][0]["measured"]
    assert abs(cached - 8.192) < 0.001, cached  # what is on its way when the last write is answered


def test_figures_do_not_depend_on_each_other():
    rows = ["a = seq-write bs=4K size=16M | 10 MB/s | 5%",
            "b = seq-read bs=4K size=16M | 9 MB/s | 5%",
            "c = seq-write bs=1M size=48M | 10 MB/s | 5%"]
    card(*rows)
    together = [r["measured"] for r in verify()[1]["rows"]]
    alone = []
    for row in reversed(rows):
        card(row)
        alone.insert(0, verify()[1]["rows"][0]["measured"])
    assert together == alone


def fidelity(*args):
    subprocess.run([os.path.join(TOP, "tools/fidelity"), "--no-run", "--page", "page.md", *args],
                   check=True, env=dict(os.environ, FLASHEMU=TOOL, FLASHEMU_FIDELITY="known"))
    return read("page.md")


def test_the_page_has_every_row_and_what_is_known():
    names = [p for p in good("profiles").splitlines() if "\n[fidelity]\n" in good("show", p)]
    page = fidelity()
    assert len(names) > 10, names
    for name in names:
        assert "\n## %s\n" % name in page, name
        for row in good_json("verify", name, "--json", "--dry-run")["rows"]:
            assert "| %s | %s |" % (row["id"], row["procedure"]) in page, row
    assert " ok" not in page.split("## ", 1)[1] and "not run" in page
    # what verify measured is taken, kept, and judged by the profile's own tolerance
    write("flashfx.json", good("verify", "flashfx4m", "--json", *NO_KERNEL))
    page = fidelity("--take", "flashfx.json").split("## flashfx4m")[1].split("## ")[0]
    assert "8 ok; mean error" in page and "not run" not in page, page
    assert fidelity().split("## flashfx4m")[1].split("## ")[0] == page
    o = json.loads(read("flashfx.json"))
    for row in o["rows"]:
        row["measured"] *= 2
    write("flashfx.json", json.dumps(o))
    assert "8 off; mean error" in fidelity("--take", "flashfx.json")


def test_the_page_of_the_documentation_is_of_these_rows():
    """Figures published, reasons and notes; tools/fidelity makes it again after a change."""
    page = read(os.path.join(TOP, "docs/FIDELITY.md"))
    head = read(os.path.join(TOP, "tools/fidelity")).split('HEAD = """')[1].split('"""')[0]
    assert page.startswith(head)
    rows = set()
    for name in good("profiles").splitlines():
        if "\n[fidelity]\n" not in good("show", name):
            continue
        section = page.split("\n## %s\n" % name)[1].split("\n## ")[0]
        for row in good_json("verify", name, "--json", "--dry-run")["rows"]:
            value = "%.3g" % row["published"] if row["published"] < 1000 else "%.0f" % row["published"]
            start = "\n| %s | %s | %s %s |" % (row["id"], row["procedure"], value, row["unit"])
            assert start in section, (name, start)
            assert not row["note"] or "\n* %s: %s" % (row["id"], row["note"]) in section, row
            rows.add((name, row["id"]))
    assert page.count(" | ok |") + page.count(" | known |") == len(rows)


def test_one_profile_tells_both_columns_of_the_queue():
    o = good_json("verify", "raspberrypi32g", "--json", *NO_KERNEL)
    rows = {r["id"]: r["measured"] for r in o["rows"]}
    assert o["mean_error_percent"] < 5 and o["verdicts"].get("off", 0) == 0, o["verdicts"]
    assert rows["write-4k"] > 8 * rows["write-4k-off"], rows  # published: 8.8 times
    for size in "4k", "8k", "64k":  # the queue never costs much with four requests in flight
        for test in "read", "write", "randread", "randwrite":
            assert rows["%s-%s" % (test, size)] > 0.95 * rows["%s-%s-off" % (test, size)], test
    found = {c["class"] for c in good_json("verify", "raspberrypi32g", "--class", "--json")["classes"]
             if c["granted"]}
    assert {"A1", "C10", "U3", "V30"} <= found and "V60" not in found, found  # as printed on it


def test_a_queue_in_turn_helps_in_order_only():
    o = good_json("verify", "raspberrypi64g", "--json", *NO_KERNEL)
    rows = {r["id"]: r["measured"] for r in o["rows"]}
    assert rows["read-4k"] > 1.25 * rows["read-4k-off"], rows  # published: 1.47 times
    for row in "randread-4k", "randread-8k", "randread-64k", "randwrite-4k", "randwrite-8k":
        assert 0.9 < rows[row] / rows[row + "-off"] < 1.1, row  # published: 0.95 to 1.06 times


def test_a_command_costs_less_the_longer_it_is():
    """The first 64 KiB of a request are slow on this card, and 16 MiB are 13 commands."""
    rows = {r["id"]: r["measured"] for r in good_json("verify", "samsung-proplus128g", "--json",
                                                      *NO_KERNEL)["rows"]}
    assert 1.12 < rows["write-1m"] / rows["write-512k"] < 1.35, rows  # published: 1.23 times
    assert 1.0 < rows["write-16m"] / rows["write-1m"] < 1.15, rows   # published: 1.06 times


def test_cards_are_granted_what_is_printed_on_them():
    # as printed on such cards, recalled
    for name, printed, not_printed in sampled((
            ("sandisk-extreme32g", {"A1", "C10", "U3", "V30"}, {"A2", "V60"}),
            ("sandisk-industrial8g", {"C10", "U1"}, {"A2", "U3"}),
            ("sandisk-extreme64g", {"A1", "A2", "C10", "U3", "V30"}, {"V90"}),
            ("raspberrypi64g", {"A1", "A2", "C10", "U3", "V30"}, {"V90"})), 3):
        classes = good_json("verify", name, "--class", "--json")["classes"]
        found = {c["class"] for c in classes if c["granted"]}
        assert printed <= found and not found & not_printed, (name, found)
        o = good_json("verify", name, "--json", *NO_KERNEL)
        assert o["verdicts"].get("off", 0) == 0, (name, o["verdicts"])


def test_mistakes_have_file_and_line():
    line = CARD.count("\n") + 1
    for row, message in [
            ("a = dd | 3 MB/s | 5%", 'unknown procedure "dd"'),
            ("a = hdparm-t | 3 ms | 5%", "procedure hdparm-t measures in MB/s, not in ms"),
            ("a = seq-read bs=4K | 3 MB/s | 5%", "procedure seq-read needs size="),
            ("a = seq-read bs=4K size=1M x=1 | 3 MB/s | 5%", "no argument x")]:
        card(row)
        want = "card.ini:%d: fidelity row a: " % line
        code, out, err = call("check", "card.ini")
        assert code == 1 and out.startswith(want) and message in out, (out, err)
        assert bad(message, "verify", "card.ini").startswith("flashemu: " + want)
        bad(message, "show", "card.ini")


run(globals())
