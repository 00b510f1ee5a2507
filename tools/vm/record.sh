# shellcheck shell=bash
# Makes a filesystem and does some work on it, for `flashemu-lab record`.  It runs in the guest:
#
#   record.sh RECIPE...
#
# A RECIPE is NAME|TYPE|START|SECTORS|MKFS|MOUNT|WORK|FULL: the partition's type, first sector and
# length, two commands without their last words (the partition and the folder), a function work_NAME
# of this file with its arguments, and whether the statistics of each phase are wanted.
#
# Each recipe has a server of its own, which records the requests.  When the script is done with
# one, it ends the server, and the host starts the next one at the same port.  The script prints
#
#   begin NAME CAPACITY LIMIT      bytes of the device, and of the longest request
#   phase PHASE REQUESTS BYTES     at the end of a phase: how many requests the device has had since
#                                  the beginning, and the bytes of files that the phase wrote or read
#   result PHASE BYTES STATISTICS  instead of that, with FULL: the server's JSON for this phase
#   end NAME
#
# and first the versions of the kernel and the programs.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=story.sh
. "$(dirname "$0")"/story.sh

# Every awk draws other numbers from the same seed, and a host has one or the other by this name.
awk() { mawk "$@"; }

# Makes the kernel's requests as long as the device takes them, up to those of the longest limit that
# hosts of cards have. story.sh stops at nbd's own limit instead, for the fidelity of its figures.
limit_requests() {
    local max kib
    max=$(ctl "$CTL_PORT" '{"cmd":"get","args":["link.max_transfer"]}' | json value)
    case $max in
    *K) kib=${max%K} ;;
    *M) kib=$((${max%M} << 10)) ;;
    *) kib=512 ;;
    esac
    echo $((kib < 512 ? kib : 512)) >/sys/block/"${dev##*/}"/queue/max_sectors_kb
}

# phase NAME [BYTES]: says that a phase ends here.
phase() {
    stats
    local ops=0 kind
    if [ -n "$full" ]; then
        echo "result $1 ${2:-0} $(cat "$RUN"/stats)"
        ctl "$CTL_PORT" '{"cmd":"reset"}' >/dev/null
        return
    fi
    for kind in read write trim flush; do
        ops=$((ops + $(json "host.$kind.ops" <"$RUN"/stats)))
    done
    echo "phase $1 $ops ${2:-0}"
}

# Replaces the function of story.sh: a recipe says how to mount.
mount_again() {
    # shellcheck disable=SC2086
    $mount "$(part)" "$MNT" && timers_late
}

# --- work ---

# work_large MIB [BLOCK [SOURCE]]: writes a large file and reads it.  Each write has BLOCK bytes.
work_large() {
    local bytes block=${2:-1M}
    bytes=$(($1 << 20))
    dd if="${3:-/dev/urandom}" of="$MNT"/file bs="$block" count=$((bytes / $(bytes_of "$block"))) \
        conv=fsync status=none
    phase write $bytes
    remount
    phase remount
    dd if="$MNT"/file of=/dev/null bs=1M status=none
    phase read $bytes
}

# work_installed WORK [ARG...]: another work, with the timers and limits with which the kernel has come.
work_installed() {
    as_installed
    "work_$1" "${@:2}"
    timers_late
    memory 256
}

# work_second BEFORE MIB: writes a file of BEFORE MiB, and then another one, which is measured.
work_second() {
    dd if=/dev/zero of="$MNT"/before bs=1M count="$1" conv=fsync status=none
    phase before $(($1 << 20))
    dd if=/dev/zero of="$MNT"/file bs=1M count="$2" conv=fsync status=none
    phase write $(($2 << 20))
}

# work_copy MIB COUNT: copies COUNT files of MIB each.
work_copy() {
    local i
    memory 32
    for ((i = 1; i <= $2; i++)); do
        dd if=/dev/zero of="$MNT"/file$i bs=1M count="$1" status=none
    done
    sync
    memory 256
    phase write $(($1 * $2 << 20))
}

