#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Experiment files: what they mean, and every mistake with its line."""

import os
import re

from flashemu_lab_bench import SMALL, TOP, bad, good, good_json, read, write
from flashemu_script import run

from flashemu_lab.core.errors import LabError
from flashemu_lab.core.units import alike, measured, number, quantity
from flashemu_lab.core.toml_lines import Lines
from flashemu_lab.runs.expression import evaluate
from flashemu_lab.experiment.plan import plan
from flashemu_lab.experiment.spec import STATEMENTS, parse
from flashemu_lab.runs.program import Tool

TOOL = Tool()


def line_of(text, words):
    return next(i for i, line in enumerate(text.splitlines(), 1) if words in line)


def mistake(old, new, message, where=None, text=SMALL):
    """The small experiment with a change is refused, with the line and what is wrong."""
    assert old in text, old
    changed = text.replace(old, new, 1)
    line = line_of(changed, where or new.split("\n")[0] or new)
    try:
        plan(parse(changed, "x.toml"), TOOL)
    except LabError as e:
        assert any(("x.toml:%d: %s" % (line, message)) in told for told in str(e).splitlines()), e
        assert e.code == 2
    else:
        raise AssertionError("no error: " + message)


def test_a_file_is_a_value():
    e = parse(SMALL, "small.toml")
    assert [(f.name, f.label, f.levels) for f in e.factors] == [
        ("ftl.op", "ftl.op", ("10%", "28%")), ("bs", "request", ("4K", "8K", "16K"))]
    assert e.profile == "ssd-page" and e.depth == e.seed == 1 and not e.warmup
    assert [m.name for m in e.measures] == ["waf", "rate"] and e.measures[1].label == "rate"
    ranged = parse(SMALL.replace('levels = ["4K", "8K", "16K"]',
                                 "from = 512, to = 2048, step = 512"), "x")
    assert ranged.factors[1].levels == ("512", "1024", "1536", "2048")
    bare = parse(SMALL.replace('"ftl.op"', "ftl.op"), "x")
    assert bare.factors == e.factors


def test_mistakes_of_combinations():
    text = SMALL + """[[conclusion]]
say = "between"
before = "ftl.op=10%, bs=4K"
after = "ftl.op=28%, bs=16K"
"""
    assert parse(text, "x").statements[0].words["after"] == "ftl.op=28%, bs=16K"
    mistake(", bs=4K", "", "before names no level of bs; allowed: 4K, 8K, 16K", 'before = ', text)
    mistake("bs=16K", "bs=5K", "after: bs=5K: allowed: 4K, 8K, 16K", "after = ", text)
    mistake("bs=16K", "bs=8K, x=1", "after: 'x' is not a factor; allowed: ftl.op, bs", "after = ",
            text)
    mistake('after = "ftl.op=28%, bs=16K"', "", "[conclusion] has no 'after'", "[[conclusion]]",
            text)


def test_mistakes_of_recordings():
    old = "gen:random,op=write,bs={bs},count=2000"
    mistake(old, "rec:none-{bs}", "rec:none-4K: there is no such recording; ")
    mistake(old, "rec:xfs-large,start={bs},measure=fill",
            "rec:xfs-large: measure=fill: this recording has the phases format, mount, write")
    mistake(old, "rec:xfs-large,start=x{bs}",
            "rec:xfs-large,start=x4K: start=x4K: allowed: a sector, or a size")


def test_mistakes_of_toml():
    mistake("[factors]", "[factors", "Expected ']' at the end of a table declaration")
    mistake('title = "A', 'title = A', "Invalid value")
    mistake("[device]", 'name = "b"\n[device]', "Cannot overwrite", text=SMALL.replace(
        "[factors]", "").replace('"ftl.op" = ["10%", "28%"]', "").replace("bs = ", "ftl.op = "))


