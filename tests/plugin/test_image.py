#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A medium in an image: who may have it, what is refused, what a client hears when the host
fails, and that the next server finds what the last one had."""

import errno
import json
import os
import resource
import stat
import subprocess
import sys
import tempfile

from flashemu_server import NBDKIT, PLUGIN, Server, fails, has_all, refused, run
from flashemu_tool import call

M = 1 << 20
WITH_SPARES = ("ideal", "size=4M", "clock=virtual", "nand.blocks_per_plane=128",
               "nand.pages_per_block=16", "nand.page_size=4K")
SMALL = (*WITH_SPARES, "faults.spare_blocks=0")


class Folder:
    """A folder of its own, and the image in it."""

    def __enter__(self):
        self.temp = tempfile.TemporaryDirectory(prefix="fe")
        self.image = os.path.join(self.temp.name, "stick.img")
        return self

    def __exit__(self, *exc):
        self.temp.cleanup()

    def params(self, *more):
        return (*SMALL, "file=" + self.image, *more)


def pattern(n, size=4096):
    return bytes((n * 7 + i * 13 + (i >> 8)) & 0xff for i in range(size))


def test_an_image_is_made_sparse_and_locked():
    with Folder() as f:
        with Server(*f.params()) as s:
            st = os.stat(f.image)
            assert stat.S_ISREG(st.st_mode)
            assert st.st_size > 8 * M and st.st_blocks * 512 < M, st
            has_all(refused(*f.params()), "in use by another", "stick.img")
            image = s.stats()["image"]
            assert image["sync"] == "flush" and image["open_ns"] > 0, image
            assert image["path"] == f.image, image
            h = s.connect()
            assert h.can_flush() and h.can_fua()
            h.shutdown()
        with Server(*SMALL) as s:
            assert "image" not in s.stats()


def test_debug_output_has_the_time():
    with Folder() as f:
        with Server(*f.params(), options=("-v",)) as s:
            has_all(s.text(), r"image .*stick.img: opened in \d+ us")


def test_what_is_no_image_is_refused_and_kept():
    with Folder() as f:
        for content, *words in ((b"", "is empty"), (b"x" * 3, "only 3 bytes"),
                                (b"x" * M, "does not begin with")):
            with open(f.image, "wb") as out:
                out.write(content)
            has_all(refused(*f.params()), "stick.img", *words)
            with open(f.image, "rb") as inp:
                assert inp.read() == content
        os.unlink(f.image)
        os.mkdir(f.image)
        has_all(refused(*f.params()), "stick.img", "irectory")
        has_all(refused(*SMALL, "file=/nonexistent/folder/x"), "/nonexistent", "No such file")


def test_truncated_and_other_version():
    with Folder() as f:
        with Server(*f.params()):
            pass
        size = os.path.getsize(f.image)
        os.truncate(f.image, size - 4096)
        has_all(refused(*f.params()), "truncated", str(size), str(size - 4096))
        os.truncate(f.image, size)
        with open(f.image, "r+b") as image:
            image.seek(16)
            image.write(b"\x63")
        has_all(refused(*f.params()), "format 99", "formats 1 to 2")


def test_another_device_is_refused_with_both_sides():
    with Folder() as f:
        with Server(*f.params("seed=5")):
            pass
        has_all(refused(*f.params("seed=6")), "the seed 5", "6")
        smaller = [p for p in f.params() if p != "size=4M"]
        has_all(refused(*smaller, "size=2M"), str(4 * M), str(2 * M))
        other = [p for p in f.params() if not p.startswith("nand.pages_per_block")]
        has_all(refused(*other, "nand.pages_per_block=32"), "nand.pages_per_block = 16", "32")
        has_all(refused(*f.params("ftl.gc_reserve=3")), "ftl.gc_reserve", "3")
        has_all(refused(*f.params("cache.size=64K")), "cache.size", "none", "64K")


def test_no_room_for_an_image():
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (M, M))

    with Folder() as f:
        p = subprocess.run([NBDKIT, "-f", "-U", f.image + ".sock", PLUGIN, *f.params()],
                           preexec_fn=limit, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, universal_newlines=True, timeout=60)
        assert p.returncode == 1, p
        has_all(p.stderr, "stick.img", "making it .* bytes long", "File too large")
        assert not os.path.exists(f.image)


def test_full_disk_while_serving():
    """In a mount namespace of its own, on a file system with room for a part of the image."""
    inside = os.environ.get("FLASHEMU_TEST_FULL")
    if not inside:
        if subprocess.run(["unshare", "-rm", "true"], stderr=subprocess.DEVNULL).returncode:
            print("not run: no mount namespace of its own here")
            return
        with tempfile.TemporaryDirectory(prefix="fe") as folder:
            p = subprocess.run(
                ["unshare", "-rm", "sh", "-c",
                 'mount -t tmpfs -o size=1M x "$1" || exit 77; exec "$2" "$3" '
                 "test_full_disk_while_serving", "sh", folder, sys.executable, __file__],
                env=dict(os.environ, FLASHEMU_TEST_FULL=folder), timeout=120)
        if p.returncode == 77:
            print("not run: no file system of its own")
        else:
            assert p.returncode == 0
        return
    image = "file=" + os.path.join(inside, "stick.img")
    with Server(*SMALL, image) as s:
        h = s.connect()
        n = 0
        with fails(errno.ENOSPC):
            for n in range(1024):
                h.pwrite(pattern(n), n * 4096)
        assert 50 < n < 256, n
        with fails(errno.ENOSPC):
            h.pwrite(pattern(n), 0)
        for i in range(n):
            assert h.pread(4096, i * 4096) == pattern(i), i
        has_all(s.text(), "stick.img", "No space left", "stays as it is")
        h.shutdown()


def offsets(image):
    """Where OOB and pages of a SMALL image begin: format as in src/store/image_format.h."""
    pages, page = 2048, 4096
    start = os.path.getsize(image) - pages * page
    return start - pages * 32, start


def test_inspect_shows_what_was_written():
    with Folder() as f:
        with Server(*f.params("seed=9")) as s:
            h = s.connect()
            for i in (3, 4, 3):
                h.pwrite(pattern(i), i * 4096)
            code, out, err = call("inspect", f.image)
            assert code == 2 and "in use" in err, (code, out, err)
            h.shutdown()
            s.terminate()
        code, out, err = call("inspect", f.image, "--json")
        assert code == 0, err
        image = json.loads(out)
        assert image["clean"] and image["seed"] == 9 and image["capacity"] == 4 * M, image
        assert image["pages"] == {"erased": 2045, "programmed": 3, "torn": 0}, image
        assert image["mapping"]["with_a_copy"] == 2, image
        assert image["mapping"]["older_copies"] == 1, image
        found = []
        for ppn in range(2048):
            page = json.loads(call("inspect", f.image, "--json", "--page", str(ppn))[1])
            if page["state"] == "programmed":
                assert bytes.fromhex(page["data"]) == pattern(page["lpn"]), ppn
                found.append((page["lpn"], page["seq"], page["newest"], ppn))
                block = json.loads(call("inspect", f.image, "--json", "--block",
                                        str(ppn // 16))[1])
                assert {"ppn": ppn, "state": "programmed", "lpn": page["lpn"],
                        "seq": page["seq"], "tag": page["tag"]} in block["pages"], block
            if len(found) == 3:
                break
        assert [x[:3] for x in sorted(found)] == [(3, 1, False), (3, 3, True), (4, 2, True)], found
        code, out, err = call("inspect", f.image, "--page", "2048")
        assert code == 2 and "2047" in err, err
        code, out, err = call("inspect", f.image)
        assert code == 0 and "pages.programmed         3\n" in out, out


def test_inspect_tells_the_enhanced_area():
    with Folder() as f:
        area = f.params("nand.cell=mlc", "ftl.enhanced_size=64K,start:64K")
        with Server(*area) as s:
            h = s.connect()
            for i in range(400):
                h.pwrite(pattern(i), (16 + i % 16) * 4096)
            h.pwrite(pattern(1), 0)
            h.shutdown()
            s.terminate()
        wear = json.loads(call("inspect", f.image, "--json")[1])["wear"]
        assert wear["enhanced"]["max"] == wear["max"] > 0 == wear["min"], wear
        slc, plain = 0, 0
        for peb in range(128):
            o = json.loads(call("inspect", f.image, "--json", "--block", str(peb))[1])
            slc += o["slc"]
            plain += bool(o["pages"]) and not o["slc"]
            assert all((16 <= p["lpn"] < 32) == o["slc"] for p in o["pages"]), o
        assert 2 <= slc <= wear["enhanced"]["blocks"] and plain == 1, (slc, plain, wear)
        code, out, err = call("fsck", f.image)
        assert code == 0, (out, err)
        code, out, err = call("inspect", f.image)
        assert "wear.enhanced.blocks" in out, out
        has_all(refused(*f.params("nand.cell=mlc", "ftl.enhanced_start=64K",
                                  "ftl.enhanced_size=128K")), "ftl.enhanced_size", "64K", "128K")


def newest(image):
    """The page of each logical page's newest copy, by inspect."""
    found = {}
    for peb in range(128):
        o = json.loads(call("inspect", image, "--json", "--block", str(peb))[1])
        assert o["peb"] == peb, o
        for ppn in [p["ppn"] for p in o["pages"]]:
            page = json.loads(call("inspect", image, "--json", "--page", str(ppn))[1])
            assert page["ppn"] == ppn and ppn // 16 == peb, page
            if page["newest"]:
                found[page["lpn"]] = ppn
    return found


