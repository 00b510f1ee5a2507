#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The workflow files: a parser reads them, what they run is in the sources, and they keep the logs.

Where actionlint is installed, it finds nothing either."""

import os
import re
import shutil

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
    for name, work in workflows():
        for step in steps(work):
            for script, option in re.findall(r"\b(tools/[\w/-]+)(?: (--[\w-]+))?",
                                             step.get("run", "")):
                path = os.path.join(ROOT, script)
                assert os.access(path, os.X_OK), (name, script)
                code, out, _ = ended([path, "--help"])
                assert code == 0 and (not option or option in out), (name, script, option)


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


def test_actionlint():
    if shutil.which("actionlint"):
        code, out, err = ended(["actionlint", *[os.path.join(FOLDER, f) for f in os.listdir(FOLDER)]])
        assert code == 0, out + err


run(globals())
