# shellcheck shell=bash
# Sourced by gpu_check.sh: images a second and memory, ours and PyTorch's in turns, on synthetic
# input. Adds a row for each case, the most telling first; what the budget has no time for is left
# out, and the row says so.

torch_job=

# Starts, beside the tests, what costs PyTorch a minute: reading it from the disk and compiling. What
# it compiles is kept.
warm_up_torch() {
  export TORCHINDUCTOR_CACHE_DIR=$work/inductor
  export TORCHINDUCTOR_FX_GRAPH_CACHE=1 TORCHINDUCTOR_AUTOGRAD_CACHE=1
  # shellcheck disable=SC2016 # for the other shell
  timeout -k 5 240 bash -c '
    python3 -c "import torch, torchvision" && touch "$1/torch_there" || exit
    for dtype in float16 bfloat16; do
      python3 "$2" --batch 256 --dtype $dtype --compile reduce-overhead
    done' - "$work" "$torch_program" >"$out/torch_warm_up.log" 2>&1 &
  torch_job=$!
}
# Nothing runs beside what is timed.
end_warm_up() {
  local begin=$SECONDS
  while [ ! -e "$work/torch_there" ] && kill -0 $torch_job 2>/dev/null &&
    [ $((SECONDS - begin)) -lt 60 ]; do
    sleep 1
  done
  kill $torch_job 2>/dev/null
  wait $torch_job 2>/dev/null
}

# "MEDIAN/PEAK" of the JSON lines on the standard input, in images a second and MiB.
figures() { sed -n 's/.*"median": *\([0-9.]*\).*"peak_mib": *\([0-9]*\).*/\1\/\2/p' | tail -1; }

# ours SECONDS PROGRAM FLAGS...: "no time" where less is left.
ours() {
  local seconds=$1 program=$2 result
  shift 2
  has_time "$seconds" || { echo "no time" && return; }
  echo "$program $*" | tee -a "$out/speed.log" >>"$out/speed_errors.log"
  result=$(limited 120 "$bin/$program" --device cuda --cuda_graph --min_seconds 3 "$@" \
    2>>"$out/speed_errors.log" | tee -a "$out/speed.log" | figures)
  echo "${result:-failed ($(tail -1 "$out/speed_errors.log" | cut -c 1-150))}"
}

# theirs SECONDS FLAGS...: likewise, with PyTorch's own libraries.
theirs() {
  local seconds=$1 rest=$((budget - SECONDS)) result
  shift
  [ -e "$work/torch_there" ] || { echo "not installed" && return; }
  has_time "$seconds" || { echo "no time" && return; }
  result=$(timeout -k 5 $((rest < 150 ? rest : 150)) python3 "$torch_program" "$@" \
    2>>"$out/torch_errors.log" | tee -a "$out/torch.log" | figures)
  echo "${result:-failed ($(tail -1 "$out/torch_errors.log" | cut -c 1-150))}"
}

# compare LABEL SECONDS PROGRAM OURS... -- THEIRS...: ours before and after PyTorch's. SECONDS is what
# ours takes the first time, when it measures plans.
compare() {
  local label=$1 seconds=$2 mine=() first peer last
  shift 2
  while [ "$1" != -- ]; do mine+=("$1") && shift; done
  shift
  first=$(ours "$seconds" "${mine[@]}")
  if [ "$first" = "no time" ]; then row "$label" "no time" && return; fi
  peer=$(theirs 25 "$@")
  last=$(ours 10 "${mine[@]}")
  row "$label" "$first $last; PyTorch eager $peer"
  [[ "$first $last" != *failed* ]] || failed=1
}

# option LABEL SECONDS FLAGS...: training in float16 in another way.
option() {
  local label=$1 seconds=$2 result
  shift 2
  result=$(ours "$seconds" net_training "${resnet[@]}" --batch 256 --dtype float16 "$@")
  row "  with $label, b256" "$result"
  [[ $result != failed* ]] || failed=1
}

