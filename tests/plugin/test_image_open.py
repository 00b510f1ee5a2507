#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Opening an image: what cannot be opened, in one message with key, path and reason; and a server
with -r, which only reads the image."""

import contextlib
import errno
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile

import flashemu_server
from flashemu_server import Server, fails, has_all, refused, run
from flashemu_tool import call

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "data", "images"))
from make import move_to_another_host # noqa: E402

SMALL = ("ideal", "size=4M", "clock=virtual", "nand.blocks_per_plane=128",
         "nand.pages_per_block=16", "nand.page_size=4K")
READ_ONLY = ("-r", "-fr", "--readonly", "--read-only", "--read")


def pattern(n, size=4096):
    return bytes((n * 7 + i * 13 + (i >> 8)) & 0xff for i in range(size))


@contextlib.contextmanager
def image(*params):
    """The path of an image with 50 pages in it, 10 of them in the device's cache, and some trims."""
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        path = os.path.join(folder, "stick.img")
        with Server(*SMALL, "cache.size=40K", "cache.volatile=no", "cache.idle_flush=no",
                    "file=" + path, *params) as s:
            h = s.connect()
            for i in range(50):
                h.pwrite(pattern(i), 4096 * i)
            h.trim(4096 * 5, 4096 * 10)
            h.shutdown()
            assert s.terminate() == 0
        yield path


def start(path, *options):
    return Server(*SMALL, "cache.size=40K", "cache.volatile=no", "cache.idle_flush=no",
                  "file=" + path, options=options)


def check(h):
    for i in range(50):
        assert h.pread(4096, 4096 * i) == (bytes(4096) if 10 <= i < 15 else pattern(i)), i


def state(path):
    with open(path, "rb") as f:
        return f.read(), os.stat(path).st_mtime_ns


@contextlib.contextmanager
def permissions_count():
    """Servers may not do what only root may, so that the mode of a file counts."""
    was = flashemu_server.NBDKIT
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        if os.geteuid() == 0:
            drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search",
                    "--inh-caps=-dac_override,-dac_read_search"]
            if not shutil.which("setpriv") or subprocess.run(drop + ["true"]).returncode:
                print("not run: root cannot give up its rights here")
                yield False
                return
            flashemu_server.NBDKIT = os.path.join(folder, "nbdkit")
            with open(flashemu_server.NBDKIT, "w") as f:
                f.write("#!/bin/sh\nexec %s %s \"$@\"\n" % (" ".join(drop), was))
            os.chmod(flashemu_server.NBDKIT, 0o755)
        try:
            yield True
        finally:
            flashemu_server.NBDKIT = was


def one_message(path, *words):
    """A refusal is one line, and begins with key and path."""
    text = refused(*SMALL, "file=" + path)
    assert text.startswith("file=" + path + ": "), text
    has_all(text, *words)
    return text


def test_each_refusal_says_why():
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        path = os.path.join(folder, "x")
        one_message("/nonexistent/x", "cannot be made: No such file or directory")
        os.symlink("nowhere", path)
        one_message(path, "is a symbolic link to a file that does not exist")
        assert os.listdir(folder) == ["x"]
        one_message(folder, "is a directory, not an image")
        one_message(folder + "/", "is a directory, not an image")
        os.mkfifo(path + "fifo")
        one_message(path + "fifo", "is not a regular file")
        one_message("/dev/null", "is not a regular file")
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path + "socket")
            one_message(path + "socket", "No such device or address")
        with open(path + "text", "w") as f:
            f.write("hello " * 100)
        one_message(path + "text", "is not an image")
        one_message(path + "text/x", "Not a directory")
        with permissions_count() as count:
            if count:
                os.chmod(path + "text", 0o444)
                one_message(path + "text", "cannot be opened for writing: Permission denied")
                os.mkdir(path + "folder", 0o500)
                one_message(path + "folder/x", "cannot be made: Permission denied")


def test_read_only_serves_and_writes_nothing():
    with image() as path:
        before = state(path)
        for option in READ_ONLY:
            with start(path, option) as s, start(path, option) as other:
                for server in s, other:
                    h = server.connect()
                    assert h.is_read_only()
                    check(h)
                    with fails(errno.EPERM):
                        h.set_strict_mode(0)
                        h.pwrite(pattern(1), 0)
                    h.shutdown()
                assert call("fsck", path)[0] == 0  # all of them may read
                assert s.ctl("mark-bad", "7")["ok"]
                assert s.ctl("power-cut")["ok"] and s.ctl("power-on")["ok"]
                h = s.connect()
                check(h)
                h.shutdown()
                assert s.terminate() == 0
        assert state(path) == before
        with start(path) as s:
            text = refused(*SMALL, "file=" + path)
            has_all(text, "in use by another")
            h = s.connect()
            assert not h.is_read_only()
            check(h)
            h.shutdown()
        with tempfile.TemporaryDirectory(prefix="fe") as folder:
            try:
                start(os.path.join(folder, "x"), "-r").close()
                assert False
            except RuntimeError as e:
                has_all(str(e), "file=" + folder, "there is no image")
            assert os.listdir(folder) == []


def test_read_only_needs_no_permission():
    with image() as path, permissions_count() as count:
        if not count:
            return
        os.chmod(path, 0o444)
        before = state(path)
        with start(path, "-r") as s:
            h = s.connect()
            check(h)
            h.shutdown()
            assert s.terminate() == 0
        assert state(path) == before and stat.S_IMODE(os.stat(path).st_mode) == 0o444


def test_read_only_after_a_kill_and_after_a_crash_of_the_host():
    with image() as path:
        with start(path) as s:
            h = s.connect()
            h.pwrite(pattern(3), 3 * 4096)
            s.proc.kill()
            s.proc.wait()
        before = state(path)
        with start(path, "-r") as s:
            check(s.connect())
        assert state(path) == before
        move_to_another_host(path)
        before = state(path)
        try:
            start(path, "-r").close()
            assert False
        except RuntimeError as e:
            has_all(str(e), "file=" + path, "must put it right first")
        assert state(path) == before
        with start(path) as s:
            check(s.connect())
        with start(path, "-r") as s:
            check(s.connect())


if __name__ == "__main__":
    run(globals())
