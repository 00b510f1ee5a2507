# SPDX-License-Identifier: BSD-3-Clause
#
# Completion of flashemu-lab for bash, by argcomplete, to which the program says what may stand where.

# As a program, `bash FILE flashemu-lab WORD...` prints what the last word can be, one a line, for the
# completion of other shells.  argcomplete answers on descriptor 8, and escapes nothing for fish.
if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
    line=$(printf '%q ' "${@:1:$#-1}")${*: -1}
    _ARGCOMPLETE=1 _ARGCOMPLETE_SHELL=fish _ARGCOMPLETE_IFS=$'\n' _ARGCOMPLETE_SUPPRESS_SPACE=1 \
        _ARGCOMPLETE_COMP_WORDBREAKS='' COMP_TYPE=9 COMP_LINE=$line COMP_POINT=${#line} \
        "$1" 8>&1 9>/dev/null 1>/dev/null 2>/dev/null
    echo
    exit 0
fi

if command -v register-python-argcomplete >/dev/null; then
    eval "$(register-python-argcomplete --no-defaults flashemu-lab)"
fi
