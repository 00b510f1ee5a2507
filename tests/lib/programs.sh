#!/usr/bin/env bash
# Works for `flashemu-lab crash --fs --run` with programs of others, which docs/finds.tsv names, and what
# their manuals promise.  It runs in the guest, where the programs and their libraries are beside it:
#
#   programs.sh run NAME      does it; each mark says what is promised from then on
#   programs.sh check NAME    0 if the marks in $FLASHEMU_MARKS are kept; else prints what is not
#
#   safecat    "An exit status of 0 implies that all data has been safely committed to disk" (safecat(1))
#   mdeliver   "The messages are delivered in a reliable way" (mdeliver(1) of mblaze)
#   fw_setenv  two copies of U-Boot's environment, of which one is always whole (libubootenv)
#   rsync      "--fsync  fsync every written file" (rsync(1)), so what it has copied is there
#   tdb        what tdb_transaction_commit has returned for is on stable storage (tdb of Samba)
#   lmdb       "fully transactional with full ACID semantics" (liblmdb): what mdb_load has committed is there
#   redis      "appendfsync always: fsync after every write to the append only log. Slow, Safest." (redis.conf)
set -uo pipefail
export LC_ALL=C PATH=~:$PATH LD_LIBRARY_PATH=~

broken() { echo "$*"; exit 1; }
content() { printf -v text '%0*d' $(($1 * 7919 % 9000 + 1)) "$1"; }

# Sets `n` to the number of the last mark; fails if there is none.
promised() {
    local marks
    mapfile -t marks <"$FLASHEMU_MARKS"
    [ ${#marks[@]} != 0 ] && n=${marks[-1]##* }
}

mails=20
run_safecat() {
    local i name text
    mkdir tmp new && sync || return 1
    for ((i = 1; i <= mails; i++)); do
        content $i
        name=$(printf %s "$text" | safecat tmp new) && mark "mail $i $name" || return 1
    done
}
run_mdeliver() {
    local i name text
    mkdir -p box/{tmp,new,cur} && sync || return 1
    for ((i = 1; i <= mails; i++)); do
        content $i
        name=$(printf %s "$text" | mdeliver -v box) && mark "mail $i ${name##*/}" || return 1
    done
}
check_mails() { # FOLDER
    local kind i name text there
    while read -r kind i name; do
        content "$i"
        [ -e "$1/$name" ] || broken "$kind $i was delivered and is not there"
        there=$(<"$1/$name")
        [ "$there" = "$text" ] || broken "$kind $i was delivered and is not whole: ${#there} bytes of ${#text}"
    done <"$FLASHEMU_MARKS"
}
check_safecat() { check_mails new; }
check_mdeliver() { check_mails box/new; }

run_rsync() {
    local i text
    mkdir -p /run/from there && sync || return 1
    for ((i = 1; i <= mails; i++)); do
        content $i
        printf %s "$text" >/run/from/f$i
        rsync --fsync -a /run/from/ there/ && mark "file $i f$i" || return 1
    done
}
check_rsync() { check_mails there; }

write_where() { printf '%s\n' '/mnt/copies 0 0x4000' '/mnt/copies 0x4000 0x4000' >/run/copies; }
run_fw_setenv() {
    local i
    write_where && head -c 32768 /dev/zero >copies && : >/run/default || return 1
    fw_setenv -c /run/copies -f /run/default n 0 && sync && mark "version 0" || return 1
    for ((i = 1; i <= mails; i++)); do
        fw_setenv -c /run/copies n $i && mark "version $i" || return 1
    done
}
check_fw_setenv() {
    local n told
    promised || return 0
    write_where
    told=$(fw_printenv -c /run/copies -n n 2>&1)
    [[ $told =~ ^[0-9]+$ && $told -ge $n ]] || broken "version $n was set, and there is '$told'"
}

run_tdb() {
    local i
    printf 'create base.tdb\nquit\n' | tdbtool >/dev/null && sync && mark "row 0" || return 1
    for ((i = 1; i <= mails; i++)); do
        content $i
        printf '%s\n' "transaction_start" "store row$i ${text:0:800}" "store last $i" transaction_commit quit |
            tdbtool base.tdb >/dev/null && mark "row $i" || return 1
    done
}
check_tdb() {
    local n told last
    promised || return 0
    told=$(printf 'check\nquit\n' | tdbtool base.tdb 2>&1)
    case $told in *"Database integrity is OK"*) ;; *)
        told=${told%%$'\n'"Could not open"*}
        broken "the database is not whole: ${told//$'\n'/; }"
        ;;
    esac
    last=$(printf 'dump\nquit\n' | tdbtool base.tdb 2>&1 | grep -c '^row')
    [ "$last" -ge "$n" ] || broken "row $n was committed, and there are $last"
}

run_lmdb() {
    local i text
    mkdir base && sync || return 1
    for ((i = 1; i <= mails; i++)); do
        content $i
        printf '%s\n' "row$i" "${text:0:3000}" | mdb_load -T base && mark "row $i" || return 1
    done
}
check_lmdb() {
    local i n text told
    promised || return 0
    told=$(mdb_dump -p base 2>&1) || broken "mdb_dump: ${told##*$'\n'}"
    for ((i = 1; i <= n; i++)); do
        content $i
        [[ $told == *$'\n'" row$i"$'\n'" ${text:0:3000}"$'\n'* ]] || broken "row $i was committed and is not there"
    done
}

# Starts it, and returns when it answers; its last word if it does not.
start_redis() {
    redis-server --port 0 --unixsocket /run/redis --dir "$PWD/base" --save '' --appendonly yes \
        --appendfsync always --logfile /run/redis.log &
    until redis-cli -s /run/redis ping 2>/dev/null | grep -q PONG; do
        kill -0 $! 2>/dev/null || broken "redis does not start: $(grep -a '# ' /run/redis.log | tail -n 1)"
        sleep 0.02
    done
}
stop_redis() { redis-cli -s /run/redis shutdown nosave >/dev/null 2>&1; wait; }
run_redis() {
    local i text
    mkdir base && sync && start_redis || return 1
    for ((i = 1; i <= mails; i++)); do
        content $i
        [ "$(redis-cli -s /run/redis set row$i "${text:0:3000}")" = OK ] && mark "row $i" || return 1
        # Half way the log is written anew, as it is when it has grown.
        [ $i != 10 ] || redis-cli -s /run/redis bgrewriteaof >/dev/null || return 1
    done
    stop_redis
}
check_redis() {
    local i n text
    promised || return 0
    start_redis
    for ((i = 1; i <= n; i++)); do
        content $i
        [ "$(redis-cli -s /run/redis get row$i)" = "${text:0:3000}" ] || { stop_redis; broken "row $i was set and is not there"; }
    done
    stop_redis
}

"$1_$2"
