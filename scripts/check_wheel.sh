#!/usr/bin/env bash
# Makes the source distribution and, from it and outside of this tree, the wheel (scripts/make_wheel.sh);
# installs it into a new environment of each Python and tries it there (scripts/try_package.sh):
#   scripts/check_wheel.sh [PYTHON...]
# Fails if the wheel holds a library twice, or one that its bill of materials does not name. CMAKE_ARGS
# goes to CMake. It compiles everything, which takes minutes: CI does without.
# scripts/check_package.sh tries the wheel on a machine with nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
scripts/make_wheel.sh --out "$work" "$@"
wheel=$(echo "$work"/doppio-*.whl)
"$1" - "$wheel" <<'EOF'
import collections
import os
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    files = wheel.infolist()
libraries = [item for item in files if ".so" in item.filename]
copies = collections.Counter((item.CRC, item.file_size) for item in libraries)
if max(copies.values()) > 1:
    sys.exit(f"a library is there twice: {[item.filename for item in libraries]}")
print(f"{os.path.basename(sys.argv[1])}: {os.path.getsize(sys.argv[1]) / 1e6:.1f} MB packed,",
      f"{sum(item.file_size for item in files) / 1e6:.1f} MB unpacked, {len(libraries)} libraries")
EOF
"$1" scripts/check_sbom.py "$wheel"
for python in "$@"; do
  rm -rf "$work/fresh"
  "$python" -m venv "$work/fresh"
  "$work/fresh/bin/pip" install --quiet --disable-pip-version-check "$wheel"
  "$work/fresh/bin/python" --version
  PATH=$work/fresh/bin:$PATH scripts/try_package.sh --python "$work/fresh/bin/python"
done
mkdir -p build/wheel
mv "$wheel" "$work"/doppio-*.tar.gz build/wheel
