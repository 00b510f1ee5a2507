#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""flashemu itself, and its commands about profiles: profiles, show, check, help."""

import json
import os
import re
import subprocess

from flashemu_script import run
from flashemu_tool import TOOL, bad, call, good, good_json, read, write

COMMANDS = ["profiles", "show", "check", "help", "verify", "replay", "gen", "trace", "ctl",
            "report"]


def test_version_and_help():
    assert good("--version").startswith("flashemu 0.")
    assert good("-V") == good("--version")
    usage = good("--help")
    assert good("-h") == usage
    for name in COMMANDS:
        assert "\n  " + name + " " in usage, name
        text = good(name, "--help")
        assert text.startswith("usage: flashemu " + name), (name, text)
        assert max(map(len, text.splitlines())) <= 100, name


def test_no_or_unknown_command():
    code, out, err = call()
    assert code == 2 and out == "" and err.startswith("usage:")
    bad("there is no command 'nope'", "nope")
    bad("there is no command '--nope'", "--nope")
    bad("there is no command ''", "")


def test_unknown_options_and_missing_values():
    for name in ["profiles", "show", "check", "help", "verify", "replay", "trace"]:
        bad("no option --nope", name, "--nope")
        bad("no option -x", name, "-x")
    bad("no option --js", "profiles", "--js")
    bad("takes no value", "profiles", "--json=yes")
    bad("needs a value", "replay", "ideal", "--depth")
    bad("needs a value", "gen", "random", "--bs")


def test_profiles_lists_names_once():
    names = good("profiles").splitlines()
    assert names == sorted(set(names)) and "ideal" in names
    assert good_json("profiles", "--json") == names
    bad("takes no argument", "profiles", "x")


def test_profiles_tells_what_they_are():
    names = good("profiles").splitlines()
    lines = good("profiles", "--long").splitlines()
    assert lines[0].split() == ["NAME", "CAPACITY", "LINK", "STRATEGY", "MEASURED", "BY", "MODEL"]
    assert [line.split()[0] for line in lines[1:]] == names
    told = good_json("profiles", "--long", "--json")
    assert [p["name"] for p in told] == names
    for p, line in zip(told, lines[1:]):
        shown = good("show", p["name"])
        assert "\nmodel = %s\n" % p["model"] in shown and line.endswith(" " + p["model"]), p
        assert "\ntype = %s\n" % p["strategy"] in shown and " %s " % p["strategy"] in line, p
        assert "\ntype = %s\n" % p["link"] in shown and " %s " % p["link"] in line, p
        rows = shown.partition("\n[fidelity]\n")[2].split("\n[")[0].strip().splitlines()
        assert sum(p["figures"].values()) == len(rows), (p, rows)
        for word, n in p["figures"].items():
            assert sum(row.split(" = ")[1].startswith(word) for row in rows) == n, (word, rows)
            assert "%s %d" % (word, n) in line, line
    assert {p["name"]: p["capacity"] for p in told}["transcend8g"] == 8019509248
    assert {p["name"]: p["capacity"] for p in told}["ssd-page"] > 10**9  # follows from the chip
    # a profile that cannot be read does not end the list
    os.makedirs("broken", exist_ok=True)
    write("broken/zz.ini", "[nope]\n")
    last = good("profiles", "--long", env={"FLASHEMU_PATH": "broken"}).splitlines()[-1]
    assert last.startswith("zz ") and "zz.ini:1: " in last, last
    last = good_json("profiles", "-l", "--json", env={"FLASHEMU_PATH": "broken"})[-1]
    assert last["name"] == "zz" and "zz.ini:1: " in last["mistake"], last


def test_profiles_on_a_terminal():
    here, there = os.openpty()
    p = subprocess.run([TOOL, "profiles"], stdout=there, timeout=60)
    os.close(there)
    assert p.returncode == 0 and os.read(here, 100).startswith(b"NAME ")
    os.close(here)


def test_profiles_looks_into_the_path():
    os.mkdir("a")
    write("a/mine.ini", "")
    write("a/ideal.ini", "")
    write("a/readme.txt", "")
    env = {"FLASHEMU_PATH": "a:missing"}
    shipped = set(good("profiles").splitlines())
    assert set(good("profiles", env=env).splitlines()) == shipped | {"mine"}


