# shellcheck shell=bash
# Sourced by gpu_check.sh: images a second and memory, ours and PyTorch's in turns, on synthetic
# input. Adds a row for each case; what would begin after $speed_deadline seconds is left out, and the
# row says so.

speed_deadline=${SPEED_DEADLINE:-400}
torch_there=
python3 -c 'import torch, torchvision' 2>/dev/null && torch_there=1

# "MEDIAN/PEAK" of the JSON lines on the standard input, in images a second and MiB.
figures() { sed -n 's/.*"median": *\([0-9.]*\).*"peak_mib": *\([0-9]*\).*/\1\/\2/p' | tail -1; }

# ours PROGRAM FLAGS...
ours() {
  local program=$1
  shift
  timeout 100 "$bin/$program" --device cuda --cuda_graph --min_seconds 3 "$@" 2>>"$out/speed.log" |
    tee -a "$out/speed.log" | figures
}

# theirs FLAGS...: nothing without PyTorch or time.
theirs() {
  [ -n "$torch_there" ] || { echo "not installed" && return; }
  [ $SECONDS -lt "$speed_deadline" ] || { echo "no time" && return; }
  timeout 170 python3 "$scripts/torch_gpu.py" "$@" 2>>"$out/torch.log" | tee -a "$out/torch.log" |
    figures
}

# compare LABEL COMPILE -- OURS -- THEIRS: ours before and after PyTorch's, eager and, with a mode
# in COMPILE, compiled.
compare() {
  local label=$1 compile=$2 mine=() peer=() eager compiled=
  shift 3
  while [ "$1" != -- ]; do mine+=("$1") && shift; done
  shift
  peer=("$@")
  local first last
  first=$(ours "${mine[@]}")
  [ -n "$first" ] || failed=1
  eager=$(theirs "${peer[@]}")
  [ -z "$compile" ] || compiled=$(theirs "${peer[@]}" --compile "$compile")
  last=$(ours "${mine[@]}")
  row "$label" \
    "${first:-failed} ${last:-failed}; PyTorch eager ${eager:-failed}${compile:+, compiled ${compiled:-failed}}"
}

row "images a second/peak MiB" "ours before and after the peer's"
resnet=(--model resnet50 --image_size 224)
compare "ResNet-50 training float16 b256" reduce-overhead -- \
  net_training "${resnet[@]}" --batch 256 --dtype float16 -- --batch 256 --dtype float16
compare "ResNet-50 training bfloat16 b256" reduce-overhead -- \
  net_training "${resnet[@]}" --batch 256 --dtype bfloat16 -- --batch 256 --dtype bfloat16
compare "ResNet-50 inference float16 b256" reduce-overhead -- \
  net_inference "${resnet[@]}" --batch 256 --dtype float16 -- --mode infer --batch 256 --dtype float16
compare "LeNet training b64" "" -- \
  net_training --model lenet --image_size 28 --channels 1 --labels 10 --batch 64 -- \
  --model lenet --batch 64 --dtype float
compare "ResNet-50 training float32 b256" "" -- \
  net_training "${resnet[@]}" --batch 256 -- --batch 256 --dtype float
for batch in 512 816; do
  compare "ResNet-50 training float16 b$batch" "" -- \
    net_training "${resnet[@]}" --batch $batch --dtype float16 -- --batch $batch --dtype float16
done
# What each fusion of batch normalization into convolutions brings.
for fusion in none stats residual; do
  row "  with --fuse_conv $fusion, b256" "$(ours net_training "${resnet[@]}" --batch 256 \
    --dtype float16 --fuse_conv $fusion)"
done
# What else there is to choose, as long as there is time for it and for the tables.
# option LABEL SECONDS FLAGS...: SECONDS is how long before the deadline it must begin.
option() {
  local label=$1 before=$2 result="no time"
  shift 2
  if [ $SECONDS -lt $((speed_deadline - before)) ]; then
    result=$(ours net_training "${resnet[@]}" --batch 256 --dtype float16 "$@")
  fi
  row "  with $label, b256" "${result:-failed}"
}
option --side_stream 30 --side_stream
option --half_gradients 30 --half_gradients
option "both" 30 --side_stream --half_gradients
# Measures the forms of each place first; speed.log has what each took.
option "--fuse_conv measured" 110 --fuse_conv measured
row "  of these places" "$(grep -ls '^changed' "$out"/plans/*.plan | wc -l) rewritten, $(
  grep -ls '^plain' "$out"/plans/*.plan | wc -l) not"

for dtype in float16 bfloat16; do
  "$bin/net_training" --device cuda "${resnet[@]}" --batch 256 --dtype $dtype --min_seconds 1 \
    --profile --table 200 >"$out/operators_$dtype.txt" 2>"$out/profile_$dtype.txt" || failed=1
done
grep -v '"peer"' "$out/operators_float16.txt" | sed -n '1,25p;$p'
