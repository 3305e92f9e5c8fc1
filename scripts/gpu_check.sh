#!/usr/bin/env bash
# Everything that needs a GPU, in one go and under 8 minutes on 16 cores:
#   scripts/gpu_check.sh [BUNDLE.tar.xz]
# Starts the programs and the Python package, runs the operator tests on the GPU (a skipped one counts
# as failed), trains LeNet to 98 %, compares losses with the host's, times training and inference
# beside PyTorch where that is installed (gpu_speed.sh), and prints the table of operators beside what
# memory and arithmetic allow. Programs come from the bundle
# (scripts/make_bundle.sh --tests), from the folder above this script if that is an unpacked one, or
# from build/release, which is built if need be. Prints a table last; logs go to OUT (default: a new
# folder under /tmp), with cuDNN's description of the device. Exits with 1 if anything failed.
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
out=${OUT:-$(mktemp -d /tmp/gpu_check.XXXXXX)}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ $# -gt 0 ]; then
  tar -C "$work" -xf "$1" || exit 1
  root=$work/doppio
elif [ -x "$here/bin/operators_test" ]; then
  root=$here
else
  root=$here/build/release
  [ -x "$root/bin/operators_test" ] || "$here/scripts/build.sh" release || exit 1
fi
scripts=$root/scripts
[ -d "$scripts" ] || scripts=$here/scripts
bin=$root/bin

# CUDA's libraries: those of PyTorch's packages, else the toolkit's.
packages=$(python3 - 2>/dev/null <<'PYTHON'
import glob, nvidia
print(":".join(sorted(d for path in nvidia.__path__ for d in glob.glob(path + "/*/lib"))))
PYTHON
)
export LD_LIBRARY_PATH=$root/lib:${packages:+$packages:}/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export REQUIRE_GPU=1
# Convolution plans are measured once and kept for all that follows.
export CAFFE2_CUDA_PLAN_CACHE=$out/plans
mkdir -p "$CAFFE2_CUDA_PLAN_CACHE"
failed=0
rows=()
row() { rows+=("$(printf '%-34s %s' "$1" "$2")"); }

# What needs no GPU: the libraries are found, and the package fits this Python.
if ! operators=$("$bin/print_registered_core_operators" --device cuda 2>"$out/start.log" | wc -l); then
  echo "gpu_check: FAILED; the programs do not start:" && tail -3 "$out/start.log"
  exit 1
fi
row "CUDA operators" "$operators"
module=$(find "$root/python/" -name 'caffe2_pybind11_state*.so' 2>/dev/null | head -1)
python_tag=$(python3 -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))' 2>/dev/null)
if [ -z "$module" ]; then
  row "Python package" "not in this build"
elif [[ $module != *$python_tag ]]; then
  row "Python package" "is for another Python ($(basename "$module")): programs only"
elif PYTHONPATH=$root/python python3 -c 'from caffe2.python import core, workspace' 2>"$out/python.log"; then
  row "Python package" "imports"
else
  failed=1 && row "Python package" "$(tail -1 "$out/python.log")"
fi

# Everything from here on needs one.
if ! "$bin/net_training" --device cuda --model mlp --image_size 28 --channels 1 --labels 10 --batch 8 \
  --min_seconds 0 >>"$out/start.log" 2>&1; then
  printf '%s\n' "${rows[@]}"
  echo "gpu_check: FAILED; no step on a GPU: $(tail -1 "$out/start.log")"
  exit 1
fi
nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,power.limit --format=csv,noheader |
  tee "$out/gpu.txt"

