# shellcheck shell=bash
# Sourced by gpu_check.sh: runs the tests on the GPU, in several processes at once. A process ends
# with its first test that fails, as a kernel that fails takes the device from all that its process
# does afterwards, and a new one goes on after it: so each failure is one of the test itself. A test
# that is skipped for want of a GPU fails. Adds a row for each program; $out/tests.txt has what became
# of each test.

tests_deadline=$((SECONDS + ${TESTS_SECONDS:-150}))

# list_tests PROGRAM FILTER: a full name a line.
list_tests() {
  limited 30 "$bin/$1" --gtest_list_tests --gtest_filter="$2" 2>/dev/null |
    awk '/^[^ ]+\.( |$)/ { suite = $1; next } /^  / && suite != "" { print suite $1 }'
}

# decide STATUS SECONDS <LOG: what became of each test that a process ran, "passed|skipped|failed|
# crashed|unfinished NAME TEXT", until the first failure; "crashed exit-of-the-process" if it ended
# badly after them. A test that had less than 20 of the process's SECONDS when time ran out is not
# decided.
decide() {
  awk -v status="$1" -v seconds="$2" '
    /\[ RUN      \] / { running = $NF; text = ""; next }
    running == "" { next }
    /\[(       OK|  SKIPPED|  FAILED ) \] / { if (match($0, /\([0-9]+ ms\)/)) spent += substr($0, RSTART + 1) }
    /\[       OK \] / { print "passed", running; running = "" }
    /\[  SKIPPED \] / { print "skipped", running text; running = "" }
    /\[  FAILED  \] / { print "failed", running text; running = ""; failed = 1; exit }
    length(text) < 300 { text = text " " $0 }
    END {
      if (running == "") {
        if (status != 0 && status != 124 && status != 137 && !failed) print "crashed exit-of-the-process (exit " status ")"
        exit
      }
      if (status != 124 && status != 137) print "crashed", running text " (exit " status ")"
      else if (seconds - spent / 1000 >= 20) print "unfinished", running text
    }'
}

# work_through PROGRAM LIST: the tests that the file LIST names; LIST.done is what became of them.
work_through() {
  local program=$1 list=$2 seconds status known=-1
  : >"$list.done"
  cp "$list" "$list.pending"
  while [ -s "$list.pending" ] && [ "$(wc -l <"$list.done")" -gt "$known" ]; do
    seconds=$((tests_deadline - SECONDS)) status=0
    [ $seconds -gt 0 ] || break
    [ $seconds -lt 60 ] || seconds=60
    known=$(wc -l <"$list.done")
    CAFFE2_TEST_DEVICE=cuda OMP_NUM_THREADS=2 limited $seconds "$bin/$program" \
      --gtest_fail_fast --gtest_filter="$(paste -sd: "$list.pending")" >"$list.now" 2>&1 || status=$?
    cat "$list.now" >>"$list.log"
    decide $status $seconds <"$list.now" >>"$list.done"
    awk '{ print $2 }' "$list.done" | grep -vxFf - "$list" >"$list.pending"
  done
}

# start_tests PROGRAM PROCESSES FILTER: in the background.
start_tests() {
  local program=$1 processes=$2 list
  [ -x "$bin/$program" ] || return
  mkdir -p "$work/tests"
  list_tests "$program" "$3" | awk -v base="$work/tests/$program." -v n="$processes" \
    '{ print > (base (NR % n)) }'
  for list in "$work/tests/$program".[0-9]; do
    [ -e "$list" ] || continue  # none is listed
    work_through "$program" "$list" &
    test_jobs+=($!)
  done
}

# report_tests LABEL PROGRAM: the row, once all are done.
report_tests() {
  local label=$1 program=$2 counts
  [ -x "$bin/$program" ] || { fail "$label" "no $program is there" && return; }
  cat "$work/tests/$program".*.log >"$out/$program.log" 2>/dev/null
  cat "$work/tests/$program".*.done | sort >"$work/tests/done"
  cat "$work/tests/done" >>"$out/tests.txt"
  cat "$work/tests/$program".*.pending | sed 's/^/not run /' >>"$out/tests.txt"
  grep -E '^(failed|crashed|unfinished) ' "$work/tests/done" | cut -c 1-250 | head -15
  counts=$(awk -v pending="$(cat "$work/tests/$program".*.pending | wc -l)" '
    { n[$1]++ }
    END {
      printf "%d passed, %d failed, %d skipped", n["passed"], n["failed"], n["skipped"]
      if (n["crashed"]) printf ", %d crashed", n["crashed"]
      if (n["unfinished"]) printf ", %d unfinished", n["unfinished"]
      if (pending) printf ", %d not run", pending
    }' "$work/tests/done")
  row "$label" "$counts"
  [[ $counts != "0 passed"* && $counts == *" 0 failed"* && $counts != *skipped,* ]] || failed=1
}

test_jobs=()
[ -e "$root/lib/libcaffe2_image_files.so.0" ] || export CAFFE2_TEST_WITHOUT_IMAGE_FILES=1
start_tests cuda_test 4 '*'
start_tests distributed_test 1 '*Device*'
start_tests train_test 3 '*DeviceTrainer*'
start_tests operators_test 8 '*'
tests_start=$SECONDS
[ ${#test_jobs[@]} -eq 0 ] || wait "${test_jobs[@]}"
report_tests "operator tests on the GPU" operators_test
report_tests "collectives of GPU tensors" distributed_test
report_tests "training on the GPU" train_test
report_tests "cuDNN plans" cuda_test
row "  these tests took" "$((SECONDS - tests_start)) s"
