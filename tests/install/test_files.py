#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The packages have the files of `meson install`: each of them, and each once.

The environment names the sources (SOURCE_ROOT) and the build (BUILD_ROOT).
"""

import fnmatch
import os
import re
import shutil
import subprocess

from flashemu_script import ended, need, run, skip

ROOT = os.environ["SOURCE_ROOT"]
BUILD = os.environ["BUILD_ROOT"]


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


def installed():
    """The paths that an installation has, without the slash in front, the prefix being usr."""
    code, out, err = ended(["meson", "install", "-C", BUILD, "--no-rebuild"],
                           env=dict(os.environ, DESTDIR=os.path.abspath("tree")))
    assert code == 0, out + err
    prefix = subprocess.run(["meson", "introspect", BUILD, "--buildoptions"], check=True,
                            stdout=subprocess.PIPE, universal_newlines=True).stdout
    prefix = re.search(r'"name": "prefix", "value": "/([^"]*)"', prefix)[1]
    paths = []
    for folder, _, names in os.walk("tree"):
        paths += [os.path.relpath(os.path.join(folder, name), "tree") for name in names]
    assert len(paths) > 50, paths
    return sorted(re.sub("^%s/" % prefix, "usr/", path) for path in paths)


def match(path, pattern):
    """A pattern names a file, or a folder with all that is in it."""
    return fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path, pattern + "/*")


def check(packages):
    """packages: the patterns of each package, by its name."""
    paths = installed()
    for path in paths:
        owners = [name for name, patterns in packages.items()
                  if any(match(path, pattern) for pattern in patterns)]
        assert len(owners) == 1, "%s is installed, and is in the packages %s" % (path, owners)
    for name, patterns in packages.items():
        for pattern in patterns:
            assert any(match(path, pattern) for path in paths), (
                "%s: nothing is installed at %s" % (name, pattern))


def test_debian():
    control = re.findall(r"^Package: (.*)$", read("debian/control"), re.M)
    assert len(control) == 3, control
    check({name: read("debian", name + ".install").split() for name in control})


def test_rpm():
    spec = read("rpm/flashemu.spec")
    plugindir = subprocess.run(["pkg-config", "--variable=plugindir", "nbdkit"], check=True,
                               stdout=subprocess.PIPE, universal_newlines=True).stdout.strip()
    for name, value in {"_bindir": "usr/bin", "_datadir": "usr/share", "_mandir": "usr/share/man",
                        "_libexecdir": "usr/libexec", "plugindir": plugindir[1:]}.items():
        spec = spec.replace("%%{%s}" % name, value)
    packages = {}
    for name, text in re.findall(r"^%files(.*)\n((?:.+\n)+)", spec, re.M):
        packages[name.strip()] = re.findall(r"^usr/.*$", text, re.M)
    assert len(packages) == 3, packages
    check(packages)


def test_manual_pages_are_clean():
    pages = [path for path in installed() if re.search(r"/man/man[1-8]/", path)]
    assert len(pages) == len(os.listdir(os.path.join(ROOT, "docs/man"))), pages
    if not shutil.which("mandoc"):
        return
    for path in pages:
        found = [os.path.join(folder, name) for folder, _, names in os.walk("tree")
                 for name in names if name == os.path.basename(path)]
        assert len(found) == 1, found
        code, out, err = ended(["mandoc", "-T", "lint", "-W", "warning", *found])
        assert code == 0 and out == "" and err == "", out + err


def test_versions_are_equal():
    version = re.search(r"^  version: '(.*)'", read("meson.build"), re.M)[1]
    assert re.match(r"flashemu \((.*)\) ", read("debian/changelog"))[1] == version
    assert re.search(r"^Version: +(.*)$", read("rpm/flashemu.spec"), re.M)[1] == version
    assert re.search(r"^\* .* - (.*)-1$", read("rpm/flashemu.spec"), re.M)[1] == version
    # What is not released yet stands above the released versions, under a version that is newer.
    sections = re.findall(r"^## (.*)$", read("CHANGELOG.md"), re.M)
    if sections[0].endswith(" (unreleased)"):
        later = sections.pop(0).split()[0]
        assert [int(n) for n in later.split(".")] > [int(n) for n in version.split(".")], later
    assert sections[0] == version, sections


def test_the_build_needs_are_equal():
    """tools/packages, with which one builds, and debian/control, with which packages are built."""
    wanted = set(re.findall(r"^build +(.*)$", read("tools/packages"), re.M))
    given = set(re.findall(r"[\w.+-]+", re.search(r"^Build-Depends:((?:.*\n )*.*)",
                                                  read("debian/control"), re.M)[1]))
    same = {"pkg-config": "pkgconf", "python3": "python3"}
    # Each build of a package has a compiler; meson brings ninja; the client is for tests.
    missing = {name for name in wanted - {"gcc", "libc6-dev", "ninja-build", "libnbd-dev", "nbdkit"}
               if same.get(name, name) not in given}
    assert not missing, "debian/control: Build-Depends lacks %s" % missing


def test_rpmlint():
    need("rpmlint", "rpmspec")
    spec = os.path.join(ROOT, "rpm/flashemu.spec")
    code, out, err = ended(["rpmspec", "-P", spec])
    assert code == 0, err
    code, out, err = ended(["rpmlint", "-r", spec[:-len("spec")] + "rpmlintrc", spec])
    last = out.strip().splitlines()[-1]
    assert "0 errors, 0 warnings" in last, out


need("meson", "pkg-config")
if not os.path.exists(os.path.join(ROOT, "debian/control")):
    skip("no sources of packages here")
run(globals())