def test_show_is_a_fixed_point():
    for name in good("profiles").splitlines():
        text = good("show", name)
        assert good("show", write("x.ini", text)) == text, name
        code, out, err = call("check", "x.ini")
        assert (code, out, err) == (0, "", ""), (name, out, err)


def test_show_applies_changes():
    assert "seed" not in good("show", "ideal")
    changed = good("show", "ideal", "device.rotational=yes")
    assert changed != good("show", "ideal", "device.rotational=no")
    bad("nope.key", "show", "ideal", "nope.key=1")
    bad("which profile", "show")
    bad("nosuch", "show", "nosuch")


def test_keys_that_the_strategy_does_not_use():
    bad("ftl.gc_d=5: has no effect with ftl.type=segment; used by: page", "show", "transcend8g",
        "ftl.gc_d=5")
    code, out, err = call("show", "transcend8g", "ftl.type=page")
    assert code == 0 and "\nopen_linear" not in out and "gc_policy = greedy" in out
    assert err.startswith("flashemu: note: ftl.type=page does not use these keys of profile "
                          "transcend8g: ftl.copy_buffer ") and err.count("\n") == 1, err
    assert good("show", write("paged.ini", out)) == out
    write("mixed.ini", good("show", "transcend8g").replace("[ftl]\n", "[ftl]\ngc_d = 5\n"))
    line = read("mixed.ini").splitlines().index("gc_d = 5") + 1
    code, out, err = call("check", "mixed.ini")
    assert (code, err) == (1, "") and out.count("\n") == 1, (code, out, err)
    assert out.startswith("mixed.ini:%d: ftl.gc_d = 5: has no effect with ftl.type=segment; used "
                          "by: page" % line), out


def test_check_lists_every_mistake():
    path = write("bad.ini", "[device]\nfoo = 1\ncapacity = much\n")
    code, out, err = call("check", path)
    lines = out.splitlines()
    assert code == 1 and err == "" and len(lines) >= 2, (code, out, err)
    assert all(line.startswith("bad.ini:") for line in lines), out
    code, as_json, err = call("check", "--json", path)
    assert code == 1 and err == ""
    o = json.loads(as_json)
    assert o.pop("version") and o.pop("command") == "flashemu check --json bad.ini"
    assert o == {"ok": False, "mistakes": lines}, o


def test_check_tells_each_mistake_of_a_line_once():
    text = good("show", "transcend8g")
    for line, why in (("[nand", "'[' without ']'"),
                      ("[nand] x", "something stands behind the ']' of a section"),
                      ("foo", '"foo" is neither [SECTION] nor KEY = VALUE')):
        write("bad.ini", text + line + "\n")
        code, out, err = call("check", "bad.ini")
        want = "bad.ini:%d: %s\n" % (len(text.splitlines()) + 1, why)
        assert (code, out, err) == (1, want, ""), (out, want, err)


def test_check_of_what_cannot_be_read():
    bad("missing.ini", "check", "missing.ini")
    bad("", "check", ".")
    bad("expected one", "check")
    bad("expected one", "check", "a", "b")


