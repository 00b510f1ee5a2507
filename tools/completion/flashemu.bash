# SPDX-License-Identifier: BSD-3-Clause
#
# Completion of flashemu for bash, and of the parameters of `nbdkit flashemu`.
#
# bash reads this file when flashemu is completed for the first time.  To have it for nbdkit from
# the beginning, read it in ~/.bashrc:
#
#   . /usr/share/bash-completion/completions/flashemu
#
# The tool is asked for everything, so this file has no list that could be out of date:
#
#   flashemu --complete            commands, each with its operands: "replay PROFILE TRACE..."
#   flashemu COMMAND --complete    options, each with the kind of its value: "--to FORMAT"
#
#   flashemu help --json           keys, with what is allowed for each
#   nbdkit flashemu --help         the parameters of the server
#
# zsh and fish ask this file, so they offer the same.  What it knows is how to complete a KIND of
# word: PROFILE, FORMAT, KEY, FILE ...  A kind that it does not know is left to the user.
#
# bash divides a line at "=" and ":", so ftl.type=pa comes as three words.  Here they are one word
# again: words, cword and cur are the line as its author sees it, and $gone is what bash has of cur
# in front of the word that it completes, and what therefore must not be in its answer.

# Sets words, cword, cur and gone; $1 is the word that bash completes.
_flashemu_join()
{
    local word=$1 raw
    local -i i open=0
    words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        raw=${COMP_WORDS[i]}
        if ((i > 1)) && { ((open)) || [[ $raw == [=:] ]]; }; then
            words[-1]+=$raw
        else
            words+=("$raw")
        fi
        open=0
        [[ $raw == [=:] ]] && open=1
    done
    cword=${#words[@]}-1
    cur=${words[cword]}
    [[ $word == [=:] ]] && word=
    gone=${cur%"$word"}
}

# Adds those of the words $1 that begin with $cur.
_flashemu_words()
{
    local word
    while read -r word; do
        COMPREPLY+=("${word#"$gone"}")
    done < <(compgen -W "$1" -- "$cur")
}

# The same for words that are only the beginning of one: no blank follows, unless there are others.
_flashemu_beginnings()
{
    local -i others=${#COMPREPLY[@]}
    _flashemu_words "$1"
    if ((!others && ${#COMPREPLY[@]})); then
        compopt -o nospace 2>/dev/null
    fi
}

_flashemu_files()
{
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${cur#"$gone"}")
}

# The keys of a profile, each with $1 behind it.
_flashemu_keys()
{
    "$tool" help --json 2>/dev/null | sed -n "s/^ *\"key\": \"\\([^\":]*\\)\",*\$/\\1$1/p"
}

# The keys that a running server lets itself be told.
_flashemu_live_keys()
{
    "$tool" help --json 2>/dev/null | sed -n -e 's/^ *"key": "\([^":]*\)",*$/\1/;T' -e h \
        -e ':a' -e 'n;/"live": true/{g;p;b}' -e '/}/!ba'
}

# The values of the key $1: all of them if they are words.  Of numbers: the default, and the word
# that stands for none or all.
_flashemu_values()
{
    "$tool" help --json 2>/dev/null | awk -F '"' -v key="$1" '
        $2 == "key" { found = $4 == key }
        found && $2 == "type" { type = $4 }
        found && $2 == "allowed" { allowed = $4 }
        found && $2 == "default" {
            if (type == "name" || type == "yes or no")
                gsub(",", "", allowed)
            else if (match(allowed, /or [a-z]+$/))
                allowed = substr(allowed, RSTART + 3) == $4 ? "" : substr(allowed, RSTART + 3)
            else
                allowed = ""
            print type == "name" || type == "yes or no" ? allowed : $4 " " allowed
            exit
        }'
}

# Adds keys with "=", or the values of the key that $cur has; with $1, several of them as V1,V2.
_flashemu_assignment()
{
    local before
    if [[ $cur == *=* ]]; then
        before=${cur%%=*}=
        [[ $1 && $cur == *,* ]] && before=${cur%,*},
        _flashemu_words "$(_flashemu_values "${cur%%=*}" | tr ' ' '\n' | sed "/./s|^|$before|")"
    else
        _flashemu_beginnings "$(_flashemu_keys '=')"
    fi
}

# Adds what a source of requests gen:PATTERN[,KEY=VALUE...] can go on with.
_flashemu_source()
{
    local -a operands=("${cur#gen:}")
    local last=${cur##*,}
    if [[ $cur != *,* ]]; then
        _flashemu_words "$("$tool" gen --patterns 2>/dev/null | sed 's/ .*//; s/^/gen:/')"
    elif [[ $last == *=* ]]; then
        _flashemu_words "$(_flashemu_pattern_values "${last%%=*}" | tr ' ' '\n' |
            sed "/./s|^|${cur%=*}=|")"
    else
        _flashemu_beginnings "$(_flashemu_pattern | sed -n "s|^\([a-z-]*\)=.*|${cur%,*},\1=|p")"
    fi
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
        if [[ ${words[1]} == replay && $cur == *,* ]]; then # a list of profiles
            _flashemu_words "$("$tool" profiles 2>/dev/null | sed "s|^|${cur%,*},|")"
        else
            _flashemu_words "$("$tool" profiles 2>/dev/null)"
        fi
        case $cur in
        */* | .* | *.ini) _flashemu_files ;;
        esac
        ;;
    TRACE)
        case $cur in
        gen:*) _flashemu_source ;;
        rec:*)
            _flashemu_words "$(flashemu-lab list --recordings 2>/dev/null | sed 's/ .*//; s/^/rec:/')"
            ;;
        *) _flashemu_files ;;
        esac
        ;;
    FILE | FILE.ini | IMAGE | SOCKET) _flashemu_files ;;
    FORMAT) # a format that is written is none of those that are only read
        local only=''
        [[ ${words[1]} == gen || ${words[cword-1]} == --to ]] && only='/; read only$/d'
        _flashemu_words "$("$tool" trace --formats 2>/dev/null | sed -e "$only" -e 's/ .*//')"
        ;;
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
    TOPIC) # a key, a section, a strategy, a command or a profile
        _flashemu_words "all $(_flashemu_keys; _flashemu_keys | sed 's/\..*//' | uniq
            _flashemu_values ftl.type
            "$tool" --complete 2>/dev/null | sed -n 's/^\([a-z]\+\) .*/\1/p'
            "$tool" profiles 2>/dev/null)"
        ;;
    KEY=VALUE)
        if [[ ${words[1]} == serve ]]; then # which also takes the parameters of the server
            plugin=flashemu
            _flashemu_nbdkit_parameter
        else
            _flashemu_assignment ''
        fi
        ;;
    ARG) # of a server's command
        case ${operands[1]}:${#operands[@]} in
        get:2) _flashemu_words "$(_flashemu_keys) time-scale transport-overhead clock" ;;
        set:2) _flashemu_words "$(_flashemu_live_keys) time-scale transport-overhead" ;;
        set:3) _flashemu_words "$(_flashemu_values "${operands[2]}")" ;;
        power-cut:2) _flashemu_words after ;;
        esac
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
    local tool=$1 cur gone line name kind plugin
    local -a words usage=() operands=()
    local -A kinds=()
    local -i i cword

    COMPREPLY=()
    _flashemu_join "$2"
    if ((cword == 1)); then
        _flashemu_words "$("$tool" --complete 2>/dev/null | sed 's/ .*//')"
        return
    fi
    while read -r name line; do
        [[ $name == "${words[1]}" ]] && read -ra usage <<<"$line"
    done < <("$tool" --complete 2>/dev/null)
    while read -r name kind; do
        kinds[$name]=$kind
    done < <("$tool" "${words[1]}" --complete 2>/dev/null)
    kinds[-o]=FILE
    for ((i = 2; i < cword; i++)); do
        case ${words[i]} in
        -?*) [[ ${kinds[${words[i]}]-VALUE} ]] && i+=1 ;;
        *) operands+=("${words[i]}") ;;
        esac
    done
    # A pattern's options are the pattern's.
    if [[ ${usage[0]-} == PATTERN && ${operands[0]-} ]]; then
        while IFS='= ' read -r name line; do
            kinds[--$name]=$(_flashemu_pattern_values "$name")
            : "${kinds[--$name]:=VALUE}"
        done < <(_flashemu_pattern)
    fi
    line=${words[cword - 1]}
    if [[ $line == --vary ]]; then
        _flashemu_assignment several
    elif [[ $line == -?* && ${kinds[$line]-} ]]; then
        _flashemu_kind "${kinds[$line]}"
    elif [[ $cur == -* ]]; then
        unset "kinds[-o]"
        _flashemu_words "${!kinds[*]}"
    else
        _flashemu_operand
    fi
}

