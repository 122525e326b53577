# shellcheck shell=bash
# What script/setup, script/train and script/test share. Sourced with root set to the repository.
: "${root:?}"

# One line on standard error, named after the script that speaks.
say() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
}

die() {
    say "$*"
    exit 1
}

# run_logged LOG COMMAND...: quiet unless it fails; then the end of what it printed.
run_logged() {
    local log=$1
    shift
    mkdir -p "$(dirname "$log")" || return 1
    if ! "$@" >"$log" 2>&1 </dev/null; then
        say "failed: $*"
        tail -n 40 "$log" >&2
        say "the whole log: $log"
        return 1
    fi
}

# configure FOLDER [MESON OPTIONS...]: makes a build folder once; again when the tree has moved,
# because build folders hold absolute paths, or when an earlier attempt broke off.
configure() {
    local folder=$1
    shift
    local mark=$folder/.configured want
    want="$root $*"
    if [ -f "$mark" ] && [ -f "$folder/build.ninja" ] && [ "$(cat "$mark")" = "$want" ]; then
        return 0
    fi
    rm -rf "$folder"
    run_logged "$folder.configure.log" meson setup "$folder" "$root" "$@" || return 1
    printf '%s' "$want" >"$mark"
}
