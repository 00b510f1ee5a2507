#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Lateness of served requests, in the server's own statistics and as a client sees it, and
# the drift of 10 000 requests of 1 ms.  nbdkit's delay filter, asked for 1 ms, for scale.
# The path through the socket costs a client some tens of microseconds in addition to the device's
# time; the later runs of a client that spins have it taken off by transport-overhead.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

run() { # run SERVICE COUNT DEPTH spin|block [TRANSPORT-OVERHEAD]
    nbdkit -t "$(($3 > 16 ? $3 : 16))" -U - "$FLASHEMU_PLUGIN" ideal size=1M \
        link.command_overhead="$1us" link.queue_depth=1 \
        transport-overhead="${5:-0}" control="$tmp/ctl" --run "\"$SERVED\" \"\$uri\" $1 $2 $3 $4
        \"$FLASHEMU\" ctl \"$tmp/ctl\" stats --raw >\"$tmp/stats\""
    sed 's/.*"lateness_ns":\({[^}]*}\).*/  the server: \1/' "$tmp/stats"
}

for service in 1000 100; do
    echo "requests of $service us:"
    path=0
    for _ in 1 2 3; do
        run "$service" 3000 1 spin "${path}ns" | tee "$tmp/out"
        path=$(awk -v path="$path" \
            '/late p50/ { p = path + 1000 * $6; printf "%d", (p > 0 ? p : 0) }' "$tmp/out")
        echo "  the path, as far as known: $path ns"
    done
    run $service 3000 1 block
    run $service 3000 16 spin
done
echo "10000 requests of 1 ms, sixty-four in flight, so that the device pauses only if this" \
    "machine stands still for 64 ms:"
run 1000 10000 64 block
echo "nbdkit's delay filter, 1 ms:"
nbdkit -U - --filter=delay memory 1M rdelay=1ms --run "\"$SERVED\" \"\$uri\" 1000 3000 1 spin"
