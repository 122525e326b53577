# shellcheck shell=bash
# Another machine's Debian, unpacked and not installed, for cross compilers and qemu-user. Sourced by script/setup after
# script/lib.sh.
: "${packages:?}"

# What is unpacked: what Octet links, and a Python.
sysroot_packages() {
    local package
    printf "%s\n" libc6-dev python3
    for package in "${packages[@]}"; do
        case $package in
        libopenmpi-dev) ;; # wheels have no MPI
        lib*-dev) echo "$package" ;;
        esac
    done
}

# sysroot_apt FOLDER ARCHITECTURE COMMAND...: apt-get as that architecture's, with lists, cache and state of its own: this
# machine's dpkg does not learn of it. Needs no root.
sysroot_apt() {
    local here=$1 architecture=$2
    shift 2
    apt-get -q -y -o "APT::Architecture=$architecture" -o "APT::Architectures::=$architecture" -o APT::Sandbox::User= \
        -o "Dir::Etc::sourcelist=$here/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$here/lists" \
        -o "Dir::State::status=$here/status" -o "Dir::Cache=$here/cache" -o Acquire::Languages=none -o Acquire::Retries=3 "$@"
}

# sysroot_fetch FOLDER ARCHITECTURE PACKAGE...: those packages and all that they need, from the mirrors of this machine's Debian,
# into FOLDER/cache/archives. A FOLDER/sources.list that is there already names other ones.
sysroot_fetch() {
    local here=$1 architecture=$2
    shift 2
    mkdir -p "$here/lists/partial" "$here/cache/archives/partial" && : >"$here/status" || return 1
    # shellcheck disable=SC2016
    [ -s "$here/sources.list" ] || apt-get indextargets --format 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' 'Origin: Debian' | sort -u >"$here/sources.list" || return 1
    [ -s "$here/sources.list" ] || { echo "apt has no mirror of Debian"; return 1; }
    sysroot_apt "$here" "$architecture" update &&
        sysroot_apt "$here" "$architecture" --no-install-recommends --download-only install "$@"
}

# sysroot_unpack ROOT ARCHIVE...: without their scripts. dpkg-query --admindir=ROOT/var/lib/dpkg knows what is from which.
sysroot_unpack() {
    local to=$1 archive link
    shift
    mkdir -p "$to"/usr/{bin,sbin,lib} "$to/var/lib/dpkg/info" && ln -s usr/bin usr/sbin usr/lib "$to" || return 1
    for archive in "$@"; do
        dpkg-deb --fsys-tarfile "$archive" | tar -x --keep-directory-symlink --no-same-owner -C "$to" \
            --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' --exclude='./usr/share/fonts/*' || return 1
        dpkg-deb --fsys-tarfile "$archive" | tar -t | sed 's|^\.||; s|/$||; s|^$|/.|' >"$to/var/lib/dpkg/info/$(dpkg-deb -f "$archive" Package).list"
        { dpkg-deb -f "$archive" Package Version Architecture Maintainer Description && printf 'Status: install ok installed\n\n'; } \
            >>"$to/var/lib/dpkg/status" || return 1
    done
    # Links from the root on would leave it.
    find "$to" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
        ln -sfnr "$to$(readlink "$link")" "$link"
    done
}

# What the packages' scripts would have linked (update-alternatives): OpenBLAS.
sysroot_link() {
    local name
    for name in libopenblas.so libopenblas.so.0 libopenblas.a; do
        ln -sfn "openblas-pthread/$name" "$1/$name" || return 1
    done
}

# sysroot_make FOLDER MACHINE ARCHITECTURE: FOLDER/MACHINE and FOLDER/MACHINE.ini, for meson setup --cross-file. As meson
# names the machine, and as Debian does. Made again when other packages are wanted.
sysroot_make() {
    local folder=$1 machine=$2 architecture=$3 part=$1/$2.part names libraries=$1/$2/usr/lib/$2-linux-gnu
    mapfile -t names < <(sysroot_packages)
    if [ "$(cat "$folder/$machine.done" 2>/dev/null)" != "${names[*]}" ]; then
        rm -rf "$part" "${folder:?}/$machine" "$folder/$machine.done"
        sysroot_fetch "$part" "$architecture" "${names[@]}" &&
            sysroot_unpack "$part/root" "$part"/cache/archives/*.deb &&
            sysroot_link "$part/root/usr/lib/$machine-linux-gnu" &&
            mv "$part/root" "$folder/$machine" && rm -rf "$part" && echo "${names[*]}" >"$folder/$machine.done" || return 1
    fi
    cat >"$folder/$machine.ini" <<END
[binaries]
c = [$(command -v ccache >/dev/null && printf "'ccache', ")'$machine-linux-gnu-gcc', '--sysroot=$folder/$machine']
ar = '$machine-linux-gnu-ar'
strip = '$machine-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-$machine', '-L', '$folder/$machine']

[properties]
sys_root = '$folder/$machine'
pkg_config_libdir = ['$libraries/pkgconfig', '$libraries/openblas-pthread/pkgconfig', '$folder/$machine/usr/share/pkgconfig']

[host_machine]
system = 'linux'
cpu_family = '$machine'
cpu = '$machine'
endian = 'little'
END
}
