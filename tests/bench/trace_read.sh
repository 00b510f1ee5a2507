#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# How fast traces are read, as text and in the compact form: requests alone, with times, and with
# what a replay has recorded.
set -eu
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"
gen=gen:random,op=write,size=512M,count=2M
"$FLASHEMU" trace $gen -o plain.text
"$FLASHEMU" trace $gen,think=100us -o times.text
"$FLASHEMU" replay ssd-page $gen --record recorded.text >/dev/null
for name in plain times recorded; do
    "$FLASHEMU" trace $name.text --to binary -o $name.binary
done
"$TRACE_READ" ./*.text ./*.binary
