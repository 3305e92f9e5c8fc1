#!/usr/bin/env bash
# Checks formatting and style without changing anything: clang-format on C++, ruff on Python, and
# with --tidy also clang-tidy on the C++ files that the last commit changed (needs a build).
# Installs missing packages first, ruff into build/venv. Fails if something could not be checked.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. scripts/dependencies.sh
status=0
install_packages "${LINT_PACKAGES[@]}" || exit 1
make_python_environment build/venv || status=1
git ls-files '*.cc' '*.h' '*.cu' | xargs -r clang-format --dry-run -Werror || status=1
ruff=build/venv/bin/ruff
if [ -x $ruff ]; then
  $ruff check --quiet . || status=1
else
  echo "lint: Python NOT checked (no $ruff)" >&2
  status=1
fi
if [ "${1:-}" = --tidy ]; then
  # The commands for each file by itself, with the headers that the build has made. clang cannot read
  # GCC's precompiled header, nor some of its options.
  cmake -S . -B build/tidy -G Ninja -DCMAKE_BUILD_TYPE=Release -DCAFFE2_UNITY=OFF >/dev/null || status=1
  sed -i -E 's/ -include [^ ]*cmake_pch.hxx//; s/ -(fpch-preprocess|Winvalid-pch|Wno-stringop-overflow|Wno-subobject-linkage)//g
    s#(-I[^ ]*)/build/tidy#\1/build/release#' build/tidy/compile_commands.json
  # Few and changed files only: clang-tidy takes many seconds for each.
  git diff --name-only --diff-filter=AM HEAD~1 -- 'caffe2/*.cc' 'db/*.cc' 'operators/*.cc' \
    'distributed/*.cc' 'train/*.cc' 2>/dev/null | head -n 10 |
    xargs -r clang-tidy --quiet -p build/tidy --warnings-as-errors='*' 2>/dev/null ||
    status=1
fi
[ $status -eq 0 ] && echo "lint: clean"
exit $status
