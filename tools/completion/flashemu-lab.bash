# SPDX-License-Identifier: BSD-3-Clause
#
# Completion of flashemu-lab for bash.
#
# The program is asked for everything, so this file has no list that could be out of date:
#
#   flashemu-lab --complete            commands, each with its operands
#   flashemu-lab COMMAND --complete    options, each with the kind of its value

# Adds those of the words $1 that begin with $cur.
_flashemu_lab_words()
{
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$1" -- "$cur")
}

# Adds what a word of this kind can be; a kind that is unknown here is left to the user.
_flashemu_lab_kind()
{
    case $1 in
    local\|dask) _flashemu_lab_words "local dask" ;;
    *PROFILE*) _flashemu_lab_words "$(flashemu profiles 2>/dev/null)" ;;&
    NAME,...) _flashemu_lab_words "$("$tool" list --workloads 2>/dev/null | sed 's/ .*//')" ;;
    *EXPERIMENT*) _flashemu_lab_words "$("$tool" list 2>/dev/null | sed 's/ .*//')" ;;&
    *WORK\|*) _flashemu_lab_words "$("$tool" list --works 2>/dev/null | sed 's/ .*//')" ;;&
    *FILE* | *WORK\|* | *DIR* | *FOLDER* | *TRACE* | *OUT*)
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur")
        ;;
    esac
    case $1 in
    *RECORDING*) _flashemu_lab_words "$("$tool" list --recordings 2>/dev/null | sed 's/ .*//')" ;;
    esac
    case $1 in
    *KEY=*)
        _flashemu_lab_words "$(flashemu help --json 2>/dev/null |
            sed -n 's/^ *"key": "\([^"]*\)",*$/\1=/p')"
        [[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace 2>/dev/null
        # what bash takes for a file's name gets a backslash in front of "="
        [[ ${COMPREPLY[*]} == *=* ]] && compopt +o filenames 2>/dev/null
        ;;
    esac
}

_flashemu_lab()
{
    local tool=$1 cur=$2 prev=$3 line name kind
    local -a usage=()
    local -A kinds=()
    local -i i n=0

    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _flashemu_lab_words "$("$tool" --complete 2>/dev/null | sed 's/ .*//') --help --version"
        return
    fi
    while read -r name line; do
        [[ $name == "${COMP_WORDS[1]}" ]] && read -ra usage <<<"$line"
    done < <("$tool" --complete 2>/dev/null)
    while read -r name kind; do
        [[ $name == -* ]] && kinds[$name]=$kind
    done < <("$tool" "${COMP_WORDS[1]}" --complete 2>/dev/null)
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -?*) [[ ${kinds[${COMP_WORDS[i]}]-} ]] && i+=1 ;;
        *) n+=1 ;;
        esac
    done
    if [[ $prev == -?* && ${kinds[$prev]-} ]]; then
        _flashemu_lab_kind "${kinds[$prev]}"
    elif [[ $cur == -* ]]; then
        _flashemu_lab_words "${!kinds[*]}"
    elif ((${#usage[@]} > 0)); then
        # the last operand of a command that takes several may come again
        ((n >= ${#usage[@]})) && [[ ${usage[-1]} == *... ]] && n=${#usage[@]}-1
        ((n < ${#usage[@]})) && _flashemu_lab_kind "${usage[n]}"
    fi
}

complete -F _flashemu_lab flashemu-lab