def test_mistakes_of_names():
    mistake('title = ', 'titel = ', "unknown key 'titel'; allowed: name, title, question,")
    mistake('profile = ', 'profil = ', "unknown key 'profil'; allowed: profile, set")
    mistake('name = "small"', 'name = "Small one"', "name = \"Small one\": allowed: small letters")
    mistake('better = "less"', 'better = "low"', 'better = "low": allowed: less, more')
    mistake("[workload]", "[workload]\ndepth = 0", "depth = 0: allowed: a whole number from 1",
            "depth")
    mistake("[workload]", '[workload]\nflags = ["--fast"]', "flags: '--fast': allowed: --timed",
            "flags")
    mistake("[measure.waf]", '[[figure]]\nkind = "pie"\n[measure.waf]',
            'kind = "pie": allowed: lines, bars, heatmap, effects, scores', "kind")
    mistake("[measure.waf]", '[[figure]]\nkind = "scores"\n[measure.waf]',
            "a figure of kind scores needs x; allowed: ftl.op, bs", "[[figure]]")
    for threshold in ("100%", "-1%", "x"):
        mistake("[measure.waf]", '[[conclusion]]\nsay = "choose"\nfactor = "bs"\n'
                'threshold = "%s"\n[measure.waf]' % threshold,
                'threshold = "%s": allowed: 0%% to below' % threshold,
                "threshold")
    mistake("[measure.waf]", '[[conclusion]]\nsay = "choose"\nfactor = "bs"\n'
            'among = "3K"\n[measure.waf]', 'among = "3K": is in no level of bs; they are: 4K',
            "among")
    mistake("[measure.waf]", '[[figure]]\nkind = "bars"\nx = "bz"\n[measure.waf]',
            'x = "bz": allowed: ftl.op, bs', "x =")
    mistake("[measure.waf]", '[[conclusion]]\nsay = "effects"\nmeasure = "wax"\n[measure.waf]',
            'measure = "wax": allowed: waf, rate', '"wax"')
    mistake("[measure.waf]", '[[conclusion]]\nsay = "compare"\nfactor = "bs"\nfrom = "4K"\n'
            'to = "5K"\n[measure.waf]', 'to = "5K": allowed: 4K, 8K, 16K', "to =")
    mistake("[measure.waf]", '[[conclusion]]\nsay = "theory"\n[measure.waf]',
            'say = "theory" needs [theory]', "say")
    published = ('[[conclusion]]\nsay = "published"\nfactor = "bs"\nrest = "people"\n'
                 'published = "4K=2, %s"\ntimes = "%s"\n[measure.waf]')
    for word, message in (("5K=3", "published: '5K' is not a level of bs; allowed: 4K, 8K, 16K"),
                          ("8K=0", "published: 8K=0: allowed: a number above 0"),
                          ("8K", "published: 8K=: allowed: a number above 0")):
        mistake("[measure.waf]", published % (word, 2), message, "published = ")
    mistake("[measure.waf]", published % ("8K=3", 0), 'times = "0": allowed: a number above 0',
            "times")


def test_mistakes_of_factors():
    mistake('bs={bs}', 'bs={size}', "requests: {size} is not a factor; allowed: ftl.op, bs",
            "requests")
    mistake('bs={bs}', 'bs=4K', "the factor bs changes nothing", "bs = ")
    mistake('["10%", "28%"]', '["10%", "10%"]', "ftl.op: the level 10% comes twice", "ftl.op")
    mistake('["10%", "28%"]', '[]', "ftl.op: expected an array of levels", "ftl.op")
    mistake('["10%", "28%"]', '[true]', "ftl.op: the level True is neither a text nor a number",
            "ftl.op")
    mistake('device.used=16T"', 'ftl.op=3%"', "set: ftl.op is also a factor", "ftl.op=3%")
    mistake('device.used=16T"', 'device.used"', "set: 'device.used': expected SECTION.KEY=VALUE",
            "set")


def test_each_factor_is_looked_at():
    """One that is wrong hides no other one."""
    wrong = SMALL.replace('["10%", "28%"]', '[]').replace('["4K", "8K", "16K"]', '["4K", true]')
    try:
        parse(wrong, "x.toml")
        raise AssertionError("it is taken")
    except LabError as e:
        told = str(e).splitlines()
    assert len(told) == 2 and "ftl.op: expected an array of levels" in told[0], told
    assert "bs: the level True is neither a text nor a number" in told[1], told


# Levels that give values to several words; one level sets a key with one profile only.
WORDS = SMALL.replace('bs = {label = "request", levels = ["4K", "8K", "16K"]}', '''
[factors.use]
label = "use"
[factors.use.levels]
small = {n = 20, bs = "4K", more = "count={n}", "nand.tR" = "31us"}
large = {bs = "64K", more = "count={n}", n = 30, "ssd-page:ftl.op" = "9%", "ideal:nand.tR" = "1us"}
''').replace("count=2000", "{more}")


