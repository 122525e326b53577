#!/usr/bin/env bash
# Compiles every header of the tree alone. usage: header_check.sh ROOT COMPILER..., in a build folder, which has the
# headers that protoc-c generates
set -u
build=$PWD
cd "$1" || exit 1
shift
failed=0

# The header is included twice from an empty file: once to see that it is complete, again to see
# that it has a guard. Included, because compilers warn of unused functions in a main file.
check() {
    local header=$1
    shift
    if ! printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
        "$@" -Wall -Wextra -Werror -fsyntax-only -I . -isystem "$build" -x c -; then
        echo "does not compile alone: $header"
        failed=1
    fi
}

mapfile -t folders < <(python3 tools/tidy.py --folders .)
[ ${#folders[@]} -gt 0 ] || exit 1
count=0
while IFS= read -r header; do
    check "$header" "$@" -std=c11 -D_GNU_SOURCE
    count=$((count + 1))
done < <(find "${folders[@]}" -name '*.h' ! -name '*.pb-c.h' | sort)
# The public ones are promised to C99.
for header in include/octet/*.h; do
    check "$header" "$@" -std=c99 -pedantic
done
echo "$count headers"
[ $failed -eq 0 ] && [ $count -gt 0 ]
