#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The workflow files: a parser reads them, what they run is in the sources, and they keep the logs.

Where actionlint is installed, it finds nothing either."""

import os
import re
import shutil
import tempfile

from flashemu_script import ended, run, skip

try:
    import yaml
except ImportError:
    skip("no python3-yaml")

ROOT = os.environ["SOURCE_ROOT"]
FOLDER = os.path.join(ROOT, ".github/workflows")


def workflows():
    for name in sorted(os.listdir(FOLDER)):
        with open(os.path.join(FOLDER, name), encoding="utf-8") as f:
            yield name, yaml.safe_load(f)


def steps(work):
    return [step for job in work["jobs"].values() for step in job["steps"]]


def test_they_are_workflows():
    found = dict(workflows())
    assert "check.yml" in found, found
    for name, work in found.items():
        assert {"name", "jobs"} <= set(work) and (True in work or "on" in work), name
        for job in work["jobs"].values():
            assert {"runs-on", "steps", "timeout-minutes"} <= set(job), name
        for step in steps(work):
            assert ("run" in step) != ("uses" in step), (name, step)


def test_what_they_run_is_here():
    seen = set()
    for name, work in workflows():
        for step in steps(work):
            for script, option in re.findall(r"\b(tools/[\w/-]+)(?: (--[\w-]+))?",
                                             step.get("run", "")):
                seen.add(script)
                path = os.path.join(ROOT, script)
                assert os.access(path, os.X_OK), (name, script)
                code, out, _ = ended([path, "--help"])
                assert code == 0 and (not option or option in out), (name, script, option)
    assert "tools/check" in seen and len(seen) > 2, seen


def test_gitlab_publishes_the_page():
    with open(os.path.join(ROOT, ".gitlab-ci.yml"), encoding="utf-8") as f:
        job = yaml.safe_load(f)["pages"]
    assert "tools/web/build --install" in job["script"] and job["artifacts"]["paths"] == ["public"]
    assert any(line.endswith("public/index.html") for line in job["script"]), job


def test_both_versions_of_debian_and_their_figures():
    work = dict(workflows())["check.yml"]
    job = work["jobs"]["check"]
    assert set(job["strategy"]["matrix"]["debian"]) == {"bookworm", "trixie"}
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert "tools/check" in commands and any("--benchmark" in c for c in commands)
    kept = next(s for s in job["steps"] if "upload-artifact" in s.get("uses", ""))
    assert kept["if"] == "always()"
    for path in kept["with"]["path"].split():
        if path.startswith("docs/"):
            assert os.path.exists(os.path.join(ROOT, path)), path
    assert "benchmarklog.txt" in kept["with"]["path"] and "docs/FIDELITY.md" in kept["with"]["path"]


def job_files():
    """The commands of the two job files for projects, and what each says about where flashemu is."""
    with open(os.path.join(ROOT, "docs/recipes/gitlab-power-cut.yml"), encoding="utf-8") as f:
        job, = yaml.safe_load(f).values()
    gitlab = " ".join(job["script"]), job["variables"]["FLASHEMU"]
    with open(os.path.join(ROOT, "docs/recipes/github-power-cut.yml"), encoding="utf-8") as f:
        job, = yaml.safe_load(f)["jobs"].values()
    runs = " ".join(step["run"] for step in job["steps"] if "run" in step)
    return gitlab, (runs, job["env"]["FLASHEMU"])


def test_files_for_projects_need_no_editing_and_say_the_same():
    """Nothing in capitals stands for something else, and both type the same commands."""
    (gitlab, there), (github, here) = job_files()
    assert there == "$CI_SERVER_URL/$CI_PROJECT_ROOT_NAMESPACE/flashemu"
    assert here == "${{ github.server_url }}/${{ github.repository_owner }}/flashemu"

    def words(text):
        return text.replace("\\\n", " ").split()
    assert words(gitlab) == words(github)
    with open(os.path.join(ROOT, "docs/START.md"), encoding="utf-8") as f:
        start = f.read()
    typed = re.search(r"(?m)^    nbdkit -t 1 .* (transcend8g .*)$", start)[1]
    assert typed in " ".join(words(gitlab)), typed


def installed(text):
    """The packages that a job or a recipe names."""
    text = re.sub(r"\\\n|\n +(?=lib|python3-|debian-|sqlite3)", " ", text)
    lists = re.findall(r"apt-get install -y ([^$&\n]*)", text)
    return {name for names in lists for name in names.split()}


def test_jobs_install_what_they_need():
    """All that is built and called has a line of tools/packages; no job builds tests that it does
    not run, and whoever makes a page has what pages are made with."""
    with open(os.path.join(ROOT, "tools/packages"), encoding="utf-8") as f:
        known = {line.split()[1] for line in f if re.match(r"\w+ +\S+$", line)}
    known |= {"git", "ca-certificates", "sqlite3", "make", "bc", "patchelf", "debian-archive-keyring"}
    folder, texts = os.path.join(ROOT, "docs/recipes"), {}
    for name in os.listdir(folder):
        if name.endswith(".yml"):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                texts[name] = f.read()
    with open(os.path.join(ROOT, "docs/RECIPES.md"), encoding="utf-8") as f:
        texts["RECIPES.md"] = re.search(r"(?m)^    apt-get .*\n    meson .*$", f.read())[0]
    assert len(texts) == 7, texts.keys()
    for name, text in texts.items():
        got = installed(text)
        assert {"meson", "gcc", "nbdkit-plugin-dev"} <= got <= known, (name, got - known)
        if "crash" in text or name == "RECIPES.md":
            assert {"python3-numpy", "python3-jinja2"} <= got, (name, got)
        assert "-Dtests=false" in text and "libcmocka-dev" not in got, name


def test_the_container_has_what_it_starts():
    with open(os.path.join(ROOT, "Containerfile"), encoding="utf-8") as f:
        text = f.read()
    entry = re.search(r'ENTRYPOINT \["(.*)"\]', text)[1]
    assert "COPY tools/%s /usr/local/bin/" % entry in text
    for package in ("flashemu_", "flashemu-lab_", "nbdkit-plugin-flashemu_"):
        assert "/packages/%s*.deb" % package in text, package


def test_what_a_container_starts():
    """By programs that print what they were given."""
    os.makedirs("bin", exist_ok=True)
    for name in ("flashemu", "flashemu-lab", "nbdkit"):
        with open("bin/" + name, "w", encoding="utf-8") as f:
            f.write('#!/bin/sh\necho "%s $*"\n' % name)
        os.chmod("bin/" + name, 0o755)
    for given, want in (
            (["profile=lexar8g", "clock=virtual"], "nbdkit -f flashemu profile=lexar8g clock=virtual"),
            (["serve", "lexar8g", "--each-client"], "flashemu serve --port 10809 lexar8g --each-client"),
            (["serve", "lexar8g", "--port", "7"], "flashemu serve lexar8g --port 7"),
            (["serve", "lexar8g", "--port=7"], "flashemu serve lexar8g --port=7"),
            (["align", "lexar8g", "ftl.open_random=1"], "flashemu align lexar8g ftl.open_random=1"),
            (["flashemu-lab", "list"], "flashemu-lab list"), ([], "flashemu ")):
        code, out, err = ended([os.path.join(ROOT, "tools/container-entry"), *given],
                               env=dict(os.environ, PATH=os.path.abspath("bin") + ":/usr/bin:/bin"))
        assert code == 0 and out.strip() == want.strip(), (given, out, err)


def test_a_container_works_as_the_owner_of_its_folder():
    """Who is root becomes the owner; any other user stays what they are."""
    if os.geteuid() != 0:
        return
    entry = os.path.join(ROOT, "tools/container-entry")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for owner, who, want in ((1234, [], "1234 4321 4321"), (0, [], "0"),
                                 (1234, ["setpriv", "--reuid", "77"], "77")):
            os.chown(folder, owner, owner and 4321)
            code, out, err = ended([*who, "sh", "-c", 'cd "$1" && exec "$2" sh -c "id -u; id -g; id -G"',
                                    "sh", folder, entry])
            assert code == 0 and " ".join(out.split()).startswith(want), (owner, who, out, err)


def test_actionlint():
    if shutil.which("actionlint"):
        code, out, err = ended(["actionlint", *[os.path.join(FOLDER, f) for f in os.listdir(FOLDER)]])
        assert code == 0, out + err


run(globals())
