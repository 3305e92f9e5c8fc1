#!/usr/bin/env bash
# Builds the C++ tests with sanitizers and runs them whole, once per release.
#
#   scripts/check_sanitizers.sh [asan|tsan|all] [SUITE...]
#
#   asan    addresses, leaks aside, and undefined behaviour; tsan: data races (default: all, both)
#   SUITE   of core, utils, db, distributed, fuzz, train, operators, graph, model (default: the first seven)
#
# Prints a table: tests, failures, reports of the sanitizer, seconds. Logs and reports are in
# build/PRESET/sanitizers. Fails if a suite failed, reported something or did not run.
# CAFFE2_TEST_DATA as in scripts/test.sh. A build takes about as long as one of all tests.
set -euo pipefail
cd "$(dirname "$0")/.."
trap 'exit 130' INT
presets=("${1:-all}")
case ${presets[0]} in
  all) presets=(asan tsan) ;;
  asan | tsan) ;;
  -h | --help) sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//' && exit 0 ;;
  *) echo "error: asan, tsan or all, not ${presets[0]} (see --help)" >&2 && exit 2 ;;
esac
shift || true
suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(core utils db distributed fuzz train operators)

# Leaks: registries live until the end of the process. GNU's OpenMP library is not instrumented, so its
# barriers are unknown to the thread sanitizer: one thread for each operator, and not the test that sets
# their number. It maps more memory than one test allows the process, and delivers signals later than
# another one sends them. Tests ask for more memory than there is, which must be an exception.
not_under_tsan=SpatialBN.ResultsDoNotDependOnTheThreads:LmdbTest.WritesWithLittleAddressSpace
not_under_tsan+=:StopSignalTest.TheSameSignalAgainEndsTheProcessUnlessItFollowsAtOnce
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS="suppressions=$PWD/scripts/tsan.supp:second_deadlock_stack=1:ignore_noninstrumented_modules=1:die_after_fork=0:allocator_may_return_null=1"

# counted PATTERN FILE...: how many lines match.
counted() { cat "${@:2}" 2>/dev/null | grep -cE "$1" || true; }

table=("preset|suite|tests|failed|skipped|reports|seconds")
failed=0
for preset in "${presets[@]}"; do
  scripts/build.sh "$preset" "${suites[@]/%/_test}"
  logs=build/$preset/sanitizers
  rm -rf "$logs" && mkdir -p "$logs"
  threads=()
  [ "$preset" = asan ] || threads=(OMP_NUM_THREADS=1 "GTEST_FILTER=-$not_under_tsan")
  for suite in "${suites[@]}"; do
    begin=$SECONDS status=0 report=$PWD/$logs/$suite.xml
    env "${threads[@]}" GTEST_OUTPUT="xml:$report" "build/$preset/bin/${suite}_test" >"$logs/$suite.log" 2>&1 || status=$?
    tests=$(sed -nE 's/^<testsuites tests="([0-9]+)".*/\1/p' "$report" 2>/dev/null || true)
    failures=$(sed -nE 's/^<testsuites .* failures="([0-9]+)".*/\1/p' "$report" 2>/dev/null || true)
    reports=$(counted '(ERROR: AddressSanitizer|WARNING: ThreadSanitizer|: runtime error: )' "$logs/$suite.log")
    skipped=$(counted 'result="skipped"' "$report")
    [ "$status" -eq 0 ] && [ "$reports" -eq 0 ] && [ -n "$tests" ] || failed=1
    table+=("$preset|$suite|${tests:-did not end (status $status)}|${failures:-}|$skipped|$reports|$((SECONDS - begin))")
  done
done
printf '%s\n' "${table[@]}" | column -t -s '|'
exit $failed
