# SPDX-License-Identifier: BSD-3-Clause
#
# Completion of flashemu for bash.
#
# The tool is asked for everything, so this file has no list that could be out of date:
#
#   flashemu --complete            commands, each with its operands: "replay PROFILE TRACE..."
#   flashemu COMMAND --complete    options, each with the kind of its value: "--to FORMAT"
#
# What this file knows is how to complete a KIND of word: PROFILE, FORMAT, KEY, FILE ...  A kind
# that it does not know is left to the user.

# Adds those of the words $1 that begin with $cur.
_flashemu_words()
{
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$1" -- "$cur")
}

_flashemu_files()
{
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur")
}

# The keys of a profile, each with $1 behind it.
_flashemu_keys()
{
    "$tool" help --json 2>/dev/null | sed -n "s/^ *\"key\": \"\\([^\"]*\\)\",*\$/\\1$1/p"
}

# The options of the pattern on the line, as "KEY=DEFAULT sentence (a|b|c)".
_flashemu_pattern()
{
    "$tool" gen "${operands[0]%%,*}" --options 2>/dev/null | sed -n 's/^  //p'
}

# The allowed values of the key $1 of that pattern, if they are words.
_flashemu_pattern_values()
{
    _flashemu_pattern | sed -n -e "s/^$1=\\(yes\\|no\\) .*/yes no/p" \
        -e "/^$1=/s/.*(\\([a-z|]*\\))\$/\\1/p" | tr '|' ' '
}

# Adds what a word of this kind can be.
_flashemu_kind()
{
    case $1 in
    PROFILE)
        if [[ ${COMP_WORDS[1]} == replay && $cur == *,* ]]; then # a list of profiles
            _flashemu_words "$("$tool" profiles 2>/dev/null | sed "s|^|${cur%,*},|")"
        else
            _flashemu_words "$("$tool" profiles 2>/dev/null)"
        fi
        case $cur in
        */* | .* | *.ini) _flashemu_files ;;
        esac
        ;;
    FILE | FILE.ini | IMAGE | SOCKET | TRACE) _flashemu_files ;;
    FORMAT) _flashemu_words "$("$tool" trace --formats 2>/dev/null | sed 's/ .*//')" ;;
    PATTERN) _flashemu_words "$("$tool" gen --patterns 2>/dev/null | sed 's/ .*//')" ;;
    PROCEDURE)
        _flashemu_words "$("$tool" verify --list --json 2>/dev/null |
            sed -n 's/^ *"name": "\([^"]*\)",*$/\1/p')"
        ;;
    COMMAND) # of a server: the tool's help is the only list on this side of the socket
        _flashemu_words "$("$tool" ctl --help 2>/dev/null |
            sed -n '/Commands:/,/--/s/^  \([a-z][a-z-]*\).*/\1/p')"
        ;;
    KEY) _flashemu_words "$(_flashemu_keys)" ;;
    TOPIC) # a key, a section or a command
        _flashemu_words "$(_flashemu_keys; _flashemu_keys | sed 's/\..*//' | uniq
            "$tool" --complete 2>/dev/null | sed -n 's/^\([a-z]\+\) .*/\1/p')"
        ;;
    KEY=VALUE)
        _flashemu_words "$(_flashemu_keys '=')"
        [[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace 2>/dev/null
        ;;
    *[!A-Z]*) _flashemu_words "$1" ;; # the words themselves
    esac
}

# Adds what operand number ${#operands[@]} can be, by the operands of the command: one that
# ends in "..." may come again, and then everything behind it may come, too.
_flashemu_operand()
{
    local -i n=${#operands[@]} i
    local word
    for ((i = 0; i < ${#usage[@]}; i++)); do
        # shellcheck disable=SC2180 # the pattern is one bracket of either kind
        word=${usage[i]//[][]/}
        [[ $word == -* ]] && return
        if ((i == n)) || { ((i < n)) && [[ $word == *... ]]; }; then
            _flashemu_kind "${word%...}"
            [[ $word == *... ]] || return
            ((n = i + 1))
        fi
    done
}

_flashemu()
{
    local tool=$1 cur=$2 prev=$3 line name kind
    local -a usage=() operands=()
    local -A kinds=()
    local -i i

    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _flashemu_words "$("$tool" --complete 2>/dev/null | sed 's/ .*//')"
        return
    fi
    while read -r name line; do
        [[ $name == "${COMP_WORDS[1]}" ]] && read -ra usage <<<"$line"
    done < <("$tool" --complete 2>/dev/null)
    while read -r name kind; do
        kinds[$name]=$kind
    done < <("$tool" "${COMP_WORDS[1]}" --complete 2>/dev/null)
    kinds[-o]=FILE
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -?*) [[ ${kinds[${COMP_WORDS[i]}]-VALUE} ]] && i+=1 ;;
        *) operands+=("${COMP_WORDS[i]}") ;;
        esac
    done
    # A pattern's options are the pattern's.
    if [[ ${usage[0]-} == PATTERN && ${operands[0]-} ]]; then
        while IFS='= ' read -r name line; do
            kinds[--$name]=$(_flashemu_pattern_values "$name")
            : "${kinds[--$name]:=VALUE}"
        done < <(_flashemu_pattern)
    fi
    if [[ $prev == -?* && ${kinds[$prev]-} ]]; then
        _flashemu_kind "${kinds[$prev]}"
    elif [[ $cur == -* ]]; then
        unset "kinds[-o]"
        _flashemu_words "${!kinds[*]}"
    else
        _flashemu_operand
    fi
}

complete -F _flashemu flashemu