def test_inspect_counts_as_the_chip_does():
    with Folder() as f:
        faulty = (*WITH_SPARES, "file=" + f.image, "faults.spare_blocks=8",
                  "ecc.correctable_bits=4")
        with Server(*faulty) as s:
            h = s.connect()
            for i in range(3):
                h.pwrite(pattern(i), i * 4096)
            h.shutdown()
            s.terminate()
        before = newest(f.image)
        block = before[1] // 16
        with Server(*faulty) as s:
            assert s.ctl("mark-bad", str(block))["ok"]
            s.terminate()
        after = newest(f.image)
        assert sorted(after) == [0, 1, 2] and after[1] // 16 != block, (before, after)
        o = json.loads(call("inspect", f.image, "--json", "--block", str(block))[1])
        assert o["peb"] == block and o["grown_bad"] and o["slot"] != block, o
        o = json.loads(call("inspect", f.image, "--json", "--block", str(after[1] // 16))[1])
        assert not o["grown_bad"] and after[1] in [p["ppn"] for p in o["pages"]], o
        # the server means the same page by this number
        with Server(*faulty) as s:
            assert s.ctl("flip", str(after[1]), "100")["ok"]
            h = s.connect()
            assert h.pread(4096, 0) == pattern(0) and h.pread(4096, 8192) == pattern(2)
            with fails(errno.EIO):
                h.pread(4096, 4096)
            h.shutdown()
        code, out, err = call("inspect", f.image, "--page", "2048")
        assert code == 2 and "2047" in err, err


def test_inspect_counts_trimmed_pages_and_the_real_capacity():
    with Folder() as f:
        with Server(*f.params("device.discard=yes", "device.claimed_capacity=8M")) as s:
            h = s.connect()
            for i in range(5):
                h.pwrite(pattern(i), i * 4096)
            h.trim(2 * 4096, 4096)
            h.shutdown()
            s.terminate()
        image = json.loads(call("inspect", f.image, "--json")[1])
        assert image["capacity"] == 4 * M and image["claimed_capacity"] == 8 * M, image
        assert image["mapping"] == {"logical_pages": 1024, "with_a_copy": 3, "older_copies": 2,
                                    "trimmed": 2, "other_pages": 0}, image
        assert sorted(newest(f.image)) == [0, 3, 4]


def test_one_damaged_copy_of_the_status_is_a_note_to_all():
    for at in 4096 + 3, 2 * 4096 + 3, 4096 + 2048 + 9, 2 * 4096 + 2048 + 9:
        with Folder() as f:
            with Server(*f.params()) as s:
                h = s.connect()
                for i in range(8):
                    h.pwrite(pattern(i), i * 4096)
                h.shutdown()
                s.terminate()
            with open(f.image, "r+b") as out:
                out.seek(at)
                byte = out.read(1)
                out.seek(at)
                out.write(bytes([byte[0] ^ 4]))
            note = "one of the two copies of its status or clock is damaged (checksum)"
            code, text, err = call("fsck", f.image)
            assert code == 0 and err == "" and "8 pages, clean" in text, (at, code, text, err)
            assert text.startswith("note: " + note), (at, text)
            said = json.loads(call("fsck", f.image, "--json")[1])
            assert said["verdict"] == "clean" and said["wrong"] == 0, (at, said)
            assert said["note"].startswith(note), (at, said)
            assert json.loads(call("inspect", f.image, "--json")[1])["note"] == said["note"], at
            with Server(*f.params()) as s:
                h = s.connect()
                assert h.pread(4096, 4096) == pattern(1), at
                h.shutdown()
                s.terminate()
                assert f.image + ": " + note in s.text(), (at, s.text())


def test_fsck_finds_every_kind_of_damage():
    with Folder() as f:
        with Server(*f.params()) as s:
            h = s.connect()
            for i in range(40):
                h.pwrite(pattern(i), i * 4096)
            h.shutdown()
            s.terminate()
        code, out, err = call("fsck", f.image)
        assert code == 0 and "40 pages, clean" in out, (code, out, err)
        code, out, err = call("fsck", "--json", f.image)
        o = json.loads(out)
        assert o.pop("version") and o.pop("command") == "flashemu fsck --json " + f.image, o
        assert code == 0 and o == {
            "image": f.image, "verdict": "clean", "pages": 40, "wrong": 0, "messages": [],
            "note": None}, (code, out, err)
        oob, pages = offsets(f.image)
        image = json.loads(call("inspect", f.image, "--json", "--block", "0")[1])
        assert image["pages"], image
        for at, *words in ((pages + 100, "page 0", "not those written"),
                           (oob + 32 + 5, "page 1", "damaged"), (20, "header"),
                           (oob - 2048 * 16 + 5 * 16 + 3, "trim of page 5", "damaged"),
                           (3 * 4096 + 10, "profile")):
            with open(f.image, "r+b") as out:
                out.seek(at)
                byte = out.read(1)
                out.seek(at)
                out.write(bytes([byte[0] ^ 4]))
            code, text, err = call("fsck", f.image)
            assert code == 1 and err == "", (at, code, text, err)
            has_all(text, *words)
            code, said, err = call("fsck", f.image, "--json")
            assert code == 1 and err == "", (at, code, said, err)
            said = json.loads(said)
            assert said["verdict"] == "damaged" and said["wrong"] == len(said["messages"]), said
            assert text.splitlines()[:-1] == said["messages"], (text, said)
            with open(f.image, "r+b") as out:
                out.seek(at)
                out.write(byte)
        os.truncate(f.image, os.path.getsize(f.image) - 1)
        code, text, err = call("fsck", f.image)
        assert code == 1 and "truncated" in text, (code, text)
        for name in (__file__, "/nonexistent"):
            for words in ("fsck", name), ("fsck", "--json", name):
                code, text, err = call(*words)
                assert code == 2 and name in err and text == "", (code, text, err)


def test_the_end_of_life_outlasts_the_server():
    """Killed or ended, cut or not: it comes up again, read only, with all that was written."""
    for how in ("kill", "quit", "power-cut"):
        with Folder() as f:
            with Server(*f.params()) as s:
                h = s.connect()
                for i in range(100):
                    h.pwrite(pattern(i), 4096 * i)
                assert s.ctl("mark-bad", "5")["ok"]
                with fails(errno.EPERM):  # EROFS, in the protocol
                    h.pwrite(pattern(1), 0)
                if how == "power-cut":
                    assert s.ctl("power-cut")["ok"]
                if how == "quit":
                    h.shutdown()
                    assert s.ctl("quit")["ok"]
                    assert s.wait() == 0
            with Server(*f.params()) as s:
                h = s.connect()
                assert s.stats()["power"]["on"]
                for i in range(100):
                    assert h.pread(4096, 4096 * i) == pattern(i), (how, i)
                with fails(errno.EPERM):  # EROFS, in the protocol
                    h.pwrite(pattern(1), 0)
                h.shutdown()
                assert s.terminate() == 0
            assert call("fsck", f.image)[0] == 0


def test_a_damaged_trim_is_noticed_by_all():
    with Folder() as f:
        with Server(*f.params()) as s:
            h = s.connect()
            h.pwrite(pattern(3), 0)
            h.trim(4096, 0)
            h.shutdown()
            s.terminate()
        trims = offsets(f.image)[0] - 2048 * 16
        for at in (trims, trims + 12, trims + 16 * 1000 + 7):
            with open(f.image, "r+b") as image:
                image.seek(at)
                byte = image.read(1)
                image.seek(at)
                image.write(bytes([byte[0] ^ 0x80]))
            said = "trim of page %d is damaged" % ((at - trims) // 16)
            has_all(refused(*f.params()), "file=.*stick.img", said, "fsck tells more")
            for name, code in (("fsck", 1), ("inspect", 2)):
                got, out, err = call(name, f.image)
                assert got == code, (name, got, out, err)
                has_all(out + err, said)
            with open(f.image, "r+b") as image:
                image.seek(at)
                image.write(byte)
        assert call("fsck", f.image)[0] == 0


if __name__ == "__main__":
    run(globals())
