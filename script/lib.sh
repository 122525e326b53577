# shellcheck shell=bash
# What script/setup, script/train and script/test share. Sourced with root set to the repository.
: "${root:?}"
# shellcheck source=script/packages.sh
. "$root/script/packages.sh"

# One line on standard error, named after the script that speaks.
say() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
}

die() {
    say "$*"
    exit 1
}

# print_help "$@": for -h or --help prints the comment at the script's head, and ends.
print_help() {
    case " $* " in
    *' -h '* | *' --help '*)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    esac
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

# limit_memory: from here on no process of this shell may have more than 4 GiB of writable memory of its own. A test
# that leaks fails by itself then, before it takes the machine's memory from all others. Not for sanitizers, which map
# terabytes for their own use.
limit_memory() {
    ulimit -S -d $((4 << 20))
}

# Which of our packages are installed, and in which version; nothing on another system. dpkg-query fails
# when it does not know one of them, which ends nobody's script.
packages_state() {
    {
        dpkg-query -W -f='${db:Status-Status} ${Package} ${Version}\n' "${packages[@]}" "${test_packages[@]}" \
            2>/dev/null || true
    } | cksum
}

# configure FOLDER [MESON OPTIONS...]: makes a build folder once; again when the tree has moved,
# because build folders hold absolute paths, or when an earlier attempt broke off. A package that
# came or went since is looked for again, without building anew what it does not change. Only a folder that
# was made here is ever removed (.configured says so); one made by hand gets these options, once, and
# keeps its other ones and its compiler.
configure() {
    local folder=$1
    shift
    local mark=$folder/.configured want state setup=(meson setup)
    want="$root $*"
    state=$(packages_state)
    if [ -d "$folder" ] && [ ! -f "$mark" ] && [ -n "$(ls -A "$folder")" ]; then
        mark=$folder/.reconfigured
        setup+=(--reconfigure)
    fi
    if [ -f "$mark" ] && [ -f "$folder/build.ninja" ] && [ "$(cat "$mark")" = "$want" ]; then
        [ "$(cat "$folder/.packages" 2>/dev/null)" != "$state" ] || return 0
        run_logged "$folder.configure.log" meson configure --clearcache "$folder" &&
            run_logged "$folder.configure.log" meson setup --reconfigure "$folder" "$root" || return 1
        printf '%s' "$state" >"$folder/.packages"
        return 0
    fi
    if [ ${#setup[@]} -eq 2 ]; then
        rm -rf "$folder"
        mkdir -p "$folder" && : >"$mark" || return 1
    elif grep -qsF "\"source\": \"$root\"" "$folder/meson-info/meson-info.json"; then
        say "$folder was configured by hand: configuring it again with $*"
    else
        say "$folder is not a build folder of $root: move it away"
        return 1
    fi
    run_logged "$folder.configure.log" "${setup[@]}" "$folder" "$root" "$@" || return 1
    printf '%s' "$state" >"$folder/.packages"
    printf '%s' "$want" >"$mark"
}

# release_build "$@": sets build to the folder of a leading --build FOLDER, without one to the release
# build, which is brought up to date; and rest to the other arguments.
release_build() {
    if [ "${1-}" = --build ]; then
        build=$(cd "${2:?--build needs a folder}" && pwd)
        rest=("${@:3}")
        return
    fi
    build=$root/build/release
    # shellcheck disable=SC2034
    rest=("$@")
    configure "$build" --buildtype=release
    run_logged "$build.log" nice ninja -C "$build" || die "the build failed"
}

# build_fuzz FOLDER [SANITIZERS [MESON OPTIONS...]]: the fuzz targets, and what they need of the project,
# instrumented by clang for libFuzzer and with sanitizers. Nothing else is built there.
build_fuzz() {
    local folder=$1 sanitizers=${2-address,undefined}
    CC=clang CC_LD=lld configure "$folder" -Dfuzz=true -Db_sanitize="$sanitizers" -Db_lundef=false "${@:3}" &&
        run_logged "$folder.log" nice ninja -C "$folder" fuzz
}
