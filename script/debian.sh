# shellcheck shell=bash
# Another release of Debian in a folder, for scripts that build or test in it. Sourced after script/lib.sh.
: "${root:?}"

# Why this machine cannot make a Debian; nothing where it can. It installs mmdebstrap where that is missing; the log of that is LOG.
# usage: debian_why_not LOG
debian_why_not() {
    if [ "$(id -u)" -ne 0 ]; then
        echo "it needs root, to make a Debian"
    elif ! command -v apt-get >/dev/null; then
        echo "apt-get is missing, so no mirror is known"
    elif ! unshare --mount --pid --fork true 2>/dev/null; then
        echo "this machine does not provide namespaces"
    elif ! command -v mmdebstrap >/dev/null; then
        say "installing mmdebstrap"
        run_logged "$1" env DEBIAN_FRONTEND=noninteractive apt-get -y -qq -o DPkg::Lock::Timeout=300 \
            install --no-install-recommends mmdebstrap >&2 || echo "mmdebstrap could not be installed"
    fi
}

# Where apt gets Debian from.
debian_mirror() {
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
        'Component: main' 2>/dev/null | head -n 1
}

# debian_make FOLDER RELEASE PACKAGE...: FOLDER/root gets a minimal Debian with these packages, once for the same ones.
debian_make() {
    local here=$1 release=$2 include
    local want="${*:2}"
    [ "$(cat "$here/made" 2>/dev/null)" != "$want" ] || return 0
    rm -rf --one-file-system "$here"
    mkdir -p "$here/part"
    shift 2
    include=$(IFS=, && echo "$*")
    unshare --mount mmdebstrap -q --variant=apt --mode=root --format=directory ${include:+--include="$include"} \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        "$release" "$here/part/root" "deb $(debian_mirror) $release main" || return 1
    # The installer of Debian writes it; mmdebstrap does not.
    printf '127.0.0.1 localhost\n::1 localhost\n' >"$here/part/root/etc/hosts"
    mv "$here/part/root" "$here/root" && printf '%s' "$want" >"$here/made"
}

# debian_run FOLDER SOURCE TARGET COMMAND: by sh in the Debian of FOLDER, which has SOURCE at TARGET, a path from the root, and is in it.
# In namespaces of its own: nothing stays mounted or running.
debian_run() {
    mkdir -p "$1/root$3"
    # shellcheck disable=SC2016
    nice unshare --mount --pid --fork --kill-child --propagation private sh -c '
        mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount -t tmpfs tmpfs "$1/tmp" &&
        mount --bind "$2" "$1$3" && exec chroot "$1" sh -c "cd $3 && $4"' \
        sh "$1/root" "$2" "$3" "$4"
}
