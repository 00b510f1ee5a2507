#!/usr/bin/env bash
# flashbench, in a guest, finds what the profile says: the page and the allocation unit in
# its alignment test, the number of open units in its open-AU test; and no unit where the
# profile hides it.  Time is dilated, so that the guest's own overhead (half a millisecond
# a request) is small compared with the device's; the test compares ratios of one run.
#
#   test_flashbench.sh align | open     one of the two tests
. "$(dirname "$0")/lib.sh"
need_vm
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

cat >"$tmp/card.ini" <<'INI'
[device]
capacity = 1G
used = 1G
[nand]
cell = mlc
dies_per_channel = 1
planes_per_die = 2
multiplane = yes
blocks_per_plane = 1200
pages_per_block = 128
page_size = 4K
tR = 100us
tPROG = 300us/1300us
tBERS = 3ms
bus_rate = 80MB/s
[ftl]
type = segment
unit_size = 4M
open_linear = 3
open_random = 0
unit_read = 400us
[link]
type = sd-hs
INI

bench() { # bench OUT TIME-SCALE OVERRIDE... -- ARG...
    local out=$1 scale=$2 over=()
    shift 2
    while [ "$1" != -- ]; do over+=("$1"); shift; done
    shift
    "$top/tools/vm/serve" --timeout 500 -- profile="$tmp/card.ini" time-scale="$scale" \
        "${over[@]}" -- \
        "$top/tests/vm/guest_flashbench.sh" "$@" >"$tmp/$out"
    cat "$tmp/$out"
}

# Differences of the alignment test in microseconds of the device, by alignment.
diffs() { # diffs FILE SCALE
    awk -v scale="$2" '$1 == "align" {
        for (i = 1; i < NF; i++) if ($i == "diff") d = $(i + 1)
        x = d + 0
        # flashbench cuts the text: what does not end in a longer unit is nanoseconds
        if (d ~ /ms$/) x *= 1000; else if (d !~ /[^nm]s$/) x /= 1000
        print $2, x / scale }' "$tmp/$1"
}

test_align() {
    echo "# alignment, unit shown"
    bench shown 30 -- align
    diffs shown 30 >"$tmp/d"
    awk '{ d = $2
        if ($1 >= 4194304) { n3++; s3 += d }
        else if ($1 >= 8192) { n2++; s2 += d }
        else { n1++; s1 += d } }
        END {
            if (!n1 || !n2 || !n3) { print "too few alignments"; exit 1 }
            printf "# mean step below the page %.0f us, at pages %.0f us, at units %.0f us\n",
                s1/n1, s2/n2, s3/n3
            exit !(s2/n2 > s1/n1 + 60 && s3/n3 > s2/n2 + 250) }' "$tmp/d" ||
            fail "page and unit do not show"

    echo "# alignment, unit hidden"
    bench hidden 30 ftl.unit_read=0 -- align
    diffs hidden 30 >"$tmp/d"
    awk '{ d = $2
        if ($1 >= 4194304) { n3++; s3 += d } else if ($1 >= 8192) { n2++; s2 += d } }
        END {
            printf "# mean step at pages %.0f us, at units %.0f us\n", s2/n2, s3/n3
            exit !(s3/n3 < s2/n2 + 125) }' "$tmp/d" || fail "a hidden unit shows"
}

# The slowest line, bytes a second.
slowest() {
    awk '/[KMG]?iB:/ || /MiB|KiB/ { x = 0
        for (i = 1; i <= NF; i++) if ($i ~ /^[0-9.]+[KMG]?\/s$/) { x = $i + 0
            if ($i ~ /K/) x *= 1e3; if ($i ~ /M/) x *= 1e6; if ($i ~ /G/) x *= 1e9 }
        if (x && (!least || x < least)) least = x } END { print least + 0 }' "$tmp/$1"
}

test_open() {
    echo "# three open units"
    bench three 0.2 -- open 3
    echo "# four open units"
    bench four 0.2 -- open 4
    three=$(slowest three) four=$(slowest four)
    echo "# slowest: $three with three units, $four with four"
    awk -v a="$three" -v b="$four" 'BEGIN { exit !(b > 0 && a > 3 * b) }' ||
        fail "no cliff between three and four open units"
}

"test_$1"