def test_levels_of_several_words():
    e = parse(WORDS, "x.toml")
    assert e.factors[1].levels == ("small", "large") and e.factors[0].words == ()
    assert e.factors[1].given("small")["n"] == "20" and e.factors[0].given("10%") == {}
    runs = {p.levels: p.run for p in plan(e, TOOL)}
    assert {levels: run.requests[0].text for levels, run in runs.items()} == {
        (op, use): "gen:random,op=write,bs=%s,count=%d" % requests for op in ("10%", "28%")
        for use, requests in (("small", ("4K", 20)), ("large", ("64K", 30)))}
    assert "tR = 31us" in runs["10%", "small"].canonical
    assert "tR = 31us" not in runs["10%", "large"].canonical
    # What a factor varies, a word does not set.
    assert runs["28%", "large"].overrides == (
        "nand.blocks_per_plane=32", "device.used=16T", "ftl.op=28%")
    free = parse(WORDS.replace('"ftl.op" = ["10%", "28%"]', ""), "x.toml")
    assert [p.run.overrides[0] for p in plan(free, TOOL)] == ["nand.tR=31us", "ftl.op=9%"]
    assert good_json("show", write("x.toml", WORDS))["runs"][1]["levels"] == {
        "ftl.op": "10%", "use": "large"}


def test_mistakes_of_words():
    def wrong(old, new, message, where):
        mistake(old, new, message, where, WORDS)
    wrong('n = 30, ', '', "use: the level large has no 'n', which other levels have", "large =")
    wrong('n = 30', 'n = true', "use: n = True is neither a text nor a number", "large =")
    wrong('n = 30', 'N = 30', "use: 'N': allowed: a word of small letters, SECTION.KEY, or",
          "large =")
    wrong('large = {', 'large = 3 #', "use: the level large: expected a table", "large =")
    wrong('bs={bs}', 'bs={size}', "requests: {size} is not a factor; allowed: ftl.op, use, n, "
          "bs, more", "requests")


def test_mistakes_that_only_the_program_knows():
    mistake('"ssd-page"', '"xyzzy"', "profile=xyzzy: no profile of that name; known: apacer4g")
    mistake('"ssd-page"', '"ssd"', "profile=ssd: no profile of that name; did you mean ssd-page?")
    mistake('"28%"', '"28"', "ftl.op=28: has no unit (%); allowed: 0% to 1000%", '"28"')
    several = SMALL.replace('["10%", "28%"]', '[\n  "10%",\n  "bad",\n]')
    mistake('"bad"', '"worse"', "ftl.op=worse: ", '"worse"', text=several)
    wrong = several.replace('"10%"', '"x"')
    mistake('"bad"', '"worse"', "ftl.op=worse: ", '"worse"', text=wrong)
    mistake('"bad"', '"worse"', "ftl.op=x: ", '"x"', text=wrong)
    mistake('device.used=16T', 'device.usd=16T', "device.usd=16T: unknown key device.usd; did",
            "device.usd")
    mistake('op=write', 'op=wite', "pattern random: op=wite: did you mean write? expected op=read|write|trim",
            "op=wite")
    mistake('gen:random', 'gen:randm', "there is no pattern 'randm'; did you mean random? known: "
            "sequential", "randm")
    mistake('count=2000', 'count=x', "count=x: expected a number of at least 1", "count=x")
    mistake('gen:random', 'nofile,', "nofile,,op=write,bs=4K,count=2000: No such file", "nofile")
    mistake('ftl.waf', 'ftl.wax', "'ftl.wax': there is no 'wax' in ftl; allowed: free_blocks,")
    mistake('ftl.waf', 'ftl', "'ftl' is not a number", 'value = "ftl"')
    mistake('ftl.waf', 'ftl.waf +', "'ftl.waf +' is not an expression; allowed:")
    mistake('ftl.waf', 'open(1)', "'open(1)' in 'open(1)': allowed are members")
    mistake('ftl.waf', 'profile.ftl.xx', "'profile.ftl.xx': a profile has no key 'ftl.xx'")
    mistake('ftl.waf', 'profile.ftl.type', "'profile.ftl.type': the value page is not a number")


def test_all_mistakes_are_told():
    write("x.toml", SMALL.replace('title = ', 'titel = ').replace('bs={bs}', 'bs={b}'))
    lines = bad("unknown key", "run", "x.toml")
    assert not os.path.exists("store"), "nothing may run"
    assert [line.split(":")[1] for line in lines] == sorted(
        (line.split(":")[1] for line in lines), key=int) and len(lines) == 4, lines


def test_too_many_runs():
    write("x.toml", SMALL)
    bad("x.toml: 2 x 3 = 6 runs; allowed: 5 (--most raises the limit)", "run", "x.toml", "--most",
        "5")


