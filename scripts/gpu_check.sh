#!/usr/bin/env bash
# Everything that needs a GPU, in one go and under 8 minutes on 16 cores:
#   scripts/gpu_check.sh [BUNDLE.tar.xz]
# Starts the programs and the Python package, runs the operator tests on the GPU (a skipped one counts
# as failed), trains LeNet to 98 %, times ResNet-50 beside PyTorch where that is installed, and prints
# the table of its operators beside what memory and arithmetic allow. Programs come from the bundle
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

# ResNet-50 training on synthetic input, ours and PyTorch's in turns.
median() { sed -n 's/.*"median": *\([0-9.]*\).*/\1/p' | tail -1; }
for case in 256/float 256/bfloat16 256/float16 512/float16; do
  batch=${case%/*} dtype=${case#*/}
  ours=() theirs=()
  for round in 1 2; do
    ours+=("$("$bin/net_training" --device cuda --model resnet50 --image_size 224 --batch $batch \
      --dtype $dtype --min_seconds 5 2>>"$out/resnet50.log" | tee -a "$out/resnet50.log" | median)")
    if python3 -c 'import torch, torchvision' 2>/dev/null; then
      theirs+=("$(timeout 100 python3 "$scripts/torch_training.py" --batch $batch --dtype $dtype \
        2>>"$out/torch.log" | tee -a "$out/torch.log" | median)")
    fi
  done
  [ -n "${ours[0]}" ] || failed=1
  row "ResNet-50 training $dtype b$batch" \
    "${ours[*]:-none} images/s; PyTorch eager ${theirs[*]:-not run}"
done
for dtype in float16 bfloat16; do
  "$bin/net_training" --device cuda --model resnet50 --image_size 224 --batch 256 --dtype $dtype \
    --min_seconds 1 --profile --table 200 >"$out/operators_$dtype.txt" 2>"$out/profile_$dtype.txt" ||
    failed=1
done
grep -v '"peer"' "$out/operators_float16.txt" | sed -n '1,25p;$p'

printf '\n'
printf '%s\n' "${rows[@]}" | tee "$out/summary.txt"
[ $failed -eq 0 ] && echo "gpu_check: passed; logs in $out" || echo "gpu_check: FAILED; logs in $out"
exit $failed