# work_fragments: step_fragments of story.sh.
work_fragments() {
    local bytes
    bytes=$(fill_with_files)
    sync
    phase fill "$bytes"
    find "$MNT" -name 'S*' -delete
    remount
    phase delete
    dd if=/dev/zero of="$MNT"/file bs=4096 count=3891 conv=fsync status=none
    phase write $((3891 * 4096))
    remount
    phase remount
    cat "$MNT"/L{100..199} >/dev/null
    phase read-whole $((100 * 126976))
    remount
    phase remount-again
    cat "$MNT"/file >/dev/null
    phase read $((3891 * 4096))
}

# make_files FOLDER: makes the files of standard input, a name and a size in each line, and prints
# the number of their bytes.
make_files() {
    awk -v to="$1" '
        { text = text == "" ? "0123456789abcdef" : text
          while (length(text) < $2) text = text text
          file = to "/" $1; printf "%s", substr(text, 1, $2) >file; close(file); all += $2 }
        END { print all }'
}

# make_tree SEED: makes a tree of 400 files of 1 KiB to 512 KiB in 20 folders, small ones more
# often, in memory, and prints the number of their bytes.  The names are in $RUN/tree.
make_tree() {
    rm -rf /root/tree
    mkdir -p /root/tree/{0..19}
    awk -v seed="$1" 'BEGIN { srand(seed); for (n = 0; n < 400; n++)
        print n % 20 "/" n, int(1024 * 2 ^ (9 * rand())) }' | tee "$RUN"/tree |
        make_files /root/tree
}

# copy_tree SEED PHASE: makes this tree and copies it; sets bytes.
copy_tree() {
    bytes=$(make_tree "$1")
    cp -r /root/tree "$MNT"/
    sync
    phase "$2" "$bytes"
    remount
    phase remount
}

# work_tree SEED: copies this tree and reads it.
work_tree() {
    local bytes
    copy_tree "$1" write
    find "$MNT"/tree -type f -exec cat {} + >/dev/null
    phase read "$bytes"
}

# work_boot SEED: reads this tree as a boot does: each file once, in an order that has nothing to do
# with its place.
work_boot() {
    local bytes
    copy_tree "$1" before
    awk -v seed="$1" -v to="$MNT" 'BEGIN { srand(seed + 1) }
        { print rand(), to "/tree/" $1 }' "$RUN"/tree | sort | cut -d ' ' -f 2 |
        xargs cat >/dev/null
    phase read "$bytes"
}

# work_small COUNT: writes files of 4 KiB, 100 in a folder.
work_small() {
    awk -v to="$MNT" -v count="$1" 'BEGIN {
        text = "0123456789abcdef"
        while (length(text) < 4096) text = text text
        for (n = 0; n < count; n++) {
            folder = to "/" int(n / 100)
            if (n % 100 == 0) system("mkdir " folder)
            file = folder "/" n; printf "%s", text >file; close(file)
        }
    }'
    sync
    phase write $(($1 * 4096))
    remount
    phase remount
    find "$MNT" -type f -exec cat {} + >/dev/null
    phase read $(($1 * 4096))
}

# fio_file OPTION...: a job on one file, with requests of the same places each time.
fio_file() {
    fio --name=job --filename="$MNT"/file --ioengine=psync --fallocate=none --randseed=1 \
        --randrepeat=1 --output="$RUN"/fio "$@" || { cat "$RUN"/fio >&2; fail "fio"; }
}

# work_database MIB COUNT: overwrites COUNT pages of 4 KiB at random in a file, each with fsync.  A
# pause stands in front of each overwrite: a filesystem's threads go on when fsync has returned, and
# without it the speed of this machine decides whether they are done when the next page comes.
# (The thinktime of fio stands behind a write, in front of its fsync.)
work_database() {
    local page
    dd if=/dev/zero of="$MNT"/file bs=1M count="$1" conv=fsync status=none
    phase before $(($1 << 20))
    exec 8<> <(:) 9<>"$MNT"/file # 9 keeps the file open, as a database does
    while read -r page; do
        read -rt 0.02 -u 8 _ || :
        dd if=/dev/zero of="$MNT"/file bs=4k count=1 seek="$page" conv=notrunc,fsync status=none
    done < <(awk -v pages=$(($1 * 256)) -v count="$2" 'BEGIN { srand(1)
        for (; count > 0; count--) print int(rand() * pages) }')
    exec 8>&- 9>&-
    phase write $(($2 * 4096))
}

