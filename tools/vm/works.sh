#!/usr/bin/env bash
# Works for `flashemu-lab crash --fs`, and what each of them promises.  They run in the guest, on a
# filesystem that is mounted where they start:
#
#   works.sh run NAME      does it; each mark says what is promised from then on
#   works.sh check NAME    0 if the marks in $FLASHEMU_MARKS are kept; else prints what is not
#
# The names:
#
#   files             new files of up to 30 KB; every other one is synced, and then it is whole
#   log               records with a sum that are written behind each other, each of them synced
#   log-unsummed      the same, but a reader trusts each record that has begun
#   replace           a file is replaced by a rename; file and folder are synced
#   replace-unsynced  the same without fsync; it is believed to be the old or the new one
#   packages          dpkg installs packages, with its own syncs; each is whole then (not on FAT)
#   updater           two slots and a pointer; the pointer changes when the new slot is synced
#   stress-ng         files are synced while stress-ng works beside them; then all is synced, and stays
#   fsstress          the same with fsstress of xfstests, which Debian does not have
#   fsx               the same with fsx, which Debian does not have
#   sqlite-wal-full            rows of SQLite, each of them promised
#   sqlite-wal-normal          nothing is promised but a database that is whole
#   sqlite-wal-off             believed to be as with full
#   sqlite-rollback-extra      each row is promised
#   sqlite-rollback-full       the same, but the last commit may be rolled back (SQLite's manual)
#   sqlite-rollback-normal     nothing is promised but a database that is whole
#   sqlite-rollback-off        believed to be as with full
#
# The programs are the guest's; sqlite3, stress-ng, fsstress and fsx are among them if the host has them.  What
# the last three do follows from $FLASHEMU_SEED.  A check starts as few of them as it can:
# a process takes longer to start than a small filesystem to mount, and thousands of states are checked.
set -uo pipefail
export LC_ALL=C

broken() { echo "$*"; exit 1; }
need() { hash "$1" 2>/dev/null || broken "this work needs $1${2-: apt-get install $1}"; }

# Sets `text` to what file or record number $1 has: one to thirty thousand bytes.
content() { printf -v text '%0*d' $(($1 * 7919 % 30000 + 1)) "$1"; }

# Sets `there` to what a file has; fails if there is none.
content_of() { there=''; [ -e "$1" ] && { IFS= read -r -d '' there <"$1" || :; }; }

# Sets `n` to the number of the last mark, 0 if there is none.
promised() {
    local marks
    mapfile -t marks <"$FLASHEMU_MARKS"
    n=0
    [ ${#marks[@]} = 0 ] || n=${marks[-1]##* }
}

put() { printf %s "$text" | dd of="$1" bs=64K iflag=fullblock status=none "${@:2}"; }

# --- files ---

run_files() {
    local i text
    for ((i = 1; i <= 24; i++)); do
        content $i
        if [ $((i % 2)) = 0 ]; then put f$i; continue; fi
        put f$i conv=fsync && mark "file $i" || return 1
    done
}

check_file() { # NUMBER
    local text there
    content "$1"
    content_of "f$1" || broken "file $1 was synced and is not there"
    [ "$there" = "$text" ] || broken "file $1 was synced and is not whole: ${#there} bytes of ${#text}"
}
check_files() {
    local i
    while read -r _ i; do check_file "$i"; done <"$FLASHEMU_MARKS"
}

# --- a log: records of 6000 bytes, which have their number at the front and a sum at the end ---

records=40
record_of() { # sets text; all of it follows from the number, and so does the sum
    printf -v text '%-16s%05980d%04x' "record $1" "$1" $(($1 * 40503 & 65535))
}

run_log() {
    local i text
    head -c $((records * 6000)) /dev/zero >log && sync log . || return 1
    for ((i = 0; i < records; i++)); do
        record_of $i
        printf %s "$text" |
            dd of=log bs=6000 seek=$i iflag=fullblock conv=notrunc,fdatasync status=none && mark "record $((i + 1))" || return 1
    done
}
run_log-unsummed() { run_log; }

# Sets `whole` to how many records there are in front of the first one that is none, and `torn` if
# that one has begun.
read_log() {
    local i text there fd
    whole=0 torn=''
    [ -e log ] || return 0
    exec {fd}<log
    for ((i = 0; i < records; i++)); do
        IFS= read -r -N 6000 -u $fd there || : # without zeros, so nothing behind them is in its place
        case $there in "record $i "*) ;; *) return 0 ;; esac
        record_of $i
        if [ "$there" != "$text" ]; then torn=yes; return 0; fi
        whole=$((i + 1))
    done
}
check_log() {
    local whole torn n
    promised
    [ "$n" = 0 ] || read_log
    [ "$n" -le "${whole:-0}" ] || broken "$n records were synced, and $whole are whole"
}
check_log-unsummed() {
    local whole torn='' n
    promised
    [ "$n" = 0 ] || read_log
    [ -z "$torn" ] || broken "record $whole has begun and is not whole"
}

