#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Every public header compiles alone, with nothing but include/ in the search path: so it
# includes all that it needs, and nothing of src/.
#
#     public_headers.sh INCLUDE_FOLDER COMPILER...
set -eu
folder=$1
shift
failed=0
for header in "$folder"/flashemu/*.h; do
    echo "#include \"flashemu/${header##*/}\"" |
        "$@" -std=gnu17 -Wall -Wextra -Werror -I"$folder" -fsyntax-only -x c - || failed=1
done
exit $failed
