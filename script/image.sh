# shellcheck shell=bash
# What script/test-compose and script/test-kubernetes share: the base of the images, without a registry, and the image itself as a
# file, so that it is built once. Sourced after script/lib.sh.
: "${root:?}"
image_base_tar=$root/build/compose-base.tar
image_tar=$root/build/image.tar

# Where apt gets this Debian from: the base image is made from there, not from a registry.
image_mirror() {
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
        'Codename: bookworm' 'Component: main' 2>/dev/null | head -n 1
}

# image_base: image_base_tar from the distribution's mirror; kept as a file for the next time.
image_base() {
    [ ! -s "$image_base_tar" ] || return 0
    local from=()
    # Without an answer mmdebstrap takes the mirror that it knows itself.
    [ -z "$(image_mirror)" ] || from=("deb $(image_mirror) bookworm main")
    unshare --mount mmdebstrap -q --format=tar --variant=minbase --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
        --dpkgopt='path-exclude=/usr/share/locale/*' bookworm "$image_base_tar.part" \
        "${from[@]}" || return 1
    mv "$image_base_tar.part" "$image_base_tar"
}

# What an image of this tree is built from: git's name of it. Nothing where it is not known, or where files were changed since.
image_source() {
    [ -z "$(git -C "$root" status --porcelain 2>&1)" ] && git -C "$root" rev-parse 'HEAD^{tree}' 2>/dev/null
}

# image_keep COMMAND...: the command writes the image to image_tar.part; it is kept if its source is known.
image_keep() {
    local source
    source=$(image_source) || return 0
    [ -n "$source" ] || return 0
    rm -f "$image_tar" "$image_tar.source"
    "$@" && mv "$image_tar.part" "$image_tar" && echo "$source" >"$image_tar.source"
}

# image_is_kept: image_tar is of this tree.
image_is_kept() {
    local source
    source=$(image_source) && [ -n "$source" ] && [ -s "$image_tar" ] && [ "$(cat "$image_tar.source" 2>/dev/null)" = "$source" ]
}