def test_files_that_are_none():
    bad("no experiment of the name 'nope'; known: ", "run", "nope")
    # what is near to a name is asked for, wherever one is typed
    for meant, words in (("article", ("run", "artcle")), ("log", ("advise", "transcend8g", "--workload", "lgo")),
                         ("logger", ("life", "loger")), ("ext4", ("crash", "--fs", "ext5", "transcend8g")),
                         ("run", ("rnu",)), ("transcend8g", ("crash", "transcend9g")),
                         ("files", ("crash", "--fs", "ext4", "--work", "fils", "transcend8g"))):
        bad("did you mean %s?" % meant, *words)
    bad("no experiment, recording or workload of the name 'nope'; there are ", "show", "nope")
    bad("of the name 'waff'; near to it: waf", "show", "waff")
    bad("./nope: No such file or directory", "run", "./nope")
    with open("x.toml", "wb") as f:
        f.write(b"\xff")
    bad("x.toml: is not a text in UTF-8", "run", "x.toml")


def test_lines_of_keys():
    lines = Lines('a = 1\n# b = 2\n[t]\nx.y = [\n  "p",\n  "q",\n]\n"u.v" = """\nz = 1\n"""\n'
                  'w = 3\n[[s]]\nk = 1\n[[s]]\nk = 2\n')
    assert lines.of(("a",)) == 1 and lines.of(("t", "x", "y")) == 4 and lines.of(("t", "x.y")) == 4
    assert lines.of(("t", "x.y"), "q") == 6 and lines.of(("t", "u.v")) == 8
    assert lines.of(("t", "w")) == 11 and lines.of(("s", 0, "k")) == 13
    assert lines.of(("s", 1, "k")) == 15 and lines.of(("s", 1, "none")) == 14
    assert lines.of(("t", "none")) == 3


def test_expressions():
    result = {"ftl": {"waf": None}, "host": {"write": {"bytes": 4000, "ops": 0}}, "n": 2}
    profile = {"nand.page_size": "4K", "ftl.op": "7%", "nand.tR": "30us", "ftl.type": "page"}
    for text, want in (("n * (1 + 2.5) - 1", 6.0), ("host.write.bytes / n", 2000.0),
                       ("profile.nand.page_size", 4096.0), ("profile.ftl.op * 100", 0.07 * 100),
                       ("profile.nand.tR", 30000.0), ("ftl.waf", None), ("1 + ftl.waf", None),
                       ("n / host.write.ops", None)):
        assert evaluate(text, result, profile) == want, text
    for text in ("n ** 2", "-n", "n.x", "[1]", "True", "'a'", "n if n else n", "host.write"):
        try:
            evaluate(text, result, profile)
        except LabError:
            continue
        raise AssertionError(text)


def test_quantities():
    for text, want in (("4K", 4096), ("2MB/s", 2e6), ("7%", 0.07), ("1.5ms", 1.5e6), ("12", 12),
                       ("auto", None), ("4 Q", None), ("", None), ("850us/2300us", None)):
        assert quantity(text) == want or abs(quantity(text) - want) < 1e-9, text
    for value, want in ((0, "0"), (1234567, "1\u2009234\u2009567"), (6.238, "6.24"), (2.0, "2"),
                        (0.0123, "0.0123"), (531.4, "531"), (float("nan"), "-"), (-0.5, "-0.5")):
        assert number(value) == want, (value, number(value))
    # What was measured has all of its digits, and what stands in a row has as many.
    for value, want in ((3.8, "3.80"), (96.04, "96.0"), (2.0, "2.00"), (0.0123, "0.0123"), (100, "100"),
                        (9.996, "10.0"), (0.5, "0.500"), (-0.5, "-0.500"), (0, "0"), (1234.5, number(1234))):
        assert measured(value) == want, (value, measured(value))
    assert alike([3.73, 3.8, None, 6]) == ["3.73", "3.80", "-", "6.00"]
    assert alike([848, 27, None, 0]) == ["848", "27", "-", "0"]


def test_the_shipped_experiments_are_right():
    names = [e["name"] for e in good_json("list")]
    assert names == sorted(names) and {"waf", "streams", "lifetime", "image-builders",
                                       "ignored-unit"} <= set(names)
    assert [line.split()[0] for line in good("list").splitlines()] == names
    for e in good_json("list"):
        shown = good_json("show", e["name"])
        assert len(shown["runs"]) == e["runs"] == len({r["key"] for r in shown["runs"]}), e
        assert not any(r["message"] for r in shown["runs"]), e
        assert e["question"] in shown["question"]
        write("copy.toml", good("show", e["name"], "--toml"))
        assert good_json("show", "copy.toml") == shown


def test_the_manual_has_every_sentence():
    text = read(os.path.join(TOP, "docs/man/flashemu-experiment.5"))
    sentences = text.partition(".It Va [[conclusion]]")[2].partition("\n.El")[0]
    assert "(which factor matters how much)" in sentences
    words = set(re.findall(r"\w+", sentences))
    for say, members in STATEMENTS.items():
        assert words >= {say, *members}, (say, members, words)


run(globals())