def test_check_builds_the_device():
    text = good("show", "transcend8g")

    def mistake(why, *changes, name="p.ini"):
        lines = text.splitlines()
        for change in changes:
            key = change.split()[0]
            at = [i for i, line in enumerate(lines) if line.startswith(key + " =")][0]
            lines[at] = change
        write(name, "\n".join(lines) + "\n")
        code, out, err = call("check", name)
        # the last change is to blame
        want = "%s:%d: %s\n" % (name, at + 1, why)
        assert code == 1 and out == want and err == "", (out, want, err)
        bad(want[:-1], "replay", "./" + name, "gen:random,count=1")

    mistake("ftl.unit_size = 3000K: must be a multiple of the erase block, 524288 bytes (with its "
            "planes if nand.multiplane)", "unit_size   =   3000K ; a comment")
    mistake("device.discard = yes: ftl.type=segment has no TRIM; use device.discard=no",
            "discard = yes", name="no-extension")
    mistake("device.claimed_capacity = 4096M: is less than the capacity of 8019509248 bytes; "
            "allowed: capacity, or at least that", "claimed_capacity = 4096M")
    mistake("device.capacity = 16G: the chip has 8380219392 bytes, of which ftl.type=segment can "
            "offer at most 8342470656", "capacity = 16G")
    # a key that nobody gave stands where its section begins
    write("p.ini", text.replace("unit_size = 4M", "").replace("pages_per_block = 128",
                                                              "pages_per_block = 96"))
    code, out, err = call("check", "p.ini")
    assert code == 1 and out.startswith("p.ini:%d: ftl.unit_size = " % (
        text[:text.index("[ftl]")].count("\n") + 1)), (out, err)
    # the changes of a command line have no line
    bad("ftl.unit_size=3000K: must be a multiple", "replay", "transcend8g", "gen:random,count=1",
        "ftl.unit_size=3000K")
    bad("lexar8g.ini:", "replay", "lexar8g", "gen:random,count=1", "nand.pages_per_block=100")
    for name in ["fast", "bast", "block"]:
        code, out, err = call("replay", "transcend8g", "gen:random,count=1", "ftl.type=" + name,
                              "device.discard=yes")
        assert code == 2 and err.endswith("flashemu: device.discard=yes: ftl.type=%s has no TRIM; "
                                          "use device.discard=no\n" % name), err


def test_help_of_a_section_and_of_a_command():
    everything = good_json("help", "--json")
    for section in ("device", "nand", "ftl", "cache", "link", "ecc", "faults"):
        own = [o for o in everything if o["key"].startswith(section + ".")]
        assert own and good_json("help", section, "--json") == own, section
        assert good("help", section) == "\n".join(good("help", o["key"]) for o in own), section
    for command in COMMANDS:
        assert good("help", command) == good(command, "--help"), command
    for section in ("provenance", "fidelity"):
        for options in ([], ["--json"]):
            code, out, err = call("help", section, *options)
            assert code == 2 and out == "" and section in err and "no options" in err, err


def test_help_alone_is_an_overview():
    text = good("help")
    lines = text.splitlines()
    assert len(lines) < 60 and max(map(len, lines)) <= 80, text
    words = set(text.split())
    commands = {line.split()[0] for line in good("--complete").splitlines() if line[0] != "-"}
    keys = {o["key"] for o in good_json("help", "--json")}
    assert commands | set(good("profiles").split()) <= words
    assert {key.split(".")[0] for key in keys} | {key.split(".")[1] for key in keys} <= words
    for typed, meant in (("transend8g", "transcend8g"), ("repaly", "replay"), ("nnad", "nand"),
                         ("pgae", "page"), ("gc_policy", "ftl.gc_policy"),
                         ("opn_random", "ftl.open_random"), ("tR", "nand.tR")):
        bad("there is no topic '%s'; did you mean %s?" % (typed, meant), "help", typed)
    bad("did you mean nand.tR?", "help", "nand.tr")
    assert "or unlimited\n  0        means unlimited\n" in good("help", "link.bandwidth")
    assert "  0        means" not in good("help", "link.queue_depth")
    bad("there is no topic 'xyzzy'; flashemu help lists them", "help", "xyzzy")


def test_what_was_meant():
    """Of values, patterns and formats, as of keys and commands."""
    one = "gen:random,count=1"
    for meant, words in (
            ("page", ["show", "ideal", "ftl.type=pgae"]),
            ("flush-late", ["show", "ssd-page", "faults.lie=flsh-late:3"]),
            ("random", ["replay", "ideal", "gen:randm,count=1"]),
            ("random", ["gen", "randm"]),
            ("count", ["replay", "ideal", "gen:random,cuont=1"]),
            ("count", ["gen", "random", "--cuont", "3"]),
            ("write", ["gen", "random", "--op", "wirte"]),
            ("no", ["gen", "random", "--fua", "noo"]),
            ("iolog", ["gen", "random", "--to", "iolgo"]),
            ("msr", ["trace", "x", "--from", "mrs"]),
            ("iolog", ["trace", "x", "--from", "fio"]),
            ("ftl.op", ["replay", "ssd-page", one, "--vary", "ftl.po=1%"]),
            ("steady", ["replay", "ideal", one, "--until", "stedy"]),
            ("size", ["replay", "ideal", one, "sizze=3"]),
            ("host", ["verify", "--kernel", "hots", "ideal"]),
            ("file-ext4-aligned", ["verify", "transcend8g", "file-ext4-algined"])):
        code, out, err = call(*words)
        assert code == 2 and out == "" and err.count("\n") == 1, (words, err)
        assert "did you mean %s?" % meant in err, (words, err)
        wrong = [word.replace(meant, "xyzzy") for word in words]
        assert "did you mean xyzzy" not in call(*wrong)[2]
    for words in (["show", "ideal", "ftl.type=x"], ["gen", "x"], ["gen", "random", "--op", "x"],
                  ["gen", "random", "--to", "x"], ["show", "ssd-page", "faults.lie=x"]):
        assert "did you mean" not in call(*words)[2], words


