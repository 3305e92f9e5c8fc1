#!/usr/bin/env bash
# Makes a wheel for machines without our packages, with the Python package, the programs and all
# libraries that they need:
#   scripts/make_wheel.sh [--out DIR] [PYTHON...]
# One wheel serves all the Pythons given (default: python3), whose headers must be there. It is made
# from a source distribution, as pip does it, and auditwheel adds the libraries. It runs where glibc
# and libstdc++ are as new as here; its name says which glibc that is. Not in it: CUDA's libraries,
# and libcaffe2_image_files with OpenCV's codecs behind it (over 130 libraries): of image files it
# decodes JPEG, and says so of others. DIR (default: build/wheel) gets the wheel and the source
# distribution. CMAKE_ARGS goes to CMake. It compiles everything.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/dependencies.sh
. scripts/needed_libraries.sh

out=build/wheel
[ "${1:-}" != --out ] || { out=${2:?"--out needs a folder"} && shift 2; }
[[ ${1:-} != -* ]] || { echo "error: unknown option $1" >&2 && exit 2; }
[ $# -gt 0 ] || set -- python3
pythons=("$@")
install_packages "${BUILD_PACKAGES[@]}" "${WHEEL_PACKAGES[@]}"
mkdir -p "$out"
out=$(realpath "$out")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# quietly LOG COMMAND...: shows the end of what the command says only if it fails.
quietly() {
  local log=$work/$1.log
  shift
  "$@" >"$log" 2>&1 || { tail -n 40 "$log" >&2 && return 1; }
}

"${pythons[0]}" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet --disable-pip-version-check "${WHEEL_PYTHON_PACKAGES[@]}"
PATH=$work/tools/bin:$PATH
others=()
for each in "${pythons[@]:1}"; do others+=("$(command -v "$each")"); done
also=$(IFS=';' && echo "${others[*]}")
tags=$(for each in "${pythons[@]}"; do
  "$each" -c 'import sys; print("cp%d%d" % sys.version_info[:2])'
done | sort -uV | paste -sd .)

quietly sdist python -m build --no-isolation --sdist --outdir "$work" .
tar -C "$work" -xzf "$work"/doppio-*.tar.gz
export CMAKE_ARGS="${CMAKE_ARGS:-} -DPYTHON_ALSO=$also"
# Built below the sources, so that ccache finds the library the next time. It does not find the
# extension modules, because the path of pybind11 differs in each build.
sources=$(echo "$work"/doppio-*/)
quietly wheel python -m build --no-isolation --config-setting build-dir=build/release --wheel \
  --outdir "$work/made" "$sources"

unpacked() { echo "$work"/tree/doppio-*/; }
wheel unpack --dest "$work/tree" "$work"/made/*.whl >/dev/null
rm "$(unpacked)"/caffe2/lib/libcaffe2_image_files.so*
mkdir "$work/plain" "$work/repaired" "$work/packed"
wheel pack --dest-dir "$work/plain" "$(unpacked)" >/dev/null
rm -r "$work/tree"
quietly repair auditwheel repair --exclude 'libcuda*' --exclude 'libcu*.so*' --exclude 'libnv*' \
  --exclude 'libnccl*' --wheel-dir "$work/repaired" "$work"/plain/*.whl

# Whose the added libraries are goes where Python's packaging rules want it.
wheel unpack --dest "$work/tree" "$work"/repaired/*.whl >/dev/null
# auditwheel leaves out libraries of every desktop, such as libX11, which servers may lack.
libraries=$(echo "$(unpacked)"/doppio.libs)
copy_needed_libraries "$(unpacked)" "$libraries" >/dev/null
info=$(echo "$(unpacked)"/*.dist-info)
rm -rf "$info/sboms"  # auditwheel's own, without licences
mkdir "$info/sboms"
version=$(sed -n 's/^Version: //p' "$info/METADATA")
headers=$(headers_compiled_in "$sources/build/release")
mapfile -t compiled_in <<<"$headers"
python scripts/make_sbom.py "$info/sboms" "$version" "${compiled_in[@]}" "$libraries"/*
mkdir -p "$info/licenses"
cp -r "$info/sboms/licenses" "$info/licenses/libraries" && rm -r "$info/sboms/licenses"
wheel pack --dest-dir "$work/packed" "$(unpacked)" >/dev/null
wheel tags --remove --python-tag "$tags" --abi-tag none "$work"/packed/*.whl >/dev/null
mv "$work"/packed/*.whl "$work"/doppio-*.tar.gz "$out"