# work_log COUNT: appends COUNT entries of 512 bytes to a file, each with fsync.
work_log() {
    fio_file --rw=write --bs=512 --size=$(($1 * 512)) --fsync=1 --file_append=1
    phase write $(($1 * 512))
}

# pause SECONDS: without starting a process, which takes time and touches files.
pause() {
    [ -e /proc/self/fd/8 ] || exec 8<> <(:)
    read -rt "$1" -u 8 || :
}

# work_lines SECONDS log=card|memory: what a small machine does in which nothing happens.  Each second
# a line of 200 bytes is added to a log, without a sync, and one of twenty settings is read.  With
# log=memory the log is in memory, and its copy is stored at the end.
work_lines() {
    local i place=$MNT
    [ "$2" = log=card ] || place=$RUN
    mkdir "$MNT"/settings
    for ((i = 0; i < 20; i++)); do head -c 2000 /dev/zero >"$MNT"/settings/$i; done
    sync
    pause 0.1 # so that this read is later than the writes, and relatime has nothing left to do
    cat "$MNT"/settings/* >/dev/null
    sync
    phase before 40000
    for ((i = 0; i < $1; i++)); do
        printf '%0199d\n' "$i" >>"$place"/log
        cat "$MNT"/settings/$((i % 20)) >/dev/null
        pause 1
    done
    [ "$2" = log=card ] || cp "$place"/log "$MNT"/log
    sync
    phase write $(($1 * 200))
}

# readings COUNT [SECONDS]: SQL for so many commits with the readings of five sensors each, and a pause
# behind each.
readings() {
    local i n row rows
    for ((i = 0; i < $1; i++)); do
        rows=''
        for ((n = 0; n < 5; n++)); do
            printf -v row "(%d,%d,'%0200d')" $((RANDOM % 138)) "$i" $RANDOM
            rows+=${rows:+,}$row
        done
        echo "INSERT INTO states(sensor, time, state) VALUES $rows;"
        [ $# = 1 ] || pause "$2"
    done
}

# work_sqlite SECONDS PRAGMA...: SQLite stores readings four times a second, with these pragmas, in a
# database that already has 10 000 of them.
work_sqlite() {
    local pragmas=("${@:2}")
    command -v sqlite3 >/dev/null || fail "the guest has no sqlite3; the host needs it"
    RANDOM=1
    {
        printf 'PRAGMA %s;\n' "${pragmas[@]}"
        echo 'CREATE TABLE states(id INTEGER PRIMARY KEY, sensor INT, time INT, state TEXT);
            CREATE INDEX by_sensor ON states(sensor, time); BEGIN;'
        readings 2000
        echo 'COMMIT;'
    } | sqlite3 -bail "$MNT"/db >"$RUN"/sqlite || fail "sqlite3"
    sync
    phase before $((10000 * 200))
    {
        printf 'PRAGMA %s;\n' "${pragmas[@]}"
        readings $((4 * $1)) 0.25
    } | sqlite3 -bail "$MNT"/db >"$RUN"/sqlite || fail "sqlite3"
    sync
    phase write $((4 * $1 * 5 * 200))
}

# work_streams MIB: four files of MIB grow in turn by 64 KiB, each time synced.
work_streams() {
    fio --name=job --directory="$MNT" --ioengine=psync --fallocate=none --rw=write --bs=64k \
        --nrfiles=4 --file_service_type=roundrobin --filesize="$1"m --sync=dsync \
        --output="$RUN"/fio || { cat "$RUN"/fio >&2; fail "fio"; }
    phase write $((4 * $1 << 20))
}

# work_video MIB: a video grows by 1 MiB, with fdatasync, and then its index by 4 KiB, with fsync.
work_video() {
    local i
    for ((i = 0; i < $1; i++)); do
        dd if=/dev/zero of="$MNT"/video bs=1M count=1 oflag=append conv=notrunc,fdatasync \
            status=none
        dd if=/dev/zero of="$MNT"/index bs=4K count=1 oflag=append conv=notrunc,fsync status=none
    done
    phase write $(($1 * (1048576 + 4096)))
    remount
    phase remount
    dd if="$MNT"/video of=/dev/null bs=1M status=none
    phase read $(($1 << 20))
}

# small_packages COUNT SEED: for each package 50 files of 1 KiB to 128 KiB, small ones more often: a
# line for each file, with the number of the package, its own, and its size.
small_packages() {
    awk -v count="$1" -v seed="$2" 'BEGIN { for (p = 0; p < count; p++) { srand(seed + p)
        for (n = 0; n < 50; n++) print p, n, int(1024 * 2 ^ (7 * rand())) } }'
}

# desktop_packages COUNT SEED: the files of packages of a desktop.  1200 packages of Debian 12 have 7,
# 21 and 89 files at the quantiles 50, 75 and 90 %, and the packages here have about as many.  The
# files of Debian have 1.7, 6.8 and 27 KB at these quantiles, and those here 1.7, 4.2 and 15 KB.
desktop_packages() {
    awk -v count="$1" -v seed="$2" 'BEGIN { for (p = 0; p < count; p++) { srand(seed + p)
        for (n = int(6 * 2 ^ (7.4 * rand() ^ 5)); n > 0; n--) {
            size = 667 * (1 - rand()) ^ -1.35
            print p, n, int(size < 8388608 ? size : 8388608) } } }'
}

# archives FOLDER: makes Debian packages of the files of standard input, as the functions above
# print them, and prints the number of the files' bytes, a line for each package.  One process makes
# all of them, and does not compress them: with dpkg-deb and the programs that it starts, an emulated
# processor takes about a second for each package.
archives() {
    awk -v to="$1" '
        function field(text, size) { return text substr(zeros, 1, size - length(text)) }
        function octal(number, size) { return sprintf("%0" size - 1 "o", number) }
        function tar(name, mode, size, kind,   text, sum, i) { # the header of ustar
            size = octal(size, 12)
            text = name mode id id size date kind "ustar00"
            sum = 8 * 32 # as if the sum itself were blanks
            for (i = length(text); i > 0; i--) sum += code[substr(text, i, 1)]
            return field(name, 100) field(mode, 8) field(id, 8) field(id, 8) field(size, 12) \
                field(date, 12) field(octal(sum, 7), 7) " " kind field("", 100) \
                field(field("ustar", 6) "00", 255)
        }
        function file(name, size) { return tar(name, "0000644", size, 0) }
        function whole(size) { return int((size + 511) / 512) * 512 }
        function ar(name, size) {
            return sprintf("%-16s%-12d%-6d%-6d%-8s%-10d`\n", name, 0, 0, 0, 100644, size)
        }
        function archive(   path, control, dirs, i, size) {
            path = to "/p" last ".deb"
            control = "Package: p" last "\nVersion: 1\nArchitecture: all\n" \
                "Maintainer: x <x@x>\nDescription: files\n"
            dirs = "./usr/lib/p" last "/"
            printf "!<arch>\n%s2.0\n%s%s%s%s", ar("debian-binary", 4), ar("control.tar", 2048),
                file("./control", length(control)), field(control, 512), field("", 1024) >path
            for (i = 0; i < files; i++) size += 512 + whole(sizes[i])
            printf "%s", ar("data.tar", size + 4 * 512 + 1024) >path
            for (i = 2; i <= length(dirs); i++)
                if (substr(dirs, i, 1) == "/")
                    printf "%s", tar(substr(dirs, 1, i), "0000755", 0, 5) >path
            for (i = 0; i < files; i++)
                printf "%s%s", file(dirs names[i], sizes[i]), content(whole(sizes[i])) >path
            printf "%s", field("", 1024) >path
            close(path)
            print bytes
            files = bytes = 0
        }
        function content(size) {
            while (length(text) < size) text = text text
            return substr(text, 1, size)
        }
        BEGIN {
            for (i = 32; i < 127; i++) code[sprintf("%c", i)] = i
            for (zeros = sprintf("%c", 0); length(zeros) < 1024;) zeros = zeros zeros
            id = "0000000"; date = octal(1700000000, 12); files = 0
            text = "0123456789abcdef"
        }
        $1 != last && files { archive() }
        { last = $1; names[files] = $2; sizes[files++] = $3; bytes += $3 }
        END { archive() }'
}

# make_packages COUNT SEED KIND: makes Debian packages in memory, with the files that the function
# KIND prints, and prints the number of the files' bytes, a line for each package.
make_packages() {
    rm -rf /root/packages
    mkdir /root/packages
    "$3" "$1" "$2" | archives /root/packages
}

# sum: of the numbers of standard input.
sum() { awk '{ all += $1 } END { print all }'; }

# on_mnt OPTION...: dpkg with these options, on the filesystem.
# bad-path: there is no ldconfig, and no script of a package that would call it
on_mnt() {
    dpkg --root="$MNT" --force-bad-path "$@" >"$RUN"/dpkg 2>&1 ||
        { cat "$RUN"/dpkg >&2; fail "dpkg"; }
}

database_of_dpkg() {
    mkdir -p "$MNT"/var/lib/dpkg/{info,updates}
    touch "$MNT"/var/lib/dpkg/{status,available}
}

# work_packages COUNT SEED: dpkg installs these packages, with its own syncs.
work_packages() {
    local bytes
    bytes=$(make_packages "$1" "$2" small_packages | sum)
    database_of_dpkg
    sync
    phase before
    on_mnt -i /root/packages/*.deb
    sync
    phase write "$bytes"
}

# work_desktop COUNT SOME SEED: dpkg installs COUNT packages, removes SOME of them and installs them
# again, with its own syncs.  First the archives are stored, without a sync, as apt does.  They have
# 28 % of the files' bytes, as those of a desktop of Debian 12.
work_desktop() {
    local all some few=()
    make_packages "$1" "$3" desktop_packages >"$RUN"/bytes
    all=$(sum <"$RUN"/bytes)
    some=$(head -n "$2" "$RUN"/bytes | sum)
    mkdir -p "$MNT"/var/cache/apt/archives
    database_of_dpkg
    sync
    phase before
    phase store "$(awk '{ print "p" NR - 1 ".deb", int($1 * 28 / 100) }' "$RUN"/bytes |
        make_files "$MNT"/var/cache/apt/archives)"
    on_mnt -i /root/packages/*.deb
    sync
    phase install "$all"
    mapfile -t few < <(seq -f p%g 0 $(($2 - 1)))
    on_mnt -r "${few[@]}"
    sync
    phase remove
    few=("${few[@]/#//root/packages/}")
    on_mnt -i "${few[@]/%/.deb}"
    sync
    phase again "$some"
}

versions() {
    echo "kernel $(uname -r)"
    echo "tools $({
        for tool in mkfs.vfat mkfs.exfat mkfs.xfs mkfs.f2fs mkfs.btrfs mke2fs mkntfs; do
            "$tool" -V 2>&1 </dev/null | grep -m 1 '[0-9]\.[0-9]'
        done
        dpkg --version | grep -m 1 '[0-9]\.[0-9]'
    } | sed 's/ *(.*//; s/^exfatprogs version *: */exfatprogs /; s/^Debian.*version /dpkg /
        s/^mkfs.btrfs, part of //' | paste -sd ';' | sed 's/;/; /g')"
}

