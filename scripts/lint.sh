#!/usr/bin/env bash
# Checks formatting and style without changing anything: clang-format on C++, ruff on Python where
# it is installed.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0
git ls-files '*.cc' '*.h' '*.cu' | xargs -r clang-format --dry-run -Werror || status=1
if command -v ruff >/dev/null; then
  ruff check . || status=1
fi
[ $status -eq 0 ] && echo "lint: clean"
exit $status