# --- a file that is replaced ---

run_replace() {
    local i text
    for ((i = 1; i <= 16; i++)); do
        content $i
        put new conv=fsync && mv -f new conf && sync . && mark "version $i" || return 1
    done
}
run_replace-unsynced() {
    local i text
    content 1
    put conf conv=fsync && sync . && mark "version 1" || return 1
    for ((i = 2; i <= 16; i++)); do
        content $i
        put new && mv -f new conf || return 1
        echo $i | dd of=other conv=fsync status=none || return 1 # somebody else's
    done
}
check_replace() {
    local n text there i
    promised
    [ "$n" != 0 ] || return 0
    content_of conf || broken "the file is not there"
    for ((i = n; i <= 16; i++)); do
        content $i
        [ "$there" != "$text" ] || return 0
    done
    broken "the file is neither version $n nor a later one: ${#there} bytes"
}
check_replace-unsynced() { check_replace; }

# --- an updater ---

run_updater() {
    local i text slot
    for ((i = 1; i <= 10; i++)); do
        slot=slot$((i % 2))
        content $((i + 40))
        put $slot conv=fsync || return 1
        echo "$i" | dd of=boot.new conv=fsync status=none && mv -f boot.new boot && sync . &&
            mark "version $i" || return 1
    done
}
check_updater() {
    local n there text now
    promised
    [ "$n" != 0 ] || return 0
    content_of boot && now=${there%$'\n'} || now='no boot file'
    [[ $now =~ ^[0-9]+$ && $now -ge $n ]] || broken "version $n was installed, and '$now' would start"
    content $((now + 40))
    content_of slot$((now % 2)) || :
    [ "$there" = "$text" ] || broken "the slot of version $now is not whole"
}

# --- packages ---

packages=6
of_dpkg=(--root="$PWD" --force-bad-path --force-not-root)

run_packages() {
    local i n text from
    from=$(mktemp -d) && mkdir -p var/lib/dpkg/{info,updates} && touch var/lib/dpkg/{status,available} && sync || return 1
    for ((i = 1; i <= packages; i++)); do
        mkdir -p "$from/p$i"/{DEBIAN,usr/lib/"p$i"} || return 1
        printf '%s\n' "Package: p$i" 'Version: 1' 'Architecture: all' 'Maintainer: x <x@x>' \
            'Description: files' >"$from/p$i/DEBIAN/control"
        for n in 1 2 3; do
            content $((10 * i + n))
            printf %s "$text" >"$from/p$i/usr/lib/p$i/$n"
        done
        dpkg-deb -Znone --build "$from/p$i" >/dev/null || return 1
    done
    for ((i = 1; i <= packages; i++)); do
        dpkg "${of_dpkg[@]}" -i "$from/p$i.deb" >/dev/null && mark "package $i" || return 1
    done
}
check_packages() {
    local i n text there told
    while read -r _ i; do
        told=$(dpkg-query --admindir=var/lib/dpkg -W -f '${Status}' "p$i" 2>&1)
        [ "$told" = 'install ok installed' ] || broken "package $i was installed, and dpkg says: $told"
        for n in 1 2 3; do
            content $((10 * i + n))
            content_of "usr/lib/p$i/$n" || broken "file $n of package $i is not there"
            [ "$there" = "$text" ] || broken "file $n of package $i is not whole"
        done
    done <"$FLASHEMU_MARKS"
}

# --- stress: each round has a folder of its own, and nobody touches it when it is synced ---

rounds=4
stress_once() { # NAME ROUND
    local seed=$(((FLASHEMU_SEED * rounds + $2) & 0x7fffffff))
    case $1 in
    stress-ng)
        stress-ng --seed $seed --keep-files --temp-path "r$2" --timeout 600 --dentry 1 --dentry-ops 40 \
            --dir 1 --dir-ops 30 --dirdeep 1 --dirdeep-ops 30 --rename 1 --rename-ops 60 --touch 1 --touch-ops 30 \
            --hdd 1 --hdd-ops 24 --hdd-bytes 1M --hdd-write-size 4K --seek 1 --seek-ops 40 --seek-size 1M
        ;;
    fsstress) fsstress -d "r$2" -p 2 -n 120 -s $seed ;;
    fsx) fsx -N 200 -S $seed "r$2/file" ;;
    esac
}

