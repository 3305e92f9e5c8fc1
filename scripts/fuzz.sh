#!/usr/bin/env bash
# Runs the fuzz targets of tests/fuzz under libFuzzer, one after another.
#
#   scripts/fuzz.sh [TARGET|all] [SECONDS]
#
#   TARGET   a folder of tests/fuzz/corpus (default: all)
#   SECONDS  for each target (default: 60)
#
# Only the sources of tests/fuzz/instrumented_sources.txt are compiled by clang, with the address and
# undefined-behaviour sanitizers and libFuzzer's counters; they take the place of the same functions in
# the library of build/release. All other code runs as it is: a target whose parser is not in the list is
# fuzzed without sanitizers.
#
# Prints executions and findings of each target. Inputs that failed are left in build/fuzz/findings;
# one that is mended belongs into the corpus. What libFuzzer adds to a corpus stays in
# build/fuzz/corpus. Fails if there is a finding.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/dependencies.sh
target=${1:-all}
seconds=${2:-60}

mapfile -t sources < <(grep -v '^#' tests/fuzz/instrumented_sources.txt)
sources+=(tests/fuzz/*_fuzz.cc tests/fuzz/fuzz_target.cc)
sanitize=address,undefined

install_packages "${BUILD_PACKAGES[@]}"
install_clang
[ -e build/release/build.ninja ] || cmake --preset release
cmake --build build/release --target caffe2 caffe2_image caffe2_image_files
mkdir -p build/fuzz/findings
# compile SOURCE: unless its object is newer than the source and the library.
compile() {
  local object=build/fuzz/${1//\//_}.o
  [ ! "$object" -nt "$1" ] || [ ! "$object" -nt build/release/lib/libcaffe2.so.0 ] || return 0
  echo "clang++ $1"
  clang++ -std=c++20 -O1 -gline-tables-only -fPIC -fno-omit-frame-pointer -w -DCAFFE2_FUZZ \
    -fsanitize="fuzzer-no-link,$sanitize" -fno-sanitize=vptr -I. -Ibuild/release \
    -isystem /usr/include/opencv4 -c "$1" -o "$object"
}
export -f compile
export sanitize
printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -I{} bash -ec 'compile {}'
objects=("${sources[@]//\//_}")
objects=("${objects[@]/%/.o}")
clang++ -fsanitize="fuzzer,$sanitize" -fno-sanitize=vptr -fuse-ld=lld \
  "${objects[@]/#/build/fuzz/}" -o build/fuzz/fuzz -Lbuild/release/lib -lcaffe2 \
  -Wl,--no-as-needed -lcaffe2_image -Wl,-rpath,"$PWD/build/release/lib" -lprotobuf -lglog -lgflags \
  -lz -ljpeg -lopencv_core -lopencv_imgproc -l:libgomp.so.1 -lpthread -ldl

targets=("$target")
[ "$target" != all ] || mapfile -t targets < <(ls tests/fuzz/corpus)
table=("target|executions|seconds|findings")
failed=0
for each in "${targets[@]}"; do
  [ -d "tests/fuzz/corpus/$each" ] || { echo "error: no target $each" >&2 && exit 2; }
  log=build/fuzz/$each.log corpus=build/fuzz/corpus/$each begin=$SECONDS
  mkdir -p "$corpus"
  touch "build/fuzz/$each.begin"
  # In the fork mode a finding does not end the run.
  FUZZ_TARGET=$each ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
    build/fuzz/fuzz -fork=1 -ignore_crashes=1 -ignore_timeouts=1 -ignore_ooms=1 \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=1024 -max_len=16384 \
    -artifact_prefix="build/fuzz/findings/$each-" "$corpus" "tests/fuzz/corpus/$each" \
    >"$log" 2>&1 || true
  executions=$(grep -oE '^#[0-9]+: cov' "$log" | tail -n 1 | tr -dc 0-9 || true)
  found=$(find build/fuzz/findings -name "$each-*" -newer "build/fuzz/$each.begin" | wc -l)
  [ "$found" -eq 0 ] || failed=1
  if [ -z "$executions" ]; then failed=1 && tail -n 20 "$log"; fi
  table+=("$each|${executions:-did not run}|$((SECONDS - begin))|$found")
done
printf '%s\n' "${table[@]}" | column -t -s '|'
exit $failed
