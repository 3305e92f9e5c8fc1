#!/usr/bin/env bash
# What needs a GPU, in one go and under 8 minutes on 16 cores:
#   scripts/gpu_check.sh [BUNDLE.tar.xz]
# Starts the programs and the Python package, runs the tests on the GPU (gpu_tests.sh), trains LeNet
# to 98 %, compares losses with the host's, times training and inference beside PyTorch where that is
# installed (gpu_speed.sh), and prints the table of operators beside what memory and arithmetic
# allow. Programs come from the bundle (scripts/make_bundle.sh --tests), from the folder above this
# script if that is an unpacked one, or from build/release, which is built if need be.
#
# No step depends on another one, each has a limit of its own, and what does not fit into BUDGET
# seconds (450) is left out and says so. Rows are printed as they come and once more, last; they and
# the logs go to OUT (default: a new folder under /tmp). PARTS names what to do, by default "tests
# losses speed"; "flags", with "losses", also compares losses with further flags; "sanitizer" runs
# tests of kernels under CUDA's compute-sanitizer. PHOTOS, the full path of a database or folder of
# JPEG files, adds rows of ResNet-50's training on them, decoded by the host and by the GPU. Exits
# with 1 if anything failed.
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
out=${OUT:-$(mktemp -d /tmp/gpu_check.XXXXXX)}
mkdir -p "$out"
out=$(cd "$out" && pwd)
budget=${BUDGET:-450}
work=$(mktemp -d)
failed=0
rows=()
python_works=

row() {
  rows+=("$(printf '%-34s %s' "$1" "$2")")
  echo "${rows[-1]}" | tee -a "$out/summary.txt"
}
fail() { failed=1 && row "$@"; }

