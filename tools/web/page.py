# SPDX-License-Identifier: BSD-3-Clause
"""Put the page together: one file that needs nothing else.

What is large stands in it compressed by zlib, as base64.  Recordings are packed before that:

    0 write 8192 4096 think=12000     ->     w 4096
    0 write 12288 4096                ->     w 4096
    0 read 0 4096 fua                 ->     r 4096 -16384 f

A request begins where the one before it ended, or so many bytes away from there.  How long the
recorded host thought is left out, because the page replays at the pace of a fast host; the comment
that promises it, too.  pack.js turns it into a trace again, and a test compares the two.
"""
import base64
import gzip
import json
import os
import re
import tomllib
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDINGS = os.path.join(os.path.dirname(HERE), "lab/recordings")
LIMITS = ("", "64K/", "120K/", "512K/")
MOST_BYTES = 2_000_000
# Comments of a recording that the replay, or a reader of the page, needs.
KEPT = ("flashemu trace", "limit:", "offers:", "capacity:", "partition:", "phase:", "filesystem:",
        "mkfs:", "mount:", "work:")
WORKER = ("pack.js", "core.js", "worker.js")
PAGE = ("draw.js", "session.js", "ask.js", "story.js", "map.js", "chip.js", "measured.js",
        "drop.js", "page.js")
LETTERS = {"read": "r", "write": "w", "trim": "t", "flush": "F"}
RECORD = re.compile(r"0 (read|write|trim|flush) (\d+) (\d+)( fua)?(?: think=\d+)?")


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def table():
    with open(os.path.join(HERE, "recordings.toml"), "rb") as file:
        return tomllib.load(file)


def packed(text):
    """A recording as pack.js reads it."""
    out, end = [], 0
    for line in text.splitlines():
        if line.startswith("#"):
            if line[2:].startswith(KEPT):
                out.append(line)
            continue
        found = RECORD.fullmatch(line)
        if not found:
            raise ValueError("a line that tools/web/page.py cannot pack: " + line)
        kind, offset, length, fua = found[1], int(found[2]), int(found[3]), found[4]
        words = [LETTERS[kind], str(length)]
        if offset != end or fua:
            words.append(str(offset - end))
        if fua:
            words.append("f")
        end = offset + length
        out.append(" ".join(words))
    return "\n".join(out) + "\n"


def recordings():
    """The packed recordings by their paths."""
    chosen = table()
    found = {}
    for work in chosen["work"]:
        for form in chosen["format"]:
            for limit in LIMITS:
                path = "%s%s-%s.trace.gz" % (limit, form["name"], work["name"])
                if os.path.exists(os.path.join(RECORDINGS, path)):
                    with gzip.open(os.path.join(RECORDINGS, path), "rt", encoding="ascii") as file:
                        found[path] = packed(file.read())
    return found


def described(found):
    """The table with what the recordings of each format say of themselves."""
    chosen = table()
    for form in chosen["format"]:
        form["works"] = [w["name"] for w in chosen["work"]
                         if "%s-%s.trace.gz" % (form["name"], w["name"]) in found]
        head = found["%s-%s.trace.gz" % (form["name"], form["works"][0])]
        for key in ("mkfs", "mount"):
            form[key] = re.search(r"^# %s: (.*)$" % key, head, re.M)[1]
        partition = re.search(r"^# partition: (\d+) (\d+)$", head, re.M)
        form["start"], form["sectors"] = int(partition[1]), int(partition[2])
    return chosen


def lessons():
    """Small profiles to look at: [{name, label, text}]."""
    folder = os.path.join(HERE, "lessons")
    found = []
    for name in sorted(os.listdir(folder)):
        text = read(os.path.join("lessons", name))
        found.append({"name": name, "text": text,
                      "label": re.search(r"^model = (.*)$", text, re.M)[1]})
    return found


def data(name, content):
    """An element with bytes, compressed."""
    return '<script type="text/plain" id="%s">%s</script>' % (
        name, base64.b64encode(zlib.compress(content, 9)).decode())


def script(*names):
    return "\n".join(read(name) for name in names).replace("</script", "<\\/script")


def page(wasm, version):
    """The text of the page.  wasm: the bytes of core.wasm."""
    found = recordings()
    parts = {
        "VERSION": version,
        "STYLE": "<style>%s</style>" % read("page.css"),
        "TABLE": '<script type="application/json" id="table">%s</script>'
                 % json.dumps({**described(found), "lessons": lessons()}),
        "CORE": data("core", wasm),
        "RECORDINGS": data("recordings", json.dumps(found).encode()),
        "WORKER": '<script type="text/plain" id="worker">%s</script>' % script(*WORKER),
        "SCRIPT": '<script>%s</script>' % script(*PAGE),
    }
    text = re.sub(r"<!--(\w+)-->", lambda m: parts[m[1]], read("page.html"))
    size = len(text.encode())
    if size > MOST_BYTES:
        raise ValueError("the page has %d bytes; allowed: %d; leave recordings out of "
                         "tools/web/recordings.toml" % (size, MOST_BYTES))
    return text
