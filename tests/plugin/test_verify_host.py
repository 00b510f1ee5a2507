#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu verify --kernel host: a figure by this machine's own kernel, and what is left of it,
nothing, whether it came to its end or was interrupted before it had attached or while it wrote."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from flashemu_server import need, need_attached, run, skip
from flashemu_tool import SLC_PROFILE, TOOL

PROFILE = (SLC_PROFILE % "512M" +
           "a = file-ext4-aligned | 10 MB/s | 5% | no device, only its bus and chip\n")


def all_loops():
    """What each loop device is over."""
    backing = {}
    for name in os.listdir("/sys/block"):
        with contextlib.suppress(OSError):
            with open("/sys/block/%s/loop/backing_file" % name) as f:
                backing["/dev/" + name] = f.read().strip()
    return backing


class Place:
    """A folder in which everything is made, and what of it the kernel holds."""

    def __init__(self, folder):
        self.folder = folder
        self.devices = set()
        self.before = set(all_loops())
        with open(os.path.join(folder, "stick.ini"), "w") as f:
            f.write(PROFILE)

    def start(self):
        return subprocess.Popen(
            [TOOL, "verify", "stick.ini", "--kernel", "host", "--json", "file-ext4-aligned"],
            cwd=self.folder, env=dict(os.environ, TMPDIR=self.folder), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, universal_newlines=True)

    def loops(self):
        """Loop devices over a file of the folder, or over such a device.  Over one whose file
        system is gone already, too: its path is no longer below the folder."""
        backing = all_loops()
        mine = set()
        for _ in range(2):
            mine |= {name for name, path in backing.items()
                     if path.startswith(self.folder + "/") or path in self.devices | mine
                     or (path == "/nbd" and name not in self.before)}
        self.devices |= mine
        return mine

    def mounts(self, name):
        with open("/proc/self/mounts") as f:
            return [line for line in f
                    if line.split()[1].startswith(self.folder + "/")
                    and line.split()[1].endswith(name)]

    def processes(self):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    words = f.read().decode(errors="replace").replace("\0", " ")
                if self.folder + "/" in words:
                    found.append(words)
        return found

    def is_clean(self):
        left = {"loop devices": self.loops(), "mounts": self.mounts(""),
                "processes": self.processes(),
                "folders": [name for name in os.listdir(self.folder) if name != "stick.ini"]}
        assert not any(left.values()), left


@contextlib.contextmanager
def place():
    folder = os.path.realpath(tempfile.mkdtemp(prefix="fe"))
    try:
        yield Place(folder)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(folder, "stick.ini"))
            os.rmdir(folder)  # not what is in it, which may be mounted


def test_a_whole_run():
    with place() as p:
        proc = p.start()
        out, err = proc.communicate()
        row = json.loads(out)["rows"][0]
        assert row["verdict"] in ("ok", "known") and row["measured"] > 0, (row, err)
        p.is_clean()


def interrupted(p, there):
    """SIGTERM as soon as there() is something."""
    proc = p.start()
    while not there():
        if proc.poll() is not None:
            raise AssertionError("it ended by itself: %s%s" % proc.communicate())
        time.sleep(0.02)
    proc.send_signal(signal.SIGTERM)
    err = proc.communicate()[1]
    assert proc.returncode == 130, (proc.returncode, err)
    assert "interrupted" in err, err
    p.is_clean()


def test_interrupted_when_the_server_appears():
    with place() as p:
        interrupted(p, p.processes)


def test_interrupted_when_the_device_appears():
    with place() as p:
        interrupted(p, p.loops)


def test_interrupted_while_it_is_mounted():
    with place() as p:
        def mounted():
            p.loops()
            return p.mounts("/mnt")
        interrupted(p, mounted)


need_attached()
need("socat", "fdisk", "sfdisk", "mke2fs", "e2fsck", "mountpoint")
if os.path.exists("/sys/module/nbd") and shutil.which("nbd-client"):
    skip("this kernel has nbd, and verify takes it before a loop device")
with open("/proc/filesystems") as kinds:
    if "\text4\n" not in kinds.read() and subprocess.run(
            ["modprobe", "ext4"], stderr=subprocess.DEVNULL).returncode:
        skip("no ext4 in this kernel")
run(globals())