# run_tests LABEL PROGRAM [FILTER]: notes passed, failed and skipped tests.
run_tests() {
  local label=$1 log=$out/$2.log status=0
  CAFFE2_TEST_DEVICE=cuda timeout 200 "$bin/$2" --gtest_filter="${3:-*}" >"$log" 2>&1 || status=$?
  local passed skipped
  passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log" | head -1)
  skipped=$(sed -n 's/^\[  SKIPPED \] \([0-9]*\) test.*/\1/p' "$log" | head -1)
  local bad
  bad=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$log" | head -1)
  [ $status -eq 0 ] || { failed=1 && grep -E '^\[  FAILED  \]' "$log" | sort -u | head -20; }
  row "$label" "${passed:-0} passed, ${bad:-0} failed, ${skipped:-0} skipped (exit $status)"
}
run_tests "operator tests on the GPU" operators_test
run_tests "collectives of GPU tensors" distributed_test '*Device*'
run_tests "training on the GPU" train_test '*DeviceTrainer*'
[ ! -x "$bin/cuda_test" ] || run_tests "cuDNN plans" cuda_test

# LeNet on MNIST, or on digits drawn here.
. "$scripts/mnist.sh"
if find_mnist "$work" "$bin" >"$out/mnist.log" 2>&1; then
  for stem in train t10k; do
    images=$MNIST_SOURCE/$stem-images-idx3-ubyte labels=$MNIST_SOURCE/$stem-labels-idx1-ubyte
    [ -e "$images" ] || { images+=.gz && labels+=.gz; }
    "$bin/make_mnist_db" --image_file "$images" --label_file "$labels" --db lmdb \
      --output_file "$work/$stem" >>"$out/mnist.log" 2>&1
  done
  start=$SECONDS
  (cd "$work" && timeout 120 "$bin/mnist_trainer" --gpus 0 --network lenet --train_data "$work/train" \
    --test_data "$work/t10k" --num_epochs 3) >"$out/lenet.log" 2>&1 || failed=1
  accuracy=$(grep -o 'Validation-accuracy=[0-9.]*' "$out/lenet.log" | tail -1 | cut -d= -f2)
  row "LeNet, $MNIST_KIND" "test accuracy ${accuracy:-none} in $((SECONDS - start)) s"
  awk "BEGIN { exit !(${accuracy:-0} >= 0.98) }" || failed=1
else
  row "LeNet" "no input" && failed=1
fi

# Losses on the GPU beside those on the host, from the same parameters and data: the largest
# relative difference over the iterations that the log shows.
# compare_losses LABEL PROGRAM FLAGS...
compare_losses() {
  local label=$1 program=$2 device
  shift 2
  for device in --use_cpu "--gpus 0"; do
    # shellcheck disable=SC2086 # the flag and its value
    (cd "$work" && timeout 100 "$bin/$program" $device "$@") 2>&1 |
      tee -a "$out/losses.log" | sed -n 's/.*Training loss: \([0-9.e+-]*\),.*/\1/p' \
      >"$work/losses${device%% *}"
  done
  local difference
  difference=$(paste "$work/losses--use_cpu" "$work/losses--gpus" | awk '
    NF == 2 { d = ($1 - $2) / $1; if (d < 0) d = -d; if (d > worst) worst = d; n++ }
    NF != 2 { bad = 1 }
    END { if (n > 0 && !bad) printf "%.1e over %d iterations", worst, n }')
  row "$label" "${difference:-no losses}"
  awk "BEGIN { exit !(\"${difference%% *}\" != \"\" && \"${difference%% *}\" + 0 <= 1e-3) }" || failed=1
}
if [ -n "${accuracy:-}" ]; then
  compare_losses "LeNet loss, GPU against CPU" mnist_trainer --network lenet --train_data "$work/train" \
    --batch_size 64 --max_iterations 50 --disp_batches 1
fi
compare_losses "ResNet-50 loss, GPU against CPU" resnet50_trainer --train_data null --model resnet50 \
  --image_size 224 --batch_size 16 --epoch_size 80 --num_epochs 1 --base_learning_rate 0.01

. "$scripts/gpu_speed.sh"

printf '\n'
printf '%s\n' "${rows[@]}" | tee "$out/summary.txt"
[ $failed -eq 0 ] && echo "gpu_check: passed; logs in $out" || echo "gpu_check: FAILED; logs in $out"
exit $failed
