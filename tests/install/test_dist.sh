#!/usr/bin/env bash
# `meson dist` packs every file of the repository, and from that archive alone rpmbuild builds the
# packages, runs the suites unit and golden, and finds each file that the spec names.
#
#   test_dist.sh ROOT
set -euo pipefail
root=$1
skip() { echo "skipped: $*"; exit 77; }
command -v rpmbuild >/dev/null || skip "no rpmbuild"
git -C "$root" rev-parse --git-dir >/dev/null 2>&1 || skip "not a git repository"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
git clone -q "$root" "$tmp/clone"
cd "$tmp/clone"
meson setup build >"$tmp/log" 2>&1 || { tail -n 30 "$tmp/log"; exit 1; }
meson dist -C build --no-tests --formats xztar >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
archive=$(echo build/meson-dist/flashemu-*.tar.xz)
diff <(tar -tf "$archive" | grep -v '/$' | sed 's|^[^/]*/||' | sort) <(git ls-files | sort)

# Debian's packages satisfy no dependency of an RPM, hence --nodeps.
rpmbuild -ta --nodeps --define "_topdir $tmp/rpm" "$archive" >"$tmp/log" 2>&1 ||
    { tail -n 60 "$tmp/log"; exit 1; }
find "$tmp/rpm/RPMS" -name '*.rpm' | sed 's|.*/||'
[ "$(find "$tmp/rpm/RPMS" -name '*.rpm' | wc -l)" -eq 3 ]
