# The one place that names packages of the distribution; sourced, not run. The names are the same
# on Debian 12 and Ubuntu 22.04 and 24.04.

# To compile and link.
BUILD_PACKAGES=(
  g++ cmake ninja-build ccache lld pkg-config
  libprotobuf-dev protobuf-compiler libgflags-dev libgoogle-glog-dev
  liblmdb-dev libleveldb-dev zlib1g-dev
  libhiredis-dev libgloo-dev
  libdnnl-dev libopencv-dev
)
# To build and run the tests and benchmarks.
TEST_PACKAGES=(
  libgtest-dev libbenchmark-dev redis-server clang-format python3 python3-venv
)
# To run the quick start.
RUN_PACKAGES=(redis-server redis-tools wget ca-certificates)

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