# one RECIPE
one() {
    local name type start mkfs work tries=0
    IFS='|' read -r name type start sectors mkfs mount work full <<<"$1"
    until dev=$(attach "$NBD_PORT" 2>"$RUN"/attach); do # the next server
        [ $((tries += 1)) -le 300 ] || { cat "$RUN"/attach >&2; fail "no server for $name"; }
        sleep 0.1
    done
    limit_requests
    echo "begin $name $(blockdev --getsize64 "$dev")" \
        $(($(cat "/sys/block/${dev##*/}/queue/max_sectors_kb") << 10))
    partition "$start" "$type" || fail "$name: no partition of $sectors sectors at $start"
    # shellcheck disable=SC2086
    $mkfs "$(part)" >"$RUN"/mkfs 2>&1 || { cat "$RUN"/mkfs >&2; fail "$name: $mkfs"; }
    phase format
    mount_again || fail "$name: $mount"
    phase mount
    # shellcheck disable=SC2086
    "work_${work%% *}" ${work#"${work%% *}"}
    echo "end $name"
    umount "$MNT"
    while pidof ntfs-3g >/dev/null; do sleep 0.1; done # it ends a little later
    losetup -nO NAME,BACK-FILE 2>/dev/null | awk -v d="$dev" '$2 == d { print $1 }' |
        xargs -r losetup -d
    detach "$dev"
    ctl "$CTL_PORT" '{"cmd":"quit"}' >/dev/null || :
}

trap '' PIPE # a server that is not there yet, or that has just ended, closes the connection
timers_late
memory 256
versions
for recipe; do one "$recipe"; done