# ---- nbdkit flashemu ----

# The parameters of the server, as "clock=real|virtual".
_flashemu_parameters()
{
    nbdkit "$plugin" --help 2>/dev/null | sed -n 's/^\([a-z-]*=[^ ]*\) .*/\1/p'
}

_flashemu_nbdkit_parameter()
{
    local word
    case $cur in
    profile=*)
        _flashemu_words "$("$tool" profiles 2>/dev/null | sed 's/^/profile=/')"
        _flashemu_files
        ;;
    *.*=*) _flashemu_assignment '' ;;
    file=* | control=* | trace=* | trace-data=*) _flashemu_files ;;
    *=*)
        word=${cur%%=*}= # of its values those that stand for themselves, such as auto
        _flashemu_words "$(_flashemu_parameters | sed -n "s/^$word//p" | tr '|' '\n' |
            sed -n "s/^[a-z_]\+\$/$word&/p")"
        ;;
    *) _flashemu_beginnings "$(_flashemu_parameters | sed 's/=.*/=/'; _flashemu_keys '=')" ;;
    esac
}

# With another plugin, and in front of the plugin, nbdkit's own completion does what it does.
_flashemu_nbdkit()
{
    local tool=flashemu plugin='' cur gone word
    local -a words
    local -i cword

    COMPREPLY=()
    _flashemu_join "$2"
    for word in "${words[@]:1:cword-1}"; do
        [[ $word == flashemu || $word == *nbdkit-flashemu-plugin.so ]] && plugin=$word
    done
    if [[ $plugin && $cur != -* ]]; then
        _flashemu_nbdkit_parameter
    elif declare -F _nbdkit _init_completion >/dev/null; then
        _nbdkit "$@"
    fi
}

# As a program, `bash FILE flashemu WORD...` prints what the last word can be, one a line, for the
# completion of other shells: the whole words, and folders with "/" behind them.
if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
    files=no
    compopt() { [[ $2 == filenames ]] && files=yes; return 0; }
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _flashemu "$1" "${*: -1}"
    for word in "${COMPREPLY[@]}"; do
        [[ $files == yes && -d $word ]] && word+=/
        printf '%s\n' "$word"
    done
    exit 0
fi

complete -F _flashemu flashemu
if ! declare -F _nbdkit >/dev/null && [[ -r /usr/share/bash-completion/completions/nbdkit ]]; then
    . /usr/share/bash-completion/completions/nbdkit
fi
complete -o default -F _flashemu_nbdkit nbdkit