def test_one_thing_has_one_name_and_its_older_ones():
    """--from and --to are formats, -o is a file, and '-' is '_'."""
    assert good("gen", "random", "--count", "3", "--to", "msr") == good(
        "gen", "random", "--count", "3", "--format", "msr")
    write("t.msr", good("gen", "random", "--count", "3", "--to", "msr"))
    told = [line for line in good("trace", "t.msr", "--from", "msr").splitlines() if line[0] != "#"]
    assert told == [line for line in good("trace", "t.msr", "--format", "msr").splitlines()
                    if line[0] != "#"] and len(told) == 3
    numbers = [good_json("replay", "ideal", "t.msr", option, "msr", "--json")["host"]
               for option in ("--from", "--format")]
    assert numbers[0] == numbers[1]
    for option in ("-o", "--output", "--svg"):
        good("align", "ideal", "--start", "1M", option, "o" + option)
    assert read("o-o") == read("o--output") == read("o--svg")
    assert good("show", "ssd-page", "ftl.gc-policy=random") == good("show", "ssd-page",
                                                                    "ftl.gc_policy=random")
    assert good("help", "device.claimed-capacity") == good("help", "device.claimed_capacity")
    bad("given twice", "show", "ssd-page", "ftl.gc-policy=random", "ftl.gc_policy=fifo")
    text = good("show", "ssd-page")
    assert good("show", write("mine.ini", text.replace("\ngc_policy", "\ngc-policy"))) == good(
        "show", write("mine.ini", text))


def test_an_option_with_a_value_is_given_once():
    """By whichever of its names; a flag says the same twice, and --vary is made to come again."""
    for words in (("verify", "ideal", "--seed", "1", "--seed=1"), ("top", "s", "--count", "1", "--count", "1"),
                  ("align", "ideal", "-o", "a", "--output", "b"), ("align", "ideal", "-o", "a", "--svg", "b"),
                  ("gen", "random", "--to", "text", "--format", "text"),
                  ("replay", "ideal", "gen:random,count=1", "--record", "a", "--trace=a"),
                  ("trace", "x", "--from-device", "a", "--from_device", "b")):
        bad("given twice, allowed once", *words)
    assert not os.path.exists("a") and not os.path.exists("b")
    for words in (("replay", "ideal", "gen:random,count=1", "-o", ""), ("show", ""), ("verify", "ideal", "--against="),
                  ("trace", "--", ""), ("report", "x", "--title", "")):
        bad("is empty", *words)
    assert good("check", "--json", "--json", write("once.ini", good("show", "ideal")))
    assert "2" in good("replay", "ssd-page", "gen:random,count=1", "--vary", "ftl.op=7%,9%", "--vary", "seed=1")


def test_help_has_every_key_of_a_profile():
    table = {o["key"]: o for o in good_json("help", "--json")}
    text = good("help", "all")
    for key, o in table.items():
        assert good_json("help", "--json", key) == o
        assert o["help"] in good("help", key), key
        assert o["help"] in text, key
    for key in ["device.capacity", "nand.tPROG", "ftl.type", "link.max_transfer"]:
        assert key in table, key
    section = None
    for line in good("show", "ideal").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif "=" in line and not line.startswith("#") and section not in ("provenance", "fidelity"):
            assert section + "." + line.split("=")[0].strip() in table, line
    assert {"page", "segment"} <= set(table["ftl.map_read"]["used_by"])
    assert "block" not in table["ftl.map_read"]["used_by"]
    assert ("  used by  %s\n" % " ".join(table["ftl.map_read"]["used_by"]) in
            good("help", "ftl.map_read"))
    assert "used by" not in good("help", "ftl.op") and table["ftl.op"]["used_by"] is None
    bad("nope", "help", "nope.nope")
    bad("nope", "help", "--json", "nope.nope")
    bad("not also", "help", "nand.tR", "nand.tPROG")


