#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the documents say agrees with each other and with the sources.

A figure that stands in two documents has one source: the tables of docs/FIT.md, docs/SPEED.md and
docs/FIDELITY.md.  What README.md and summaries quote is computed from these tables here.  Keys and
files that a document names must exist, and the documents that are to be read through stay short.
"""

import os
import re
import subprocess

from flashemu_script import from_env, run
from flashemu_tool import TOOL, good_json

ROOT = from_env("SOURCE_ROOT")
MOST_WORDS = {"docs/DESIGN.md": 5000, "docs/FIT.md": 1750, "docs/SPEED.md": 1200}
PAGES = ["README.md", "HACKING.md"] + ["docs/%s.md" % name for name in (
    "DESIGN", "CARDS", "FIT", "SPEED", "RECIPES", "START", "TUTORIAL")]
FIT_MANUAL = "docs/man/flashemu-lab-fit.1"
SECTIONS = "device|nand|ftl|cache|link|ecc|faults|step"
WORDS = dict(zip("three four five six seven eight nine ten eleven twelve".split(), range(3, 13)))


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as f:
        return f.read()


def flat(name):
    """The text of a document in one line."""
    return " ".join(read(name).split())


def rows(name, heading, columns):
    """The cells of the rows of the tables with so many columns behind a heading."""
    text = re.search(r"^## %s\n(.*?)(?=^## |\Z)" % re.escape(heading), read(name), re.M | re.S)
    assert text, (name, heading)
    found = [[cell.strip() for cell in line.strip("|").split("|")]
             for line in text[1].split("\n") if re.match(r"\| `?\w", line)]
    found = [row for row in found if len(row) == columns][1:]
    assert found, (name, heading)
    return found


def percent(cell):
    return None if cell == "-" else float(cell.removesuffix(" %"))


def says(name, sentence):
    assert sentence in flat(name), "%s must say: %s" % (name, sentence)


def test_documents_are_short():
    for name, most in MOST_WORDS.items():
        words = len(read(name).replace("|", " ").split())
        assert words <= most, "%s has %d words, %d are allowed" % (name, words, most)


def test_summary_of_cards_with_a_queue():
    means = [percent(row[2]) for row in rows("docs/FIT.md", "Cards with a command queue", 6)]
    says("docs/FIT.md", "come to %s to %s %% in the mean of 56" % (min(means), max(means)))


def test_summary_of_tables_of_rates():
    medians = sorted(percent(row[1]) for row in rows("docs/FIT.md", "Tables of rates", 6))
    says("docs/FIT.md", "predict the other half with %s to %s %% in the median" % (medians[0], medians[-1]))


def test_summary_of_clones():
    clones = {row[0].strip("`"): [float(cell) for cell in row[1:]]
              for row in rows("docs/FIT.md", "Clones", 10)}
    near = [name for name, ratios in clones.items() if all(0.9 <= r <= 1.1 for r in ratios)]
    every = [r for ratios in clones.values() for r in ratios]
    good = sum(0.9 <= r <= 1.1 for r in every)
    number = {n: word for word, n in WORDS.items()}[len(near)].capitalize()
    says("docs/FIT.md", "%d of %d devices within a tenth" % (len(near), len(clones)))
    says("docs/FIT.md", "%s of these %d clones are within a tenth for each work, and %d of the %d "
         "numbers are between 0.9 and 1.1" % (number, len(clones), good, len(every)))
    says("README.md", "%s of the %d are within a tenth for each work, and the worst takes up to %s "
         "times as long" % (number, len(clones), max(every)))
    says("README.md", "clones of %d shipped devices" % len(clones))
    says(FIT_MANUAL, "%s of them are within a tenth for each work, and the worst takes up to %s times "
         "as long" % (number, max(every)))


def test_samples():
    """docs/CARDS.md and the shipped samples say how far replays are from a kernel."""
    found = [abs(float(line.rsplit(",", 1)[1].removesuffix("%"))) for line in
             read("tools/lab/recordings/sampled.csv").splitlines()[1:]]
    far = sorted(found)[-2:]
    others = sorted(f for f in found if 1 <= f < far[0])
    says("docs/CARDS.md", "%d of %d samples differ by less than 1 %%" %
         (sum(f < 1 for f in found), len(found)))
    says("docs/CARDS.md", "took %.0f %% longer: the kernel reads ahead" % far[0])
    says("docs/CARDS.md", "took %.0f %% longer through the kernel" % far[1])
    says("docs/CARDS.md", "%s more, by %.1f to %.0f %%" % (
        {n: word for word, n in WORDS.items()}[len(others)].capitalize(), others[0], others[-1]))


def test_figures_of_the_first_stick():
    """The tables of README.md against docs/FIDELITY.md."""
    known = {row[0]: row for row in rows("docs/FIDELITY.md", "transcend8g", 6)}
    says("README.md", "as today ------------- ------------ --------- MB/s %s %s" %
         (known["tr8-write-fat32"][3], known["tr8-write-ext4-aligned"][3]))
    here = rows("README.md", "How good", 3)
    names = ["tr8-read-fat32", "tr8-write-fat32", "tr8-write-ext4-aligned",
             "tr8-write-ntfs64k-fresh", "tr8-write-ntfs64k-filled"]
    assert len(here) == len(names), here
    for (_, published, measured), name in zip(here, names):
        row = known[name]
        assert row[2] == published + " MB/s", (row, published)
        assert "%.1f" % float(row[3]) == measured, (row, measured)


def test_the_page_has_the_figures_in_the_time_of_the_device():
    """Those of docs/fidelity_timed.tsv, beside what the tables have; a change of more than 1 % has its
    reason, and a page is whole or as it was."""
    def made(page):
        with open("page.md", "w", encoding="utf-8") as f:
            f.write(page)
        subprocess.run([os.path.join(ROOT, "tools/fidelity"), "--timed", "--no-run", "--page", "page.md"],
                       check=True, env=dict(os.environ, FLASHEMU=TOOL))
        with open("page.md", encoding="utf-8") as f:
            return f.read()

    kept = read("docs/FIDELITY.md")
    assert made(kept) == kept, "tools/fidelity --timed --no-run makes it again"
    section = kept.split("\n## In the time of the device\n")[1].split("\n## ")[0]
    told = [line.split("\t") for line in read("docs/fidelity_timed.tsv").splitlines()[1:]]
    for device, figure, value, _, kernel, why in told:
        cells = next(line for line in section.splitlines()
                     if line.startswith("| %s | %s |" % (device, figure))).split("|")
        assert abs(float(cells[5]) / float(value) - 1) < 0.02 and "in the device's time" in kernel
        change = float(cells[7].split()[0])
        assert (cells[8].strip() in ("nearer", "further")) == (abs(change) > 1) == bool(why), cells
        assert not why or "\n* %s %s: %s" % (device, figure, why) in section + "\n", figure
    # The table above decides: the same figure there changes by nothing here.
    assert "| samsung-evoplus32g | hdparm-t | 43.9 MB/s | 45.2 | 45.2 | +3.0 % | +0.0 % |  |" in \
        made(kept.replace("| 43.6 | -0.6 % | ok |", "| 45.2 | +3.0 % | ok |"))


def test_keys_exist():
    known, seen = {o["key"] for o in good_json("help", "--json")}, set()
    for name in PAGES:
        for key in re.findall(r"\b(?:%s)\.[A-Za-z][A-Za-z_]+\b(?![.(])" % SECTIONS, read(name)):
            if key.rpartition(".")[2] not in ("c", "h", "py", "toy_key", "uint"):
                assert key in known, "%s names %s, which is no key" % (name, key)
                seen.add(key)
    assert len(seen) > 50, seen


def test_files_exist():
    """Sources that a document names by a name that only a file has."""
    skipped = {".git", "__pycache__", "build"}
    known = set()
    for folder, below, names in os.walk(ROOT):
        below[:] = [b for b in below if b not in skipped and not b.startswith("build-") and
                    not os.path.exists(os.path.join(folder, b, "build.ninja"))]
        known.update(os.path.relpath(os.path.join(folder, name), ROOT) for name in names)
    for name in PAGES:
        for path in re.findall(r"`([\w/.-]+\.(?:c|h|py|sh|csv|toml|in))`", read(name)):
            if re.search(r"NAME|^(my|mine)\.", path):
                continue
            assert any(file == path or file.endswith("/" + path) for file in known), (
                "%s names %s, which is no file" % (name, path))


def test_names_of_the_lab_exist():
    """`module.NAME`, and `NAME` or `NAME` in `module.py`: the module defines it, and does not only import it."""
    lab = os.path.join(ROOT, "tools/lab/flashemu_lab")
    modules = [os.path.relpath(os.path.join(folder, name), lab)
               for folder, _, names in os.walk(lab) for name in names if name.endswith(".py")]
    text = re.search(r"^## Change the lab\n(.*?)^## ", read("HACKING.md"), re.M | re.S)[1]
    asked = re.findall(r"`([\w/]+)\.(?!(?:py|toml|c)`)(\w+)`", text)
    asked += [(module, name) for names, module in re.findall(
        r"((?:`\w+`(?:,|\s|or|in)+)+)`([\w/]+)\.py`", text) for name in re.findall(r"`(\w+)`", names)]
    assert {("schema", "PROCEDURES"), ("fit/cards", "_WORDS")} < set(asked) and len(asked) > 15, asked
    for module, name in asked:
        files = [m for m in modules if ("/" + m).endswith(f"/{module}.py")]
        assert any(re.search(r"^(?: *(?:def|class) )?%s\b" % name, read("tools/lab/flashemu_lab/" + m), re.M)
                   for m in files), "%s has no %s" % (module, name)


def test_recipes_are_of_today():
    assert not re.search(r"chang\w+ since|not repeated|changed last", flat("docs/RECIPES.md"))


if __name__ == "__main__":
    run(globals())
