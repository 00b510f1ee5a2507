# SPDX-License-Identifier: BSD-3-Clause
#
# Completion of flashemu-lab for bash, by argcomplete, to which the program says what may stand where.

if command -v register-python-argcomplete >/dev/null; then
    eval "$(register-python-argcomplete --no-defaults flashemu-lab)"
fi