def test_help_has_the_keys_of_a_strategy():
    text = good("help", "segment")
    assert text.startswith("ftl.type=segment: allocation units")
    assert "ftl.small_log " in text and "ftl.gc_policy" not in text and "step." not in text
    keys = [o["key"] for o in good_json("help", "--json", "segment")]
    assert keys == [line.split()[0] for line in text.splitlines()[1:]]


def test_help_has_the_keys_of_a_profile():
    text = good("help", "transcend8g")
    assert text.startswith("transcend8g: Transcend 8 GB USB stick\nftl.type=segment: allo"), text
    shown = good("show", "transcend8g")
    told = re.findall(r"^  (\w+)\.(\w+) = (.*)\n      (\S.*)$", text, re.M)
    assert ("ftl", "unit_size", "4M") in [t[:3] for t in told], told
    for section, key, value, sentence in told:
        assert "\n%s = %s\n" % (key, value) in shown.split("[%s]" % section)[1], key
        assert sentence in good("help", section + "." + key), key
    keys = [o["key"] for o in good_json("help", "--json", "segment")]
    assert ["%s.%s" % t[:2] for t in told] == [k for k in keys if k != "ftl.type"]
    assert good("help", write("mine.ini", shown)).split("\n", 1)[1] == text.split("\n", 1)[1]
    assert good("help", "ftl.type=fast") == good("help", "fast")
    assert good("help", "generic32m").count("\n  step.") > 3
    bad("nope.ini: No such file", "help", "./nope.ini")
    bad("broken.ini:1: ", "help", write("broken.ini", "[nope]\n"))


def test_the_manual_page_has_every_key_and_strategy():
    page = read(os.path.join(os.path.dirname(TOOL), "flashemu-profile.5"))
    section = None
    keys = set()
    for line in page.splitlines():
        if line.startswith(".Ss ["):
            section = line[5:-1]
        elif section and line.startswith(".It Cm "):
            keys.add(section + "." + line.split()[-1])
    table = {o["key"]: o for key in good_json("help", "--json")
             for o in [key, *key.get("details", [])]}
    assert keys == set(table), keys ^ set(table)
    for strategy in table["ftl.type"]["allowed"].split(", "):
        summary = good("help", strategy).splitlines()[0].split(": ", 1)[1].replace("-", "\\-")
        assert "\n.It Cm %s\n%s\n" % (strategy, summary) in page, strategy


def test_the_profile_of_the_manual_page_runs():
    page = read(os.path.join(os.path.dirname(TOOL), "flashemu-profile.5"))
    text = page.split(".Sh WRITING A PROFILE")[1].split(".Bd -literal -offset indent\n")[1]
    text = text.split(".Ed\n")[0]
    assert good("check", write("mine.ini", text)) == ""
    assert good_json("replay", "./mine.ini", "gen:random,op=write,count=100", "--json")["busy_ns"]
    good("verify", "./mine.ini")  # its figure is met
    lines = text.splitlines()  # it is minimal: without any of its lines it says something else
    for i, line in enumerate(lines):
        if "=" in line and not line.startswith("["):
            write("less.ini", "\n".join(lines[:i] + lines[i + 1:]) + "\n")
            code, out, _ = call("show", "./less.ini")
            assert code == 2 or out != good("show", "./mine.ini"), line


def test_full_disk_is_an_error():
    if not os.path.exists("/dev/full"):
        return
    for args in (["profiles"], ["show", "ideal"], ["help", "--json"], ["gen", "random"]):
        with open("/dev/full", "w") as full:
            p = subprocess.run([TOOL, *args], stdout=full, stderr=subprocess.PIPE, timeout=60)
        assert p.returncode == 2 and p.stderr.count(b"\n") == 1, (args, p)


run(globals())