# photographs LABEL FLAGS...: the trainer's images a second, the median of its log lines, on the JPEG
# files of PHOTOS, a database or a folder for --train_data.
photographs() {
  local label=$1 result
  shift
  has_time 60 || { row "  $label" "no time" && return; }
  echo "resnet50_trainer $*" >>"$out/photographs.log"
  (cd "$work" && limited 90 "$bin/resnet50_trainer" --gpus 0 --dtype float16 --train_data "$PHOTOS" \
    --image_size 224 --random_resized_crop --shuffle --batch_size 256 --epoch_size 25600 \
    --max_iterations 160 "$@") >"$out/photographs_now.log" 2>&1 || failed=1
  cat "$out/photographs_now.log" >>"$out/photographs.log"
  result=$(sed -n 's/.*Finished iteration.*(\([0-9.]*\) images\/sec).*/\1/p' \
    "$out/photographs_now.log" | tail -80 | sort -n | sed -n 40p)
  row "  $label" "${result:-failed: $(tail -1 "$out/photographs_now.log" | cut -c 1-150)}"
}

# GB/s that a copy of device memory moved, read and written: on an H100 and on an H200.
memory_speed() {
  case $(timeout 20 nvidia-smi --query-gpu=name --format=csv,noheader | head -1) in
    *H100*) echo 3000 ;;
    *) echo 4300 ;;
  esac
}

# operator_table DTYPE LINES
operator_table() {
  has_time 20 || { row "  table of operators, $1" "no time" && return; }
  limited 60 "$bin/net_training" --device cuda "${resnet[@]}" --batch 256 --dtype "$1" \
    --min_seconds 1 --profile --table 200 --memory_gbs "$(memory_speed)" >"$out/operators_$1.txt" 2>"$out/profile_$1.txt" || failed=1
  # The most expensive ones; all are in the file.
  grep -v '"peer"' "$out/operators_$1.txt" | head -"$2"
  row "  table of operators, $1" "$(tail -1 "$out/operators_$1.txt")"
}

# Training on photographs, if there are any.
photographs_rows() {
  [ -n "${PHOTOS:-}" ] || return
  photographs "photographs, decoded by the host" --decode_threads "$(nproc)"
  photographs "photographs, decoded by the GPU" --decode_threads "$(nproc)" --decode_on_gpu
}

resnet=(--model resnet50 --image_size 224)
measure_speed() {
  local dtype batch fusion graphs
  end_warm_up
  row "images a second/peak MiB" "ours before and after the peer's"
  compare "ResNet-50 training float16 b256" 40 net_training "${resnet[@]}" --batch 256 \
    --dtype float16 -- --batch 256 --dtype float16
  graphs=$(grep -o '[0-9]* of [0-9]* operators recorded in .*' "$out/speed_errors.log" | tail -1)
  row "  of an iteration" "${graphs:-no operator is recorded}"
  operator_table float16 25
  photographs_rows
  compare "ResNet-50 training bfloat16 b256" 40 net_training "${resnet[@]}" --batch 256 \
    --dtype bfloat16 -- --batch 256 --dtype bfloat16
  for dtype in float16 bfloat16; do
    row "  PyTorch compiled, $dtype" "$(theirs 60 --batch 256 --dtype $dtype --compile reduce-overhead)"
  done
  compare "ResNet-50 inference float16 b256" 20 net_inference "${resnet[@]}" --batch 256 \
    --dtype float16 -- --mode infer --batch 256 --dtype float16
  # What each fusion of batch normalization into convolutions brings.
  for fusion in none stats prologue; do
    option "--fuse_conv $fusion" 20 --fuse_conv $fusion
  done
  option --half_gradients 15 --half_gradients
  compare "LeNet training b64" 10 net_training --model lenet --image_size 28 --channels 1 \
    --labels 10 --batch 64 -- --model lenet --batch 64 --dtype float
  compare "ResNet-18 32x32 training float16 b512" 20 net_training --model resnet18 --image_size 32 \
    --labels 10 --batch 512 --dtype float16 -- --model resnet18 --batch 512 --dtype float16
  operator_table bfloat16 1
  CAFFE2_CUDA_TF32=1 compare "ResNet-50 training TF32 b256" 60 net_training "${resnet[@]}" \
    --batch 256 -- --batch 256 --dtype float --tf32
  for batch in 64 128 512 816; do
    compare "ResNet-50 training float16 b$batch" 60 net_training "${resnet[@]}" --batch $batch \
      --dtype float16 -- --batch $batch --dtype float16
  done
  row "  PyTorch compiled inference" "$(theirs 60 --mode infer --batch 256 --dtype float16 \
    --compile reduce-overhead)"
}
