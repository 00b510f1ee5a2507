#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Filters that look for something on the device, read parts of sectors, or change what a server
does: each finds what was put on an image, or does what it promises."""

import contextlib
import errno
import glob
import gzip
import io
import lzma
import os
import re
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time

from flashemu_server import HANG_S, NBDKIT, Server, ended, fails, nbd, run, skip

MIB = 1 << 20
SIZE = 32 * MIB
PROFILE = ["profile=ideal", "clock=virtual", "size=32M"]
TEXT = bytes(i * 7 % 251 for i in range(100001)) # no whole sectors
KEPT = [] # files that are removed at the end
MAN = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                   "../../docs/man/nbdkit-flashemu-plugin.1")


@contextlib.contextmanager
def put(data, offset=0):
    """The parameters of a device that holds these bytes."""
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        params = [*PROFILE, "file=" + os.path.join(folder, "image")]
        with Server(*params) as s:
            h = s.connect()
            data += bytes(-len(data) % 512)
            for at in range(0, len(data), MIB):
                h.pwrite(data[at:at + MIB], offset + at)
            h.flush()
            assert s.terminate() == 0
        yield params


def filtered(name, *params, **kw):
    return Server(*(params or PROFILE), options=["--filter=" + name, "-t", "1"], **kw)


def lacks(program):
    """Says so; the other tests can still run."""
    there = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not there:
        print("no", program)
    return not there


def read_all(h):
    return b"".join(h.pread(min(MIB, h.get_size() - at), at)
                    for at in range(0, h.get_size(), MIB))


def finds(name, data, want, *params, size=None):
    """The filter serves what is inside."""
    with put(data) as device, filtered(name, *device, *params) as s:
        h = s.connect()
        h.set_strict_mode(0)
        got = read_all(h)
        assert got[:len(want)] == want and len(got) == (size or len(want)), (name, len(got))


def test_tar():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in (("first", b"1" * 700), ("wanted", TEXT)):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    finds("tar", out.getvalue(), TEXT, "tar-entry=wanted")


def exact(data, name, *params):
    """Formats whose end is the end of the device: a filter offset with range= cuts it there."""
    with put(data) as device:
        with Server(*device, "offset=0", "range=%d" % len(data), *params,
                    options=["--filter=" + name, "--filter=offset", "-t", "1"]) as s:
            h = s.connect()
            h.set_strict_mode(0)
            assert read_all(h) == TEXT, name


def test_gzip():
    exact(gzip.compress(TEXT), "gzip")


def test_xz():
    exact(lzma.compress(TEXT), "xz")


def test_partition_of_a_gpt():
    """The header has 92 bytes, and nbdkit reads just these."""
    if lacks("sfdisk"):
        return
    with tempfile.NamedTemporaryFile() as f:
        f.truncate(SIZE)
        code, out, err = ended(["sfdisk", "-q", f.name], stdin="label: gpt\nstart=2048, size=8192\n"
                               "start=16384, size=4096\n")
        assert code == 0, err
        data = bytearray(f.read())
    data[16384 * 512:16384 * 512 + 5] = b"there"
    with put(bytes(data)) as device, filtered("partition", *device, "partition=2") as s:
        h = s.connect()
        assert h.get_size() == 4096 * 512 and h.pread(512, 0)[:5] == b"there"
        h.pwrite(b"new" * 1024, 1024)
        assert h.pread(3072, 1024) == b"new" * 1024


def test_luks():
    """The header has 592 bytes.  What a client writes is read back, and lies encrypted."""
    if lacks("cryptsetup"):
        return
    with tempfile.NamedTemporaryFile() as f:
        f.truncate(SIZE)
        code, out, err = ended(["cryptsetup", "luksFormat", "--type=luks1", "-q", "--iter-time=10",
                                "--key-file=-", f.name], stdin="secret")
        assert code == 0, err
        with put(f.read()) as device:
            with filtered("luks", *device, "passphrase=secret") as s:
                h = s.connect()
                h.pwrite(b"in clear" * 640, 512 * 8)
                assert h.pread(5120, 512 * 8) == b"in clear" * 640
                h.flush()
                assert s.terminate() == 0
            with Server(*device) as s:
                assert b"in clear" not in read_all(s.connect())


def key_file(text):
    """The path of a file with this text, which the run ends with."""
    f = tempfile.NamedTemporaryFile("w", prefix="fe", encoding="ascii")
    f.write(text)
    f.flush()
    KEPT.append(f)
    return f.name


def test_ext2():
    if lacks("mke2fs"):
        return
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        os.mkdir(os.path.join(folder, "root"))
        with open(os.path.join(folder, "root/wanted"), "wb") as f:
            f.write(TEXT)
        image = os.path.join(folder, "ext4")
        code, out, err = ended(["mke2fs", "-q", "-t", "ext4", "-d", os.path.join(folder, "root"),
                                image, "32M"])
        assert code == 0, err
        with open(image, "rb") as f:
            finds("ext2", f.read(), TEXT, "ext2file=/wanted")


def test_extents():
    """What tells extents, and what another source says instead."""
    for name, params in (("cacheextents", []), ("noextents", []),
                         ("extentlist", ["extentlist=" + key_file("0 1M\n1M 31M hole,zero\n")]),
                         ("ddrescue", ["ddrescue-mapfile=" +
                                       key_file("0x0 ? 1\n0x0 0x100000 +\n0x100000 0x1f00000 ?\n")])):
        with filtered(name, *PROFILE, *params) as s:
            h = nbd.NBD()
            h.add_meta_context("base:allocation")
            h.connect_unix(s.socket)
            s.handles.add(h)
            found = []
            h.block_status(SIZE, 0, lambda _c, _o, e, _err: found.extend(e))
            want = {"cacheextents": [SIZE, 3], "noextents": [SIZE, 0],
                    "extentlist": [MIB, 0, 31 * MIB, 3]}.get(name, found)
            assert found == want, (name, found)
            if name == "ddrescue": # what the map calls bad is not read
                assert h.pread(512, 0) == bytes(512)
                with fails(errno.EIO):
                    h.pread(512, MIB)


def test_checkwrite():
    """Writes are compared with what is there."""
    with filtered("checkwrite") as s:
        h = s.connect()
        h.pwrite(bytes(4096), 0)
        with fails(errno.EIO):
            h.pwrite(b"x" * 4096, 0)
        assert s.stats()["host"]["write"]["ops"] == 0


def test_names_and_addresses():
    for name, params in (("exportname", ["default-export=stick", "exportname=stick"]),
                         ("ip", ["allow=all"]), ("nofilter", [])):
        with filtered(name, *PROFILE, *params) as s:
            h = s.connect()
            h.pwrite(b"x" * 512, 0)
            assert h.pread(512, 0) == b"x" * 512, name


def test_tls_fallback():
    """A client without TLS sees a text, and one with TLS the device."""
    psk = key_file("alice:" + "5a" * 32 + "\n")
    with Server(*PROFILE, options=["--tls=on", "--tls-psk=" + psk, "--filter=tls-fallback",
                                   "-t", "1"]) as s:
        assert s.connect().get_size() < SIZE
        h = nbd.NBD()
        h.set_tls(nbd.TLS_REQUIRE)
        h.set_tls_psk_file(psk)
        h.set_tls_username("alice")
        h.connect_unix(s.socket)
        s.handles.add(h)
        h.pwrite(b"x" * 512, 0)
        assert h.pread(512, 0) == b"x" * 512 and h.get_size() == SIZE


def test_scan_and_readahead_read_ahead():
    """They send CACHE, which reads: the device sees more than the client asked for.  readahead wants
    several requests at a time, which clock=virtual does not have."""
    with Server("profile=ideal", "size=32M", options=["--filter=scan"]) as s:
        h = s.connect()
        assert h.pread(512, 0) == bytes(512)
        end = time.monotonic() + HANG_S
        while s.stats()["host"]["read"]["bytes"] < SIZE:
            assert time.monotonic() < end
            time.sleep(0.01)
    with Server("profile=ideal", "size=32M", options=["--filter=readahead"]) as s:
        h = s.connect()
        for at in range(0, MIB, 65536):
            h.pread(65536, at)
        end = time.monotonic() + HANG_S
        while s.stats()["host"]["read"]["bytes"] <= MIB:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert "readahead: warning" not in s.text(), s.text()


def test_ends_of_a_server():
    s = filtered("exitlast")
    try:
        s.connect().shutdown()
        assert s.wait() == 0 # the last client has gone
    finally:
        s.close()
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        event = os.path.join(folder, "event")
        with filtered("exitwhen", *PROFILE, "exit-when-file-created=" + event,
                      "exit-when-poll=1") as s:
            open(event, "w").close()
            assert s.wait() == 0


def test_pause():
    """p holds requests back, r lets them go on."""
    with tempfile.TemporaryDirectory(prefix="fe") as folder:
        path = os.path.join(folder, "pause")
        with filtered("pause", *PROFILE, "pause-control=" + path) as s, \
                socket.socket(socket.AF_UNIX) as c:
            h = s.connect()
            c.connect(path)
            c.sendall(b"p")
            assert c.recv(1) == b"P"
            cookie = h.aio_pwrite(b"x" * 512, 0)
            h.poll(50)
            assert not h.aio_command_completed(cookie) and s.stats()["host"]["write"]["ops"] == 0
            c.sendall(b"r")
            assert c.recv(1) == b"R"
            while not h.aio_command_completed(cookie):
                h.poll(-1)


def test_the_manual_names_each_filter():
    """Those of this nbdkit, and no others that it does not have."""
    with open(MAN, encoding="ascii") as f:
        text = f.read().split("\n.Sh FILTERS\n")[1].split("\n.Sh ")[0]
    folder = subprocess.run([NBDKIT, "--dump-config"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    folder = re.search("^filterdir=(.*)$", folder, re.M).group(1)
    there = {re.search("nbdkit-(.*)-filter.so", path).group(1)
             for path in glob.glob(os.path.join(folder, "nbdkit-*-filter.so"))}
    named = set(re.findall(r"[a-z0-9]+(?:-[a-z]+)*", text))
    if "1.32." in subprocess.run([NBDKIT, "--version"], stdout=subprocess.PIPE, text=True,
                                 check=True).stdout: # later ones have more
        assert there <= named, there - named


if ended([NBDKIT, "--filter=cow", "null", "--dump-plugin"])[0]:
    skip("nbdkit's filters are not installed")
run(globals())
