#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The page of tools/web in a browser: its answers, and whoever uses it with a keyboard, a phone, in
the dark or with a screen reader."""

import gzip
import json
import os
import re

from flashemu_chromium import CHROMIUM, Browser
from flashemu_firefox import FIREFOX, Firefox
from flashemu_pages import STRUCTURE
from flashemu_script import ended, from_env, need, run, skip
from flashemu_tool import good, good_json

ROOT = from_env("SOURCE_ROOT")
BUILD = os.environ["FLASHEMU_WEB"]  # a folder, which the test makes
PAGE = "file://" + os.path.join(os.path.abspath(BUILD), "flashemu.html")
WORKED = "document.getElementById('status').textContent.startsWith('Worked out')"

# Sentences about what is wrong with the layout, of all that is shown.
LAYOUT = r"""(() => {
""" + STRUCTURE + r"""
  const wrong = unsaid(), root = document.documentElement;
  if (root.scrollWidth > innerWidth) wrong.push(`${root.scrollWidth} wide`);
  const light = c => c.match(/[\d.]+/g).slice(0, 3).map(x => x / 255)
    .map(x => x > 0.03928 ? ((x + 0.055) / 1.055) ** 2.4 : x / 12.92)
    .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (c !== "rgba(0, 0, 0, 0)") return c;
    }
    return getComputedStyle(document.body).backgroundColor;
  };
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!own || !e.checkVisibility() || e.closest("script, style, option") || e.disabled) continue;
    const style = getComputedStyle(e), drawn = e instanceof SVGElement;
    const both = [light(drawn ? style.fill : style.color), light(behind(e))].sort((a, b) => b - a);
    if ((both[0] + 0.05) / (both[1] + 0.05) < 4.5) wrong.push("pale: " + e.textContent.slice(0, 40));
    const scale = drawn ? e.getScreenCTM().a : 1;
    if (parseFloat(style.fontSize) * scale < 9) wrong.push("small: " + e.textContent.slice(0, 40));
  }
  for (const e of document.querySelectorAll("select")) { // what is chosen is read whole
    if (!e.checkVisibility()) continue;
    const whole = e.cloneNode(false);
    whole.removeAttribute("id");
    whole.append(new Option(e.selectedOptions[0].text));
    whole.style.width = "max-content";
    document.body.append(whole);
    if (whole.offsetWidth > e.offsetWidth) wrong.push("cut off: " + whole.innerText);
    whole.remove();
  }
  return wrong;
})()"""


def text(browser, name):
    return browser.js("document.getElementById(%s).innerText" % json.dumps(name))


def rows(browser, table):
    return browser.js("[...document.querySelectorAll('#%s tbody tr')].map(r => "
                      "[...r.cells].map(c => c.innerText.trim()))" % table)


def choose(browser, **values):
    """Chooses in the form and sends it."""
    for name, value in values.items():
        browser.js("(e => { e.value = %s; e.dispatchEvent(new Event('change')); })"
                   "(document.getElementById('%s'))" % (json.dumps(value), name))
    browser.js("document.getElementById('go').click()")


def ready(b, tab="ask"):
    """The page with an answer, on a tab of it.  It is opened once, because its first answer takes
    longest."""
    if not b.js("location.href.endsWith('flashemu.html') && %s" % WORKED):
        b.open(PAGE)
        b.wait(WORKED)
    b.js("document.getElementById('tab-%s').click()" % tab)


def rate(stats):
    return stats["user_bytes"] / stats["busy_ns"] * 1e3


def test_the_answer_is_that_of_the_program(b):
    b.look(1280)
    b.open(PAGE)
    b.wait(WORKED)
    shown = rows(b, "starts")
    assert len(shown) == 11, shown
    for name, mb, written in shown:
        start = re.search(r"sector (\d+)", name)[1]
        stats = good_json("replay", "transcend8g",
                          "rec:vfat-large,start=%s,measure=write" % start, "--json")
        assert abs(float(mb) / rate(stats) - 1) < 0.005, (name, mb, rate(stats))
        flash = stats["nand"]["bytes_programmed"] / stats["user_bytes"]
        assert abs(float(written) / flash - 1) < 0.005, (name, written, flash)
    # In 4 MiB steps of this stick everything from 32 KiB on is alike; today's programs take 1 MiB.
    assert text(b, "sentence").startswith("Start the partition at 1 MiB (sector 2048)."), shown
    assert "At 31.5 KiB (sector 63) it loses 3" in text(b, "sentence"), text(b, "sentence")
    assert "start=2048" in text(b, "lines") and "mkfs.vfat -F 32 -s 64" in text(b, "lines")
    assert len(rows(b, "formats")) == 8, rows(b, "formats")


def test_keyboard_alone(b):
    b.look(1280)
    b.open(PAGE)
    b.wait(WORKED)
    seen = []
    for _ in range(12):
        b.key("Tab")
        seen.append(b.js("document.activeElement.id"))
        if seen[-1] == "start":
            break
    assert seen == ["tab-ask", "profile", "work", "format", "go", "start"], seen
    before = text(b, "at")
    b.key("Home")
    first = b.wait("document.getElementById('at').innerText.startsWith('31.5 KiB') && "
                   "document.getElementById('start').getAttribute('aria-valuetext')")
    assert first.startswith("31.5 KiB (sector 63): 4.") and before != first, first
    assert "start=63," in text(b, "lines")


def test_wide_and_narrow_light_and_dark(b):
    ready(b)
    for width in (1280, 390, 320):
        for dark in (False, True):
            b.look(width, dark=dark, phone=width < 500)
            assert b.js(LAYOUT) == [], (width, dark, b.js(LAYOUT))


def test_names_for_a_screen_reader(b):
    ready(b)
    names = b.names()
    for wanted in (("combobox", "Which device?"), ("combobox", "What do you do with it?"),
                   ("combobox", "How is it formatted?"), ("button", "Find the answer"),
                   ("slider", "Start of the partition"), ("tab", "Ask a question"),
                   ("table", "Speed and flash written at every start")):
        assert wanted in names, (wanted, names)
    dumb = [n for n in names if n[0] in ("button", "combobox", "slider", "tab", "table", "image",
                                         "progressbar") and not n[1]]
    assert dumb == [], dumb


def test_stop_and_again(b):
    ready(b)
    choose(b, profile="jetflash32g", work="small", format="ext4")
    b.wait("!document.getElementById('stop').disabled")
    b.js("document.getElementById('stop').click()")
    b.wait("document.getElementById('status').textContent === 'Stopped.'")
    choose(b, profile="noname-sd4g", work="log", format="ext4")
    b.wait(WORKED)
    assert "a sync takes" in text(b, "at"), text(b, "at")
    assert "SD card without a name" in text(b, "sentence")


def test_a_device_that_is_too_small(b):
    ready(b)
    choose(b, profile="generic32m")
    b.wait("document.getElementById('status').textContent.includes('32 MiB')")
    assert b.js("document.getElementById('answer').hidden")


def test_how_long_it_takes(b):
    """Nothing is judged: how fast this machine is decides."""
    ready(b)
    with b.slowed(4):
        choose(b, profile="transcend8g", work="large", format="vfat")
        b.wait("!document.getElementById('stop').disabled")
        b.wait(WORKED)
    print("    in a browser that is four times slower:", text(b, "status"))


def test_the_chip_request_by_request(b):
    """After so many requests the counters are those of the program, and the story of one adds up."""
    b.look(1280)
    b.open(PAGE)
    b.wait(WORKED)
    b.js("document.getElementById('tab-chip').click()")
    b.wait("document.getElementById('chip-story').innerText.startsWith('48 blocks of 16 pages')")
    b.js("[1, 2, 3, 4, 5].forEach(() => document.getElementById('chip-step').click())")
    b.wait("document.querySelector('#chip-counts dd')?.innerText === '5'")  # no click is lost
    for n in range(6, 61):
        b.js("document.getElementById('chip-step').click()")
        b.wait("document.querySelector('#chip-counts dd')?.innerText === '%d'" % n)
    shown = dict(b.js("[...document.querySelectorAll('#chip-counts div')].map(d => "
                      "[...d.children].map(c => c.innerText))"))
    stats = good_json("replay", os.path.join(ROOT, "tools/web/lessons/units.ini"),
                      "gen:random,op=write,bs=4K,count=60", "--json")
    merges = stats["ftl"]["merges"]
    assert merges["full"] > 10 and shown["merges"] == str(sum(merges.values())), (shown, merges)
    assert shown["blocks erased"] == str(stats["nand"]["block_erases"]), (shown, stats["nand"])
    assert abs(float(shown["flash for each byte"]) / stats["ftl"]["waf"] - 1) < 0.005, shown
    story = text(b, "chip-story")
    programs = sum(int(n) for n in re.findall(r"program (\d+) page", story, re.I))
    assert programs > 0 and "The chip programmed %d page" % programs in story, story
    first = b.js("document.getElementById('chip-map').getAttribute('aria-label')")
    kinds = [int(n) for n in re.findall(r"(\d+) (?:erased|open|full)", first)]
    assert first.startswith("48 blocks") and len(kinds) == 3 and sum(kinds) == 48, first


def test_power_fails_and_comes_back(b):
    b.open(PAGE)
    b.wait(WORKED)
    b.js("document.getElementById('tab-chip').click()")
    b.wait("document.getElementById('chip-story').innerText.startsWith('48 blocks')")
    for n in range(1, 6):
        b.js("document.getElementById('chip-step').click()")
        b.wait("document.querySelector('#chip-counts dd')?.innerText === '%d'" % n)
    b.js("document.getElementById('chip-cut').click()")
    b.wait("document.getElementById('chip-story').innerText.startsWith('Power has failed.')")
    assert b.js("['chip-cut', 'chip-step', 'chip-play', 'chip-on'].map(i => "
                "document.getElementById(i).disabled)") == [True, True, True, False]
    b.js("document.getElementById('chip-on').click()")
    b.wait("document.getElementById('chip-story').innerText.startsWith('Power is back')")
    b.wait("!document.getElementById('chip-step').disabled")
    b.js("document.getElementById('chip-step').click()")
    b.wait("document.getElementById('chip-story').innerText.startsWith('Write of 4 KiB')")
    for width in (1280, 390, 320):
        for dark in (False, True):
            b.look(width, dark=dark, phone=width < 500)
            assert b.js(LAYOUT) == [], (width, dark, b.js(LAYOUT))
    b.look(1280)


def test_a_question_takes_the_device(b):
    b.open(PAGE)
    b.wait(WORKED)
    b.js("document.getElementById('tab-chip').click()")
    b.wait("document.getElementById('chip-story').innerText.startsWith('48 blocks')")
    b.js("document.getElementById('chip-step').click()")
    b.wait("document.querySelector('#chip-counts dd')?.innerText === '1'")
    choose(b, profile="noname-sd4g", work="log")
    b.wait(WORKED)
    b.js("document.getElementById('chip-step').click()")
    b.wait("document.getElementById('chip-status').innerText.includes('begins anew')")
    b.js("document.getElementById('chip-step').click()")
    b.wait("document.getElementById('chip-story').innerText.startsWith('Write of 4 KiB')")


def test_the_picture_needs_no_colours(b):
    """Each sign of the legend has a shape of its own, and the picture has what the legend has."""
    ready(b, "chip")
    b.wait("document.querySelectorAll('#chip-legend canvas').length === 8")
    # Of each sign, which pixels are as bright as those beside them.
    edges = b.js("""[...document.querySelectorAll('#chip-legend canvas')].map(c => {
      const {data, width} = c.getContext('2d').getImageData(0, 0, c.width, c.height);
      const at = i => 0.2126 * data[i] + 0.7152 * data[i + 1] + 0.0722 * data[i + 2];
      let all = '';
      for (let i = 4; i < data.length; i += 4) all += Math.abs(at(i) - at(i - 4)) > 24 ? '1' : '0';
      return all;
    })""")
    differ = [sum(p != q for p, q in zip(a, c)) for i, a in enumerate(edges) for c in edges[:i]]
    # Erased pages and the newest copies are both plain; their brightness differs.
    assert len(set(edges)) >= 7 and sorted(differ)[1] > 8, differ


def test_tabs_by_their_keys(b):
    ready(b)
    b.js("document.getElementById('tab-ask').focus()")
    for key, tab in (("End", "drop"), ("ArrowRight", "ask"), ("ArrowLeft", "drop"), ("Home", "ask"),
                     ("ArrowRight", "chip")):
        b.key(key)
        assert b.js("document.activeElement.id") == "tab-" + tab, key
        assert not b.js("document.getElementById('%s').hidden" % tab)


def test_play_and_pause(b):
    b.open(PAGE)
    b.wait(WORKED)
    b.js("document.getElementById('tab-ask').focus()")
    b.key("ArrowRight")
    b.wait("document.activeElement.id === 'tab-chip' && "
           "document.getElementById('chip-story').innerText.startsWith('48 blocks')")
    b.js("document.getElementById('chip-speed').value = 4")
    b.js("document.getElementById('chip-play').focus()")
    b.key(" ")
    b.wait("parseInt(document.querySelector('#chip-counts dd')?.innerText.replace(/\\D/g, '')) > 500")
    b.key(" ")
    assert text(b, "chip-play") == "Play"
    b.wait("document.getElementById('chip-story').innerText.startsWith('Write of 4 KiB')")


def brought(b, path, words):
    """What the page says about a file, as soon as that has these words."""
    b.choose_file("#file", path)
    b.wait("document.getElementById('drop-status').innerText.includes(%s)" % json.dumps(words))
    return text(b, "drop-status")


def test_files_that_somebody_brings(b):
    data = os.path.join(ROOT, "tests/data")
    b.look(1280)
    ready(b, "drop")

    # A trace is replayed as the program does it, compressed or not.
    good("gen", "random", "--op", "write", "--bs", "16K", "--count", "4000", "--size", "64M", "-o", "x.trace")
    stats = good_json("replay", "transcend8g", "x.trace", "--wrap", "--json")
    with open("x.trace", "rb") as plain, gzip.open("y.trace.gz", "wb") as packed:
        packed.write(plain.read())
    for name in ("x.trace", "y.trace.gz"):
        said = brought(b, name, name + " has 4")
        assert "4 000 requests" in said.replace("\u202f", " "), said
        waf = float(re.search(r"programs ([\d.]+) bytes", said)[1])
        assert abs(waf / stats["ftl"]["waf"] - 1) < 0.005, (waf, stats["ftl"])
        p99 = stats["latency_ns"]["write"]["p99"] / 1e6
        assert abs(float(rows(b, "found")[0][5].replace("\u202f", "")) / p99 - 1) < 0.005, rows(b, "found")
        assert b.js("document.querySelectorAll('#found svg').length") == 2
    for width in (1280, 390, 320):
        for dark in (False, True):
            b.look(width, dark=dark, phone=width < 500)
            assert b.js(LAYOUT) == [], (width, dark, b.js(LAYOUT))
    b.look(1280)
    said = brought(b, os.path.join(data, "traces/blkparse-terminal.txt"), "blkparse-terminal.txt has")
    assert "2 requests" in said and "5 events of the file were no request" in said, said
    # Somebody's own recording keeps its partition.
    recording = os.path.join(ROOT, "tools/lab/recordings/vfat-log.trace.gz")
    brought(b, recording, "vfat-log.trace.gz has")

    # Measurements are shown.
    brought(b, os.path.join(data, "logs/fio2.json"), "What fio-2.2.10 has measured")
    assert rows(b, "found") == [["rand-write: write", "16.8", "256", "31.2", "\u2013"]], rows(b, "found")
    brought(b, os.path.join(data, "logs/fb-quoted.txt"), "flashbench -a")
    assert rows(b, "found")[1] == ["16 GiB", "336", "1\u202f190", "854"], rows(b, "found")

    # What cannot be read is one sentence.
    with open("huge.trace", "wb") as f:
        f.truncate(2**30)
    assert "1 GiB" in brought(b, "huge.trace", "flashemu replay transcend8g huge.trace")
    with open("page.pdf", "wb") as f:
        f.write(b"%PDF-1.4 " + bytes(range(256)) * 40)
    b.choose_file("#file", "page.pdf")
    b.wait("document.getElementById('drop-status').className === 'answer error' && "
           "document.getElementById('drop-status').innerText.startsWith('page.pdf')")
    print("    ", text(b, "drop-status"))
    with open("cut.gz", "wb") as f, open("y.trace.gz", "rb") as whole:
        f.write(whole.read()[:5000])
    brought(b, "cut.gz", "cut.gz is damaged")
    with open("mine.ini", "w") as f:
        f.write("[device]\ncapcity = 4G\n")
    assert "did you mean" in brought(b, "mine.ini", "mine.ini:2:").lower()

    # A profile joins the devices.
    with open(os.path.join(ROOT, "profiles/sandisk-su04g.ini")) as f:
        profile = f.read()
    with open("mine.ini", "w") as f:
        f.write(profile)
    brought(b, "mine.ini", "mine.ini is a profile: SanDisk SU04G")
    b.js("document.getElementById('tab-ask').click()")
    choose(b)
    b.wait(WORKED + " && document.getElementById('lines').innerText.includes('replay mine ')")
    stats = good_json("replay", "sandisk-su04g", "rec:vfat-large,start=63,measure=write", "--json")
    assert abs(float(rows(b, "starts")[0][1]) / rate(stats) - 1) < 0.005, rows(b, "starts")[0]


def test_a_file_is_dropped(b):
    ready(b)
    b.js("""(() => {
      const files = new DataTransfer();
      files.items.add(new File(["0 write 0 4096\\n"], "no.trace"));
      document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: files, bubbles: true}));
    })()""")
    b.wait("document.getElementById('drop-status').className === 'answer error'")
    assert "no.trace" in text(b, "drop-status")
    assert b.js("document.getElementById('tab-drop').getAttribute('aria-selected')") == "true"


def dropped(b, files):
    """Drops files: [(name, content)]."""
    b.js("""(files => {
      const brought = new DataTransfer();
      for (const [name, content] of files) brought.items.add(new File([content], name));
      document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: brought, bubbles: true}));
    })(%s)""" % json.dumps(files))


def test_what_is_no_file_or_too_many(b):
    ready(b)
    for files, words in (([], "What was dropped is no file."),
                         ([("a.trace", "x"), ("b.trace", "y")],
                          "These are 2 files. This page takes one at a time."),
                         ([("a.trace", "")], "a.trace is empty."),
                         ([("big.json", "{\n" + 9 * 2**20 * " ")],
                          "Results of fio and flashbench have at most 8 MiB here")):
        dropped(b, files)
        b.wait("document.getElementById('drop-status').innerText.includes(%s)" % json.dumps(words))
        assert b.js("document.getElementById('drop-status').className") == "answer error"


def test_a_new_file_ends_the_last_one(b):
    """What is shown is about the file that was brought last, and about nothing else."""
    ready(b)
    long = "# flashemu trace 1\n" + "".join(
        "0 write %d 4096\n" % (4096 * (i * 7919 % 100000)) for i in range(300000))
    dropped(b, [("long.trace", long)])
    b.wait("!document.getElementById('drop-stop').hidden")
    dropped(b, [("short.trace", "# flashemu trace 1\n0 write 0 4096\n")])
    b.wait("document.getElementById('drop-status').innerText.startsWith('short.trace has 1 request')")
    assert b.js("document.querySelectorAll('#found table').length") == 1
    assert b.js("document.getElementById('drop-stop').hidden")


def test_a_profile_with_the_name_of_a_lesson(b):
    """It stays what it is when the lesson of that name is looked at, for the first time."""
    b.open(PAGE)
    b.wait(WORKED)
    with open(os.path.join(ROOT, "profiles/sandisk-su04g.ini")) as f:
        dropped(b, [("units.ini", f.read())])
    b.wait("document.getElementById('drop-status').innerText.startsWith('units.ini is a profile: SanDisk')")
    b.js("document.getElementById('tab-chip').click()")
    b.wait("document.getElementById('chip-story').innerText.startsWith('48 blocks of 16 pages')")
    b.js("document.getElementById('tab-ask').click()")
    choose(b)
    b.wait(WORKED + " && document.getElementById('lines').innerText.includes('replay units ')")
    b.js("document.querySelector('#profile option').remove()")


# What Firefox does as well, where there is one: it has no part in keys, phones and names here.
IN_FIREFOX = (test_the_answer_is_that_of_the_program, test_the_chip_request_by_request,
              test_a_file_is_dropped)


class OneBrowser:
    """Tests with their argument, which is one browser: its start takes long."""

    def __init__(self, kind):
        self.kind, self.browser = kind, None

    def bound(self, test):
        def call():
            self.browser = self.browser or self.kind()
            self.browser.events.clear()
            test(self.browser)
            assert self.browser.errors() == [], self.browser.errors()
        return call

    def close(self):
        if self.browser:
            self.browser.close()


if not CHROMIUM:
    skip("no chromium")
need("node")
built, said, why = ended([os.path.join(ROOT, "tools/web/build"), BUILD])
if built == 77:
    skip(why.strip())
assert built == 0 and "warning" not in said, said + why
chromium, firefox = OneBrowser(Browser), OneBrowser(Firefox)
tests = {name: chromium.bound(f) for name, f in list(globals().items())
         if name.startswith("test_")}
if FIREFOX:
    tests.update({f.__name__ + "_in_firefox": firefox.bound(f) for f in IN_FIREFOX})
else:
    print("no firefox: left out")
try:
    run(tests)
finally:
    chromium.close()
    firefox.close()