# Prints a sum of all that is in folders: names, kinds, links, modes and contents.
sum_of() { tar --sort=name --mtime=@0 --numeric-owner -cf - "$@" 2>/dev/null | cksum; }

run_stressed() { # NAME
    local i n text pid folders=()
    for ((i = 1; i <= rounds; i++)); do
        mkdir "r$i" || return 1
        stress_once "$1" $i >/dev/null 2>"${TMPDIR:-/tmp}/said" &
        pid=$!
        for ((n = 4 * i - 3; n <= 4 * i; n++)); do
            content $n
            put f$n conv=fsync && mark "file $n" || return 1
        done
        wait $pid || { tail -n 1 "${TMPDIR:-/tmp}/said"; return 1; }
        folders+=("r$i")
        sync && mark "round $i $(sum_of "${folders[@]}")" || return 1
    done
}
check_stressed() {
    local kind i sum round='' folders=()
    while read -r kind i sum; do
        case $kind in
        file) check_file "$i" ;;
        round) folders+=("r$i") round=$sum ;;
        esac
    done <"$FLASHEMU_MARKS"
    [ -z "$round" ] || [ "$(sum_of "${folders[@]}")" = "$round" ] ||
        broken "round ${#folders[@]} was synced, and its folders are not as they were"
}
run_stress-ng() { need stress-ng && run_stressed stress-ng; }
run_fsstress() { need fsstress ' of xfstests' && run_stressed fsstress; }
run_fsx() { need fsx ' of xfstests' && run_stressed fsx; }
check_stress-ng() { check_stressed; }
check_fsstress() { check_stressed; }
check_fsx() { check_stressed; }

# --- SQLite ---

rows=24
value="printf('%0*d', 200 + n * 97 % 3000, n)"

# Lets the process do this, and returns when it is done.
say() {
    local word
    printf '%s\n' "$*" "select 'ready';" >&"${COPROC[1]}"
    while read -r word <&"${COPROC[0]}"; do
        [ "$word" != ready ] || return 0
    done
    return 1
}

run_sqlite() { # JOURNAL SYNCHRONOUS
    local n pid fd
    need sqlite3
    coproc { exec sqlite3 -batch -bail base; }
    # The tables are there for sure: else a database without them would be whole, and nothing could be counted.
    say "pragma journal_mode=$1; pragma synchronous=extra; create table t (n integer primary key, v text);
         create table sum (total integer); insert into sum values (0); pragma synchronous=$2;" || return 1
    for ((n = 1; n <= rows; n++)); do
        say "begin; insert into t select n, $value from (select $n as n);
             update sum set total = total + $n; commit;" && mark "row $n" || return 1
    done
    pid=$COPROC_PID fd=${COPROC[1]}
    exec {fd}>&- && wait "$pid" # it has closed the database
}

check_sqlite() { # how many of the last rows may be missing, or "all"
    local n told
    need sqlite3
    promised
    [ "$n" != 0 ] || return 0
    [ -e base ] || broken "the database is not there"
    told=$(sqlite3 -batch -bail base "pragma integrity_check;
        select 'rows ' || count(*) || ' ' || (count(*) = coalesce(max(n), 0)) || ' ' ||
            (coalesce(sum(n), 0) = (select total from sum)) || ' ' ||
            count(case when v <> $value then 1 end) from t;" 2>&1)
    case $told in "ok"$'\n'"rows "*" 1 1 0") ;; *) broken "the database is not whole: ${told//$'\n'/; }" ;; esac
    told=${told#*rows } told=${told%% *}
    [ "$1" = all ] || [ "$told" -ge $((n - $1)) ] || broken "row $n was committed, and there are $told"
}

run_one() {
    case $1 in
    sqlite-wal-*) run_sqlite wal "${1##*-}" ;;
    sqlite-rollback-*) run_sqlite delete "${1##*-}" ;;
    *) "run_$1" ;;
    esac
}
check_one() {
    case $1 in
    sqlite-*-normal) check_sqlite all ;;
    sqlite-rollback-full) check_sqlite 1 ;;
    sqlite-*) check_sqlite 0 ;;
    *) "check_$1" ;;
    esac
}

mapfile -t lines <"${BASH_SOURCE[0]}" # the names are those of the text at the top
printf -v lines '%s\n' "${lines[@]}"
is_work() { [[ $1 =~ ^[a-z-]+$ && $lines == *$'\n'"#   $1  "* ]]; }

# Whoever reads this file with `.` calls check_one itself, and saves the start of a bash.
[ "${BASH_SOURCE[0]}" = "$0" ] || return 0
is_work "$2" || broken "$2: no such work"
"$1_one" "$2"
