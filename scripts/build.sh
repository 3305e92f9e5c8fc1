#!/usr/bin/env bash
# Builds into build/<preset>: scripts/build.sh [release|dev|asan|tsan] [target...]
# Installs missing packages first; quick when nothing changed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/dependencies.sh

preset=${1:-release}
shift || true
install_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset "$preset" -DBUILD_TESTS=ON -DBUILD_BENCHMARKS=ON >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
cmake --build "build/$preset" ${1:+--target "$@"}
