# shellcheck shell=bash
# How the scripts here end.  A script that sources this file defines `stop`, which undoes all that
# the script has done, and `die`.
#
# `stop` must be whole even if two signals come at once: one for the group comes directly, and once
# more from the script above, which ends too.  Bash leaves what EXIT runs in the middle if a trap
# calls `exit` there.  So whoever comes first sees to it that no other signal is heard.

# tidy NAME: from now on `stop` runs once when the script ends, also by a signal.  $tmp is a new
# folder.  Not mktemp: a signal may end mktemp after it has made the folder and before it prints
# its name.
tidy() {
    tmp=''
    trap 'tidy_end $?' EXIT
    trap 'tidy_end 130' INT
    trap 'tidy_end 143' TERM HUP
    tmp=${TMPDIR:-/tmp}/flashemu-$1.$$-$RANDOM$RANDOM
    mkdir -m 700 "$tmp" || { [ $? -gt 128 ] || tmp=''; die "cannot make a folder in ${TMPDIR:-/tmp}"; }
}

tidy_end() {
    # A child has these traps until its program begins, and must not undo what its parent has done.
    [ "$BASHPID" = $$ ] || kill -9 "$BASHPID"
    trap '' INT TERM HUP
    trap - EXIT
    stop
    exit "$1"
}
