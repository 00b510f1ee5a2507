# shellcheck shell=bash
# What the scripts of this folder share.  They source this file.

say() {
    printf '%s\n' "$*" >&2
}

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 2
}

# writable FOLDER: makes the folder; ends the script if nothing can be written there.
writable() {
    if ! mkdir -p "$1" 2>/dev/null || [ ! -w "$1" ]; then
        die "cannot write to $(realpath -m "$1"): run this in a copy of the sources that you may" \
            "write to"
    fi
}

# Sums numbers joined by '+'; an empty input is 0.
bc_sum() {
    local line
    read -r line
    echo $((${line:-0}))
}

# packages_of KIND...: prints the names that tools/packages lists under these kinds.  For the kind
# "vm" it prints what the virtual machine needs.
packages_of() {
    local kind
    for kind in "$@"; do
        if [ "$kind" = vm ]; then
            tools/vm/prepare --packages
        else
            sed -n "s/^$kind  *//p" tools/packages
        fi
    done | tr ' ' '\n' | sort -u
}

# install_packages KIND...: installs the missing packages; silent if none is missing.
install_packages() {
    local missing=() name as_root=()
    if ! command -v dpkg-query >/dev/null; then
        say "not a Debian system: install by hand: $(packages_of "$@" | xargs)"
        return
    fi
    for name in $(packages_of "$@"); do
        dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' ||
            missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || die "needs root or sudo to install: ${missing[*]}"
        as_root=(sudo)
    fi
    say "installing: ${missing[*]}"
    "${as_root[@]}" apt-get update -qq >/dev/null ||
        say "apt-get update failed; trying with the lists there are"
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends \
        "${missing[@]}" >/dev/null || die "could not install: ${missing[*]}"
}

# The names of the files of the source tree, each with a NUL behind it; nothing of a build.
sources() {
    if git rev-parse --git-dir >/dev/null 2>&1; then
        git ls-files -z -co --exclude-standard
    else
        find . -path ./build -prune -o -type f -print0
    fi
}
