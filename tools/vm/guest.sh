# shellcheck shell=bash
# Functions for the scripts that `run` starts in the guest.
#
# Every bash in the guest reads this file first (BASH_ENV), so that the script
# and the scripts that it starts need no `source`. A function that fails says
# why on standard error and returns 1; scripts with `set -e` stop there.
#
# Ports are those of the host: ports of its 127.0.0.1, and ports that `run
# --forward-unix` made from Unix sockets. Functions that take a PORT can tell
# them apart.

# Prints the address at which the guest reaches the host's PORT.
host_of() {
    case " ${VM_FORWARDED-} " in
    *" $1 "*) echo 10.0.2.100 ;;
    *) echo 10.0.2.2 ;;
    esac
}

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

# attach PORT [DEV] [OPTION...]: attaches the NBD server at PORT to DEV, or to
# the first free device, and prints the device as soon as it has its size.
# OPTIONs go to nbd-client; a -b among them overrides the sector size of 512.
attach() {
    local port=${1:?attach PORT [DEV] [OPTION...]} dev='' name log tries=0
    shift
    case ${1-} in /dev/*) dev=$1 && shift ;; esac
    if [ -z "$dev" ]; then
        for dev in /dev/nbd{0..15}; do
            [ -e "/sys/block/${dev##*/}/pid" ] || break
        done
    fi
    name=${dev##*/}
    if ! log=$(nbd-client "$(host_of "$port")" "$port" "$dev" -b 512 "$@" 2>&1 </dev/null); then
        echo "attach: port $port to $dev: $log" >&2
        return 1
    fi
    until [ "$(cat "/sys/block/$name/size" 2>/dev/null || echo 0)" != 0 ]; do
        if [ $((tries += 1)) -gt 200 ]; then
            echo "attach: $dev has no size after 10 s: $log" >&2
            return 1
        fi
        sleep 0.05
    done
    echo "$dev"
}

# detach DEV: returns when the kernel has released the device.
detach() {
    local dev=${1:?detach DEV} log tries=0
    if ! log=$(nbd-client -d "$dev" 2>&1); then
        echo "detach: $dev: $log" >&2
        return 1
    fi
    while [ -e "/sys/block/${dev##*/}/pid" ]; do
        if [ $((tries += 1)) -gt 200 ]; then
            echo "detach: $dev is still attached after 10 s" >&2
            return 1
        fi
        sleep 0.05
    done
}

# settle DEV [N]: waits until DEV has at least N partitions, and until each
# partition that the kernel knows has its node. There is no udev here.
settle() {
    local dev=${1:?settle DEV [N]} want=${2:-0} part have missing tries=0
    while :; do
        have=0 missing=0
        for part in "/sys/block/${dev##*/}/${dev##*/}p"*; do
            [ -e "$part" ] || continue
            have=$((have + 1))
            [ -b "/dev/${part##*/}" ] || missing=1
        done
        [ $missing = 1 ] || [ "$have" -lt "$want" ] || return 0
        if [ $((tries += 1)) -gt 100 ]; then
            echo "settle: $dev has $have partitions of $want after 5 s" >&2
            return 1
        fi
        [ $tries != 20 ] || blockdev --rereadpt "$dev" 2>/dev/null || :
        sleep 0.05
    done
}

# Writes back all dirty data, then drops everything that the kernel has cached.
drop_caches() {
    sync
    echo 3 >/proc/sys/vm/drop_caches
}

# ctl PORT JSON...: sends the line to the server's control socket behind PORT
# and prints the line that it answers; opens and closes a connection.
ctl() {
    local port=${1:?ctl PORT JSON...} reply='' fd
    shift
    { exec {fd}<>"/dev/tcp/$(host_of "$port")/$port"; } 2>/dev/null || {
        echo "ctl: nobody listens at port $port" >&2
        return 1
    }
    printf '%s\n' "$*" >&"$fd"
    IFS= read -r -t "${CTL_TIMEOUT:-60}" reply <&"$fd"
    exec {fd}>&-
    if [ -z "$reply" ]; then
        echo "ctl: no answer from port $port to: $*" >&2
        return 1
    fi
    printf '%s\n' "$reply"
}

# json PATH: prints the value at PATH (host.write.ops, events.0.name) of the JSON
# on standard input, strings without their quotes. It can do what statistics need.
json() {
    awk -v want="${1:?json PATH}" '
    function skip() { while (substr(s, i, 1) ~ /[ \t\r\n]/) i++ }
    function string(  j) {
        j = ++i
        while ((c = substr(s, i, 1)) != "\"" && c != "") i += c == "\\" ? 2 : 1
        return substr(s, j, i++ - j)
    }
    function value(path,  start, n, key, close_, v) {
        skip(); start = i; c = substr(s, i, 1)
        if (c == "{" || c == "[") {
            close_ = c == "{" ? "}" : "]"; i++; n = 0
            for (skip(); substr(s, i, 1) != close_ && i <= length(s); skip()) {
                key = n++
                if (close_ == "}") { key = string(); skip(); i++ }
                value(path == "" ? key : path "." key); skip()
                if (substr(s, i, 1) == ",") i++
            }
            i++; v = substr(s, start, i - start)
        } else if (c == "\"") v = string()
        else { while (substr(s, i, 1) ~ /[^],} \t\r\n]/) i++; v = substr(s, start, i - start) }
        if (path == want) { print v; found = 1 }
    }
    { s = s $0 "\n" }
    END { i = 1; value(""); exit !found }'
}

# guest put FILE...: hands files and directories to the host. At the end they
# appear there under their last names, in the directory of `run --out`.
guest() {
    local file
    [[ ${1-} = put && $# -gt 1 ]] || fail "use: guest put FILE..."
    shift
    for file; do
        ( # a port has one opener at a time, and may be a terminal, to which tar does not write
            set -o pipefail
            flock 9 &&
                tar -cf - -C "$(dirname "$file")" "$(basename "$file")" | cat >/dev/vm-files
        ) 9>/run/vm/put || return 1
    done
}

# Makes /run/flashemu/mark if there is a server behind $CTL_PORT; `run` calls it before the script.
begin_marks() {
    [ -n "${CTL_PORT-}" ] && [ -x /vm/mark ] || return 0
    modprobe fuse 2>/dev/null || :
    mkdir -p /run/flashemu && /vm/mark /run/flashemu "$(host_of "$CTL_PORT")" "$CTL_PORT"
}

# mark TEXT: returns when the mark stands in the trace of the server behind $CTL_PORT.
mark() {
    { printf '%s\n' "$*" >/run/flashemu/mark; } 2>/dev/null && return
    if [ -e /run/flashemu/mark ]; then
        echo "mark: '$(printf %.60s "$*")' is refused, or nobody answers" >&2
    elif [ -n "${CTL_PORT-}" ]; then
        echo "mark: there is no /run/flashemu/mark: the host has no flashemu-mark beside its program flashemu" >&2
    else
        echo "mark: there is no /run/flashemu/mark: no server is known (CTL_PORT)" >&2
    fi
    return 1
}
