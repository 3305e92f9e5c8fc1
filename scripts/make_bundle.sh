#!/usr/bin/env bash
# Makes an archive that runs on machines without our packages:
#   scripts/make_bundle.sh [--tests] [preset] [ARCHIVE.tar.xz]
# In it, under doppio/: bin (programs), lib (our libraries and all they need except the C and
# C++ runtime and CUDA), python (the package), scripts, LICENSE, and share/doc: of which
# packages the other libraries are (doppio.cdx.json, CycloneDX) and their licences. It runs where glibc and libstdc++
# are as new as here, unpacked anywhere. Not in it: libcaffe2_image_files and the codecs of OpenCV
# that it needs (over 130 libraries): of image files it decodes JPEG, and says so of others.
# --tests adds the test programs and benchmarks that scripts/gpu_check.sh runs. NVJPEG, the path of
# libnvjpeg.so.13 or .12, goes into lib, too; without it one that the system's linker knows, if any.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/dependencies.sh
. scripts/needed_libraries.sh

with_tests=
[ "${1:-}" = --tests ] && with_tests=1 && shift
build=build/${1:-release}
archive=$(realpath -m "${2:-build/doppio.tar.xz}")
[ -e "$build/bin/resnet50_trainer" ] || { echo "error: build first: scripts/build.sh" >&2 && exit 1; }
install_packages "${BUNDLE_PACKAGES[@]}"
mkdir -p "$(dirname "$archive")"
stage=$(mktemp -d)
trap 'rm -rf "$stage" "$archive.part"' EXIT
root=$stage/doppio

cmake --install "$build" --prefix "$root" --strip >"$stage/install.log"
rm -rf "$root/include" "$root/share" "$root"/lib/cmake "$root"/lib/libcaffe2_image_files*
[ -d "$root/lib" ] || { echo "error: libraries were not installed into lib" >&2 && exit 1; }
if [ -d "$build/python" ]; then
  cmake --install "$build" --prefix "$root/python" --component python --strip >>"$stage/install.log"
  rm -rf "$root/python/caffe2/lib"
  ln -s ../../lib "$root/python/caffe2/lib"
  (cd python && find caffe2 -name '*.py*' ! -path '*__pycache__*' -exec cp --parents {} "$root/python" \;)
fi
mkdir -p "$root/scripts"
cp scripts/gpu_check.sh scripts/gpu_tests.sh scripts/gpu_speed.sh scripts/mnist.sh "$root/scripts"
if [ -n "$with_tests" ]; then
  cmake --install "$build" --prefix "$root" --component tests --strip >>"$stage/install.log"
  cp benchmarks/torch_gpu.py "$root/scripts"
fi

nvjpeg=${NVJPEG:-$(ldconfig -p 2>/dev/null | awk '/libnvjpeg\.so\.1[23] / { print $NF }' | sort | tail -1 || true)}
if [ -n "$nvjpeg" ]; then
  major=${nvjpeg##*.so.}  # the loader looks for libnvjpeg.so.MAJOR; packages have longer names
  [ "$major" != "$nvjpeg" ] || { echo "error: NVJPEG must end in .so.13 or .so.12" >&2 && exit 1; }
  cp -L "$nvjpeg" "$root/lib/libnvjpeg.so.${major%%.*}"
fi
copy_needed_libraries "$root" "$root/lib" >"$stage/libraries.txt"
mkdir -p "$root/share/doc"
cp LICENSE "$root"
version=$(sed -n 's/^project(doppio VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
mapfile -t libraries < <(sed "s|^|$root/lib/|" "$stage/libraries.txt")
headers=$(headers_compiled_in "$build")
mapfile -t compiled_in <<<"$headers"
python3 scripts/make_sbom.py "$root/share/doc" "$version" "${compiled_in[@]}" "${libraries[@]}"

tar -C "$stage" -cf - doppio | xz -T0 -6 >"$archive.part"  # the archive appears whole or not at all
mv "$archive.part" "$archive"
echo "$archive: $(du -m "$archive" | cut -f1) MiB packed, $(du -sm "$root" | cut -f1) MiB unpacked," \
  "$(find "$root/lib" -type f | wc -l) libraries"
