#!/bin/bash
# Commits of git under power cuts, in the guest of `flashemu-lab crash --fs`:
#
#   git.sh work FSYNC       eight commits with core.fsync=FSYNC, each of which is a mark
#   git.sh check durable    each commit that was marked is on the branch
#   git.sh check whole      the branch and all that it needs can be read
#
# The folder of this script has git, and the libraries that the guest lacks.
here=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH=$here PATH=$here:$PATH HOME=/root GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
if [ "$1" = work ]; then
    git init -q -b main repo && cd repo && git config gc.auto 0 && git config core.fsync "$2" && sync || exit 1
    for i in 1 2 3 4 5 6 7 8; do
        printf 'version %0*d\n' $((i * 997)) $i >file
        git add file && git commit -q -m "version $i" && mark "version $i" || exit 1
    done
    exit 0
fi
[ -s "$FLASHEMU_MARKS" ] || exit 0
n=$(wc -l <"$FLASHEMU_MARKS")
cd repo || exit 1
told=$(git log --format=%s 2>&1) || { echo "git log: ${told//$'\n'/; }"; exit 1; }
bad=$(git fsck --no-dangling --no-progress 2>&1) || { echo "git fsck: ${bad//$'\n'/; }"; exit 1; }
last=${told%%$'\n'*}
[ "$2" = whole ] || [ "${last#version }" -ge "$n" ] || { echo "version $n was committed, and main is at $last"; exit 1; }