# The table, however the script ends.
finish() {
  local status=$?
  trap - EXIT INT TERM HUP
  [ $status -eq 0 ] || failed=1
  pkill -P "$(jobs -p | paste -sd,)" 2>/dev/null  # what they wait for
  # shellcheck disable=SC2046 # one number each
  kill $(jobs -p) 2>/dev/null
  printf '\n'
  [ ${#rows[@]} -eq 0 ] || printf '%s\n' "${rows[@]}"
  if [ $failed -eq 0 ]; then result=passed; else result=FAILED; fi
  echo "gpu_check: $result after $SECONDS s; logs in $out"
  rm -rf "$work"
  exit $failed
}
trap finish EXIT
trap 'row "stopped" "by a signal"; exit 1' INT TERM HUP

unpack() {
  tar -C "$work" -xf "$1" 2>"$out/unpack.log" ||
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$1" "$work"
}
if [ $# -gt 0 ]; then
  unpack "$1" || exit 1
  root=$work/doppio
elif [ -x "$here/bin/operators_test" ]; then
  root=$here
else
  root=$here/build/release
  [ -x "$root/bin/operators_test" ] || "$here/scripts/build.sh" release || exit 1
fi
SECONDS=0
scripts=$root/scripts
[ -d "$scripts" ] || scripts=$here/scripts
bin=$root/bin
torch_program=$scripts/torch_gpu.py
[ -e "$torch_program" ] || torch_program=$here/benchmarks/torch_gpu.py

# CUDA's libraries, from PyTorch's packages or else from the toolkit. For our programs alone: the
# system's and PyTorch have their own.
packages=$(timeout 60 python3 - 2>/dev/null <<'PYTHON'
import glob, nvidia
print(":".join(sorted(d for path in nvidia.__path__ for d in glob.glob(path + "/*/lib"))))
PYTHON
)
libraries=$root/lib:${packages:+$packages:}/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export REQUIRE_GPU=1

# limited SECONDS COMMAND...: with these libraries, ended after so long and with the budget; its
# status is then 124 or 137.
limited() {
  local seconds=$1 rest=$((budget - SECONDS))
  shift
  [ $rest -ge "$seconds" ] || seconds=$rest
  [ "$seconds" -ge 3 ] || return 124
  timeout -k 5 "$seconds" env LD_LIBRARY_PATH="$libraries" "$@"
}
# True if so many seconds are left.
has_time() { [ $((budget - SECONDS)) -ge "$1" ]; }
wanted() { [[ " ${PARTS:-tests losses speed} " == *" $1 "* ]]; }

# Learns a sum on the GPU.
check_python_net() {
  if PYTHONPATH=$root/python limited 90 python3 - 2>"$out/python.log" <<'PYTHON'; then
import numpy as np
from caffe2.proto import caffe2_pb2
from caffe2.python import brew, core, model_helper, optimizer, workspace
x = np.random.RandomState(0).rand(64, 4).astype(np.float32)
with core.DeviceScope(core.DeviceOption(caffe2_pb2.CUDA, 0)):
    model = model_helper.ModelHelper("train")
    pred = brew.fc(model, "x", "pred", 4, 1)
    loss = model.AveragedLoss(model.SquaredL2Distance([pred, "y"], "distance"), "loss")
    model.AddGradientOperators([loss])
    optimizer.build_sgd(model, 0.05)
    workspace.FeedBlob("x", x)
    workspace.FeedBlob("y", x.sum(axis=1, keepdims=True))
workspace.RunNetOnce(model.param_init_net)
workspace.CreateNet(model.net)
workspace.RunNet(model.net, 1000)
assert workspace.FetchBlob("loss") < 1e-2, workspace.FetchBlob("loss")
PYTHON
    row "Python net on a GPU" "learns"
  else
    fail "Python net on a GPU" "$(tail -1 "$out/python.log")"
  fi
}

# What needs no GPU: the libraries are found, and the package fits this Python. The first start reads
# a gigabyte of CUDA's libraries.
if ! operators=$(limited 90 "$bin/print_registered_core_operators" --device cuda 2>"$out/start.log" | wc -l); then
  tail -3 "$out/start.log"
  fail "CUDA operators" "the programs do not start: $(tail -1 "$out/start.log")"
  exit 1
fi
row "CUDA operators" "$operators"
python_tag=$(timeout 60 python3 -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))' 2>/dev/null)
modules=$(cd "$root/python/caffe2/python" 2>/dev/null && ls caffe2_pybind11_state*.so 2>/dev/null)
if [ -z "$modules" ]; then
  row "Python package" "not in this build"
elif [ -z "$python_tag" ] || [[ $modules != *$python_tag* ]]; then
  row "Python package" "is not for this Python, but ${modules//$'\n'/ }: programs only"
elif PYTHONPATH=$root/python limited 60 python3 -c 'from caffe2.python import core, workspace' 2>"$out/python.log"; then
  python_works=1
  row "Python package" "imports"
else
  fail "Python package" "$(tail -1 "$out/python.log")"
fi

# Everything from here on needs one. What fails for another reason is for the tests to tell.
if limited 90 "$bin/net_training" --device cuda --model mlp --image_size 28 --channels 1 --labels 10 \
  --batch 8 --min_seconds 0 >>"$out/start.log" 2>&1; then
  row "a step on a GPU" "after $SECONDS s"
else
  fail "a step on a GPU" "$(tail -1 "$out/start.log")"
  ! grep -q 'no device of type cuda is there' "$out/start.log" || exit 1
fi
[ -z "$python_works" ] || check_python_net
row "GPU" "$(timeout 20 nvidia-smi --query-gpu=name,driver_version,memory.total,power.limit \
  --format=csv,noheader 2>&1 | head -1)"
# Its clocks meanwhile. While somebody looks, the driver does not start anew for each process.
timeout $((budget + 60)) nvidia-smi --query-gpu=timestamp,clocks.sm,clocks.mem,power.draw,memory.used \
  --format=csv,noheader -l 10 >"$out/clocks.csv" 2>&1 &

# shellcheck source=scripts/gpu_speed.sh
. "$scripts/gpu_speed.sh"
! wanted speed || warm_up_torch
if wanted tests; then
  # shellcheck source=scripts/gpu_tests.sh
  . "$scripts/gpu_tests.sh"
fi

# sanitize TOOL SECONDS: tests of kernels that share memory between threads, under one of its tools.
sanitize() {
  local tool=$1 status=0
  command -v compute-sanitizer >/dev/null || { row "compute-sanitizer $tool" "not installed" && return; }
  CAFFE2_TEST_DEVICE=cuda limited "$2" compute-sanitizer --tool "$tool" --error-exitcode 9 \
    "$bin/operators_test" \
    --gtest_filter='*SpatialBN*:*NormSum*:*FewChannels*:*Softmax*:*Reduce*:*TopK*:*Segment*:*Dropout*' \
    >"$out/sanitizer_$tool.log" 2>&1 || status=$?
  row "compute-sanitizer $tool" "$(grep -c '\[       OK' "$out/sanitizer_$tool.log") tests, $(
    grep -E '(ERROR|RACECHECK) SUMMARY' "$out/sanitizer_$tool.log" | tail -1 | sed 's/=* *//')"
  [ $status -eq 0 ] || [ $status -eq 124 ] || failed=1  # 124: no time for the rest
}
if wanted sanitizer; then
  sanitize memcheck 120
  sanitize racecheck 120
fi

# LeNet on MNIST, or on digits drawn here: the accuracy of three epochs, and the databases.
train_lenet() {
  local stem images labels start=$SECONDS accuracy
  has_time 60 || { row "LeNet" "no time" && return; }
  # shellcheck source=scripts/mnist.sh
  . "$scripts/mnist.sh"
  # A download that takes longer is done without.
  [ -n "${MNIST_DIR:-}" ] || timeout 20 bash -c ". '$scripts/mnist.sh' && download_mnist '$work/mnist'" ||
    MNIST_MIRRORS=()
  if ! LD_LIBRARY_PATH=$libraries find_mnist "$work" "$bin" >"$out/mnist.log" 2>&1; then
    fail "LeNet" "no input: $(tail -1 "$out/mnist.log")"
    return
  fi
  for stem in train t10k; do
    images=$MNIST_SOURCE/$stem-images-idx3-ubyte labels=$MNIST_SOURCE/$stem-labels-idx1-ubyte
    [ -e "$images" ] || { images+=.gz && labels+=.gz; }
    limited 60 "$bin/make_mnist_db" --image_file "$images" --label_file "$labels" --db lmdb \
      --output_file "$work/$stem" >>"$out/mnist.log" 2>&1
  done
  start=$SECONDS
  (cd "$work" && limited 60 "$bin/mnist_trainer" --gpus 0 --network lenet --train_data "$work/train" \
    --test_data "$work/t10k" --num_epochs 3) >"$out/lenet.log" 2>&1 ||
    fail "LeNet" "ended early: $(tail -1 "$out/lenet.log")"
  accuracy=$(grep -o 'Validation-accuracy=[0-9.]*' "$out/lenet.log" | tail -1 | cut -d= -f2)
  row "LeNet" "test accuracy ${accuracy:-none} in $((SECONDS - start)) s; $MNIST_KIND"
  awk "BEGIN { exit !(${accuracy:-0} >= 0.98) }" || failed=1
}

# Losses of MNIST on the GPU and on the host, from the same parameters and data: the largest relative
# differences over the first ten iterations and over all. The first ten decide: rounding errors grow
# from one iteration to the next.
# compare_losses LABEL FLAGS...
compare_losses() {
  local label=$1 device difference
  shift
  has_time 60 || { row "$label" "no time" && return; }
  for device in --use_cpu "--gpus 0"; do
    # shellcheck disable=SC2086 # the flag and its value
    (cd "$work" && limited 60 "$bin/resnet50_trainer" $device --train_data "$work/train" \
      --image_size 28 --num_channels 1 --num_labels 10 "$@") 2>&1 |
      tee -a "$out/losses.log" | sed -n 's/.*Training loss: \([0-9.e+-]*\),.*/\1/p' \
      >"$work/losses${device%% *}"
  done
  difference=$(paste "$work/losses--use_cpu" "$work/losses--gpus" | awk '
    NF == 2 { d = ($1 - $2) / $1; if (d < 0) d = -d; if (d > worst) worst = d; n++ }
    n == 10 { early = worst }
    NF != 2 { bad = 1 }
    END { if (n > 10 && !bad) printf "%.1e over 10 iterations, %.1e over %d, to %g", early, worst, n, $2 }')
  row "$label" "${difference:-no losses: $(grep -v 'Training loss' "$out/losses.log" | tail -1)}"
  awk "BEGIN { exit !(\"${difference%% *}\" != \"\" && \"${difference%% *}\" + 0 <= 1e-3) }" || failed=1
}
# The same with flags that change the training net. The last three leave losses as they are: their
# rows show that they run.
compare_flags() {
  local flags
  for flags in "--class_weights 1,2,1,1,0.5,1,1,3,1,1" "--mixup 0.2" "--cutmix 1" \
    "--random_erasing 0.5" "--optimizer lars --lars_trust 1" "--optimizer adamw" \
    "--label_smoothing 0.1" "--ema_decay 0.9" "--memory_report" "--trace $work/trace.json --trace_iterations 5-6"; do
    # shellcheck disable=SC2086 # the flags and their values
    compare_losses "  with ${flags%% /*}" --model resnet20_cifar --batch_size 64 \
      --base_learning_rate 0.0001 --max_iterations 12 $flags
  done
}
if wanted losses; then
  train_lenet
  if [ -d "$work/train" ]; then
    compare_losses "LeNet loss, GPU against CPU" --model lenet --batch_size 64 \
      --base_learning_rate 0.01 --max_iterations 100
    # Deeper nets and larger rates magnify rounding: two instruction sets of one CPU then differ, too.
    compare_losses "ResNet-20 loss, GPU against CPU" --model resnet20_cifar --batch_size 64 \
      --base_learning_rate 0.0001 --max_iterations 20
    ! wanted flags || compare_flags
  fi
fi

# Convolution plans are measured once, and kept for all that is timed.
export CAFFE2_CUDA_PLAN_CACHE=$out/plans
mkdir -p "$CAFFE2_CUDA_PLAN_CACHE"
! wanted speed || measure_speed
exit 0
