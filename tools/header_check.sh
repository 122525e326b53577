#!/usr/bin/env bash
# Compiles every header of the tree alone. usage: header_check.sh ROOT COMPILER...
set -u
cd "$1" || exit 1
shift
failed=0
while IFS= read -r header; do
    if ! "$@" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -I . -x c "$header"; then
        echo "does not compile alone: $header"
        failed=1
    fi
done < <(find common proto net policy envs nn replay algos actor quantizer learner cli include tests \
              -name '*.h' ! -name '*.pb-c.h')
for header in include/octet/*.h; do
    "$@" -std=c99 -pedantic -Wall -Wextra -Werror -fsyntax-only -I . -x c "$header" || failed=1
done
exit $failed
