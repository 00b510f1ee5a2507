# SPDX-License-Identifier: BSD-3-Clause
#
# Completion of flashemu for bash: commands, options, and the names that the tool itself
# can list (profiles, patterns, keys), so that they are never out of date.

_flashemu_words()
{
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

_flashemu_files()
{
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur")
}

_flashemu_profiles()
{
    _flashemu_words "$("$tool" profiles 2>/dev/null)"
    case $cur in
    */* | .* | *.ini) _flashemu_files ;;
    esac
}

_flashemu_keys()
{
    "$tool" help --json 2>/dev/null | sed -n "s/^ *\"key\": \"\\([^\"]*\\)\",*\$/\\1$1/p"
}

_flashemu_patterns()
{
    "$tool" gen --patterns 2>/dev/null | sed 's/ .*//'
}

# "--key" of every option of the pattern that stands on the line.
_flashemu_pattern_options()
{
    "$tool" gen "${words[2]%%,*}" --options 2>/dev/null | sed -n 's/^  \([a-z0-9-]*\)=.*/--\1/p'
}

# The value of the option $prev, if it takes one that can be listed.
_flashemu_value()
{
    case $prev in
    --format | --to) _flashemu_words "text iolog iolog2 blkparse msr" ;;
    --event) _flashemu_words "D Q G I C" ;;
    --op) _flashemu_words "read write trim" ;;
    --layout) _flashemu_words "mkfs packed factory" ;;
    --base | --base2) _flashemu_words "sr rr sw rw" ;;
    --fua | --random | --scatter | --fsinfo) _flashemu_words "yes no" ;;
    --kernel) _flashemu_words "auto vm host none" ;;
    -o | --output | --record | --wear-svg | --device | --warmup) _flashemu_files ;;
    --depth | --seed | --title | --dilate | --capacity | --sector | --from-device) ;;
    --timeout | --interval | --count) ;;
    *) return 1 ;;
    esac
}

_flashemu_command()
{
    case ${words[1]} in
    profiles) _flashemu_words "--json --help" ;;
    check)
        case $cur in
        -*) _flashemu_words "--json --help" ;;
        *) _flashemu_files ;;
        esac
        ;;
    help)
        case $cur in
        -*) _flashemu_words "--json --help" ;;
        *) _flashemu_words "$(_flashemu_keys)" ;;
        esac
        ;;
    verify)
        if [[ $cur == -* ]]; then
            _flashemu_words "--all --quick --json --dry-run --list --kernel --dilate --seed --verbose --help"
        elif ((cword == 2)); then
            _flashemu_profiles
        else
            _flashemu_words "$("$tool" verify --list --json | sed -n 's/^ *"name": "\([^"]*\)",*$/\1/p')
                $(_flashemu_keys "=")"
        fi
        ;;
    show | replay)
        if [[ $cur == -* && ${words[1]} == replay ]]; then
            _flashemu_words "--json --warmup --depth --timed --payload --seed --wrap
                --drop-trim --record --wear-svg --format --from-device --event --help"
        elif ((cword == 2)); then
            _flashemu_profiles
        else
            _flashemu_words "$(_flashemu_keys "=")"
            [[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace 2>/dev/null
            [[ ${words[1]} == replay ]] && _flashemu_files
        fi
        ;;
    gen)
        if [[ $cur == -* && $cword -gt 2 ]]; then
            _flashemu_words "--output --format --device --lossy --capacity --sector --options
                --help $(_flashemu_pattern_options)"
        elif [[ $cur == -* ]]; then
            _flashemu_words "--patterns --help"
        elif ((cword == 2)); then
            _flashemu_words "$(_flashemu_patterns)"
        fi
        ;;
    trace)
        case $cur in
        -*)
            _flashemu_words "--to --format --output --from-device --event --sector --device
                --lossy --help"
            ;;
        *) _flashemu_files ;;
        esac
        ;;
    inspect | fsck)
        case $cur in
        -*) [[ ${words[1]} == inspect ]] && _flashemu_words "--json --page --block --help" ;;
        *) _flashemu_files ;;
        esac
        ;;
    ctl)
        case $cur in
        -*) _flashemu_words "--raw --timeout --count --help" ;;
        *)
            if ((cword == 2)); then
                _flashemu_files
            else
                _flashemu_words "stats reset set get idle power-cut power-on mark-bad flip wear
                    hang disconnect connect events quit"
            fi
            ;;
        esac
        ;;
    report)
        case $cur in
        -*) _flashemu_words "--output --title --help" ;;
        *) _flashemu_files ;;
        esac
        ;;
    top)
        case $cur in
        -*) _flashemu_words "--interval --count --help" ;;
        *) _flashemu_files ;;
        esac
        ;;
    esac
}

_flashemu()
{
    local tool=$1 cur=$2 prev=$3
    local words=("${COMP_WORDS[@]}") cword=$COMP_CWORD

    COMPREPLY=()
    if ((cword == 1)); then
        _flashemu_words "profiles show check help verify replay gen trace ctl top inspect fsck report --help --version"
    elif ! _flashemu_value; then
        _flashemu_command
    fi
}

complete -F _flashemu flashemu
