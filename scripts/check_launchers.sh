#!/usr/bin/env bash
# Trains LeNet on MNIST through each way into a run, on this machine, and prints a table: real
# launchers where Debian and PyPI have them, else their variables.
# Installs what is missing with apt-get, and launchers from PyPI into build/launcher-venv.
#
#   scripts/check_launchers.sh [--images N] [--program NAME] [--skip-build] [LAUNCHER...]
#
#   --images      digits to train on in each run (default 120000, two epochs: an accuracy of 0.99)
#   --program     mnist_trainer or Python (examples.mnist_data_parallel); default: both
#   --skip-build  use the programs in build/release as they are
#   LAUNCHER      of the list below (default: all)
#
# torchrun     PyTorch's              tf_config    two processes, with and without a chief
# mpirun       Open MPI's             mxnet        MXNet's launch.py, local and through ssh
# mpiexec      MPICH's                horovod      horovodrun with Gloo
# srun         Slurm with one node    kubernetes   the variables of an indexed Job with two pods
# doppio_local, doppio_ssh, doppio_hosts, doppio_mpi, doppio_slurm    doppio run --via ...;
#              hosts: two network namespaces with their own names, process ids and sshd; then the
#              same again, and one of them dies
# redis        mnist_trainer with --redis_host, twice under one run_id, and after kill -9
# caffe2       the Python trainers of Caffe2 in CAFFE2_TRAINERS (a folder; default: from the
#              wheel of torch 1.12.1), unmodified, twice under one run_id, and after kill -9;
#              skipped if they cannot be had
#
# TORCHRUN may name a torchrun that is installed; PYTORCH the package to install (default: torch).
# A row is "ok" if all shards trained together and ended well, the accuracy is at least 0.99 (after
# at least two epochs), and no process, server or key is left. Fails if one is not.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/dependencies.sh
. scripts/mnist.sh
. scripts/launcher_servers.sh

all_launchers=(torchrun mpirun mpiexec srun tf_config mxnet horovod kubernetes doppio_local doppio_ssh
  doppio_hosts doppio_mpi doppio_slurm redis caffe2)
images=120000 skip_build='' only_program=''
while [ $# -gt 0 ]; do
  case $1 in
    --images) images=${2:?} && shift 2 ;;
    --program) only_program=${2:?} && shift 2 ;;
    --skip-build) skip_build=1 && shift ;;
    -h | --help) sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//' && exit 0 ;;
    -*) echo "error: unknown option $1 (see --help)" >&2 && exit 2 ;;
    *) break ;;
  esac
done
launchers=("$@")
[ $# -gt 0 ] || launchers=("${all_launchers[@]}")
for launcher in "${launchers[@]}"; do
  [[ " ${all_launchers[*]} " = *" $launcher "* ]] ||
    { echo "error: unknown launcher $launcher (see --help)" >&2 && exit 2; }
done
case $only_program in '' | mnist_trainer | Python) ;; *)
  echo "error: --program is mnist_trainer or Python, not $only_program" >&2 && exit 2 ;;
esac
[[ $images =~ ^[1-9][0-9]{3,}$ ]] ||
  { echo "error: --images takes a number from 1000, not $images" >&2 && exit 2; }

build=$PWD/build/release
bin=$build/bin
cache=$PWD/build/quickstart
work=$(mktemp -d)
pids=()
# The processes of the run, which all name a file in $work by a flag.
run_processes() {
  pgrep -f -- "--[a-z_]+[ =]$work/" || true
}
cleanup() {
  local status=$?
  trap - EXIT INT TERM
  run_processes | xargs -r kill 2>/dev/null || true
  stop_hosts
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
  exit $status
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ -z "$skip_build" ]; then
  install_packages "${BUILD_PACKAGES[@]}" "${RUN_PACKAGES[@]}" python3 python3-venv
  make_python_environment build/venv
  [ -e $build/build.ninja ] || cmake --preset release -DBUILD_TESTS=OFF -DBUILD_BENCHMARKS=OFF
  cmake --build $build --target mnist_trainer doppio make_mnist_db render_digits caffe2_python
fi
mkdir -p "$cache"
find_mnist "$cache" "$bin"
for stem in train t10k; do
  files=("$MNIST_SOURCE/$stem"-{images-idx3,labels-idx1}-ubyte)
  [ -e "${files[0]}" ] || files=("${files[@]/%/.gz}")
  for format in datum tensorprotos; do
    "$bin/make_mnist_db" --image_file "${files[0]}" --label_file "${files[1]}" --db lmdb \
      --format $format --output_file "$work/$stem-$format" >/dev/null
  done
done
mkdir "$work/store"

# The same for every launcher: it alone says where a shard belongs. 64 images in all in a batch.
commands_for() {
  local shards=$1
  lenet=("$bin/mnist_trainer" --use_cpu --network lenet --train_data "$work/train-datum"
    --test_data "$work/t10k-datum" --num_epochs 2 --num_examples $((images / 2)) --shuffle
    --batch_size $((64 / shards)) --optimizer adam --lr 0.002 --lr_policy cosine --disp_batches 1000)
  python=(env "PYTHONPATH=$build/python" "$PWD/build/venv/bin/python" -m
    caffe2.python.examples.mnist_data_parallel --train_data "$work/train-tensorprotos"
    --test_data "$work/t10k-tensorprotos" --batch_size $((64 / shards))
    --iterations $((images / 64)) --test_iterations 156)
}

# variable_of PID NAME: the value in the environment of a process, if it still runs.
variable_of() {
  { tr '\0' '\n' <"/proc/$1/environ"; } 2>/dev/null | sed -n "s/^$2=//p" || true
}

# Says how many keys redis-cli sees at the store of the run whose log is $1: at its own store, at the
# one of `doppio run`, at the Redis server of this script, or files in a directory.
count_keys() {
  local log=$1 found pid url
  for pid in $(run_processes); do
    url=$(variable_of "$pid" DOPPIO_STORE)
    case $url in
      redis://*)
        url=${url#redis://}
        ask_redis "${url%:*}" "${url##*:}" "$(variable_of "$pid" REDISCLI_AUTH)"
        return
        ;;
    esac
  done
  if found=$(grep -oE 'run [^ ]+: its store is at [^,]+' "$log" | tail -n 1) && [ -n "$found" ]; then
    local id=${found#run } address=${found##* }
    ask_redis "${address%:*}" "${address##*:}" "${id%%:*}"
    return
  fi
  # A Python program does not say which of the ports its store has taken.
  if found=$(grep -oE 'store tcp://[^ ]+-[0-9]+, run_id [^ ,]+' "$log" | tail -n 1) &&
    [ -n "$found" ]; then
    local address=${found#store tcp://} id=${found##* } port keys
    address=${address%%,*}
    for port in $(seq "$(sed 's/.*:\(.*\)-.*/\1/' <<<"$address")" "${address##*-}"); do
      keys=$(ask_redis "${address%:*}" "$port" "$id")
      [ "$keys" = 0 ] || break
    done
    echo "$keys"
    return
  fi
  if [ -n "${redis_port:-}" ]; then
    ask_redis 127.0.0.1 "$redis_port" ""
  else
    # mpirun's Python programs meet in the directory that is their default.
    found=$(grep -oE 'mpirun: shard 0 of .*, run_id [^ ,]+' "$log" | tail -n 1 || true)
    { find "$work/store" ${found:+"/tmp/${found##* }"} -type f 2>/dev/null || true; } | wc -l
  fi
}
ask_redis() {
  env ${3:+REDISCLI_AUTH="$3"} timeout 5 redis-cli -h "$1" -p "$2" dbsize 2>/dev/null | grep -oE '[0-9]+$' ||
    echo 0
}

# Waits until all shards train and counts the keys then.
watch_keys() {
  local log=$1 joined=$2
  until grep -qE "$joined" "$log" 2>/dev/null; do sleep 0.3; done
  sleep 3
  count_keys "$log" >"$work/keys"
}

failed=0
table=("way in|program|shards|understood as|keys|after|accuracy|seconds|result")
# row NAME PROGRAM SHARDS COMMAND...: runs it and adds its row to the table.
row() {
  local name=$1 program=$2 shards=$3 log=$work/log result=ok status=0 begin=$SECONDS
  shift 3
  [ -z "$only_program" ] || [ "$program" = "$only_program" ] || return 0
  echo "== $name, $program: ${*/$work/WORK}"
  : >"$log"
  rm -f "$work/keys"
  local joined="all $shards shards joined|iteration 1?0:|Finished iteration 1/|Starting epoch"
  watch_keys "$log" "$joined" &
  local watcher=$!
  "$@" >"$log" 2>&1 & # so that a signal to this script does not wait for it
  wait $! || status=$?
  local seconds=$((SECONDS - begin))
  kill $watcher 2>/dev/null || true
  wait $watcher 2>/dev/null || true
  local understood accuracy keys after address
  # Each shard says so when all have joined; a Python one says its place, and does not train before.
  local shards_seen
  if [ "$program" = mnist_trainer ]; then
    # Once each, also where the summary of `doppio run` repeats the last lines of a shard.
    shards_seen=$({ grep -oE "[A-Z][0-9]{8} .*all $shards shards joined" "$log" || true; } | sort -u | wc -l)
  elif [ "$program" = Caffe2 ]; then
    shards_seen=$(grep -c "Finished iteration 6/6 of epoch 0" "$log" || true)
  else
    shards_seen=$({ grep -oE "shard [0-9]+ of $shards: test" "$log" || true; } | sort -u | wc -l)
  fi
  understood=$(grep -oE '[A-Za-z_]+( run)?: shard 0 of .*' "$log" | head -n 1 | sed 's/, run_id.*//' || true)
  # The trainer tells the accuracy of the job once an epoch, Python programs the one of each shard.
  local figures=$shards
  [ "$program" != mnist_trainer ] || figures=1
  accuracy=$(grep -oE '(Validation-accuracy=|test accuracy: )[0-9.]+' "$log" | tail -n "$figures" |
    grep -oE '[0-9.]+$' | awk '{ sum += $1 } END { if (NR) printf "%.4f", sum / NR }' || true)
  keys=$(cat "$work/keys" 2>/dev/null || echo -)
  after=$(count_keys "$log")
  [ "$status" -eq 0 ] || result="exit status $status"
  [ "$shards_seen" -eq "$shards" ] || result="$shards_seen of $shards shards trained"
  if [ "$program" != Caffe2 ] && [ "$images" -ge 120000 ] && ! awk "BEGIN { exit !(${accuracy:-0} >= 0.99) }"; then
    result="accuracy ${accuracy:-missing}"
  fi
  [ "$after" = 0 ] || result="$after keys are left"
  for address in $(grep -oE 'its store is at [^,]+' "$log" | awk '{print $NF}'); do
    ! (exec 3<>"/dev/tcp/${address%:*}/${address##*:}") 2>/dev/null || result="a server is left"
  done
  [ -z "$(run_processes)" ] || result="processes are left: $(run_processes | tr '\n' ' ')"
  if [ "$result" != ok ]; then
    failed=1
    tail -n 20 "$log"
  fi
  table+=("$name|$program|$shards|${understood:--}|$keys|$after|${accuracy:--}|$seconds|$result")
  echo "${table[-1]}"
}

# both NAME SHARDS COMMAND...: a row for each program.
both() {
  local name=$1 shards=$2
  shift 2
  commands_for "$shards"
  row "$name" mnist_trainer "$shards" "$@" "${lenet[@]}"
  row "$name" Python "$shards" "$@" "${python[@]}"
}

check_torchrun() {
  find_torchrun
  both torchrun 2 "$torchrun" --nproc_per_node 2 --no_python
  row "torchrun --standalone" mnist_trainer 2 \
    "$torchrun" --standalone --nproc_per_node 2 --no_python "${lenet[@]}"
}

check_mpirun() {
  install_packages openmpi-bin
  local mpirun=(mpirun.openmpi --oversubscribe -n 4)
  [ "$(id -u)" -ne 0 ] || mpirun+=(--allow-run-as-root)
  commands_for 4
  row "mpirun (Open MPI)" mnist_trainer 4 "${mpirun[@]}" "${lenet[@]}" --file_store_path "$work/store"
  row "mpirun (Open MPI)" Python 4 "${mpirun[@]}" "${python[@]}"
}

# Its processes are told no name of the run.
check_mpiexec() {
  install_packages mpich
  commands_for 2
  row "mpiexec (MPICH)" mnist_trainer 2 mpiexec.hydra -n 2 "${lenet[@]}" --run_id mpich \
    --file_store_path "$work/store"
}

check_srun() {
  start_slurm
  both srun 2 srun -n 2
}

# each_env COUNT FUNCTION COMMAND...: starts COMMAND for each number below COUNT, with the variables
# that FUNCTION NUMBER prints, one a line.
each_env() {
  local count=$1 variables=$2 i status=0 tasks=() lines
  shift 2
  for ((i = 0; i < count; i++)); do
    mapfile -t lines < <($variables "$i")
    env "${lines[@]}" "$@" &
    tasks+=($!)
  done
  for ((i = 0; i < count; i++)); do wait "${tasks[i]}" || status=$?; done
  return $status
}

workers_config() {
  echo 'TF_CONFIG={"cluster": {"worker": ["127.0.0.1:24567", "127.0.0.1:24568"]},' \
    '"task": {"type": "worker", "index": '"$1"'}}'
}
chief_config() {
  local types=(chief worker)
  echo 'TF_CONFIG={"cluster": {"chief": ["127.0.0.1:24567"], "worker": ["127.0.0.1:24568"]},' \
    '"task": {"type": "'"${types[$1]}"'", "index": 0}}'
}
check_tf_config() {
  both "TF_CONFIG, 2 workers" 2 each_env 2 workers_config
  commands_for 2
  row "TF_CONFIG, chief + worker" mnist_trainer 2 each_env 2 chief_config "${lenet[@]}"
}

check_mxnet() {
  find_mxnet_launch
  both "launch.py -s 1 --launcher local" 2 "${mxnet_launch[@]}" -n 2 -s 1 --launcher local
}

# horovodrun takes --network of a command for its own, so the command is a script.
horovod_row() {
  local program=$1
  shift
  printf '%q ' exec "$@" >"$work/horovod_command"
  row "horovodrun --gloo" "$program" 2 \
    "${horovodrun[@]}" --gloo -np 2 bash "$work/horovod_command"
}
check_horovod() {
  find_horovodrun
  commands_for 2
  horovod_row mnist_trainer "${lenet[@]}"
  horovod_row Python "${python[@]}"
}

pod() {
  printf '%s\n' JOB_COMPLETION_INDEX="$1" HOSTNAME=train-"$1" WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 \
    MASTER_PORT=24600
}
check_kubernetes() { both "Kubernetes (variables)" 2 each_env 2 pod; }

# doppio_run ENGINE SHARDS OPTION...: both programs by `doppio run`.
doppio_run() {
  local engine=$1 shards=$2
  shift 2
  both "doppio run --via $engine" "$shards" "$bin/doppio" run --via "$engine" "$@" -n "$shards" --
}
check_doppio_local() { doppio_run local 2; }
check_doppio_ssh() {
  start_sshd 127.0.0.1
  doppio_run ssh 2 -H localhost:1,127.0.0.1:1 --ssh "$(ssh_command)"
}
check_doppio_hosts() {
  start_hosts
  commands_for 2
  local run=("$bin/doppio" run -H 10.77.7.1,10.77.7.2 --ssh "$(ssh_command)")
  row "doppio run, 2 hosts" mnist_trainer 2 "${run[@]}" -- "${lenet[@]}"
  row "doppio run, a host dies" mnist_trainer 2 without_second_host "$work/lost.checkpoint" \
    "${run[@]}" --max_restarts 3 --min_shards 1 -- "${lenet[@]}" --resume auto \
    --checkpoint_every 50 --checkpoint_path "$work/lost.checkpoint"
  stop_hosts
}
# without_second_host FILE COMMAND...: ends the second host of start_hosts once FILE exists.
without_second_host() {
  local file=$1
  shift
  (
    until [ -e "$file" ]; do sleep 0.1; done
    kill -9 "${host_pids[1]}"
  ) &
  local killer=$! status=0
  "$@" || status=$?
  kill $killer 2>/dev/null || true
  wait $killer 2>/dev/null || true
  return $status
}
check_doppio_mpi() {
  install_packages openmpi-bin
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  doppio_run mpi 2
}
check_doppio_slurm() {
  start_slurm
  doppio_run slurm 2
}

# A Redis server for the rest, on $redis_port.
start_redis() {
  [ -z "${redis_port:-}" ] || return 0
  redis_port=24700
  redis-server --bind 127.0.0.1 --port $redis_port --save '' --appendonly no --dir "$work" \
    >"$work/redis.log" 2>&1 &
  pids+=($!)
  until redis-cli -p $redis_port ping >/dev/null 2>&1; do sleep 0.1; done
}

# two_shards COMMAND...: starts COMMAND --shard_id 0 and 1.
two_shards() {
  local shard status=0 tasks=()
  for shard in 0 1; do
    "$@" --shard_id $shard &
    tasks+=($!)
  done
  for shard in 0 1; do wait "${tasks[$shard]}" || status=$?; done
  return $status
}

# killed JOINED COMMAND...: starts two shards, kills both with SIGKILL once the log matches JOINED.
killed() {
  local joined=$1 shard tasks=() log=$work/killed.log
  shift
  : >"$log"
  for shard in 0 1; do
    "$@" --shard_id $shard >>"$log" 2>&1 &
    tasks+=($!)
  done
  until grep -qE "$joined" "$log" || ! kill -0 "${tasks[0]}" 2>/dev/null; do sleep 0.2; done
  kill -9 "${tasks[@]}" 2>/dev/null || true
  wait "${tasks[@]}" 2>/dev/null || true
}

check_redis() {
  start_redis
  commands_for 2
  local command=("${lenet[@]}" --num_shards 2 --run_id again --redis_host 127.0.0.1
    --redis_port $redis_port)
  row "--redis_host" mnist_trainer 2 two_shards "${command[@]}"
  row "--redis_host, same run_id" mnist_trainer 2 two_shards "${command[@]}"
  killed "shards joined" "${command[@]}"
  row "--redis_host, after kill -9" mnist_trainer 2 two_shards "${command[@]}"
}

# They have no small network and no small pictures: 6 iterations of random ones show how they start
# and end.
check_caffe2() {
  if ! find_caffe2_trainers; then
    table+=("caffe2|Caffe2|-|-|-|-|-|-|skipped: no trainers in ${CAFFE2_TRAINERS:-PyPI}")
    echo "${table[-1]}"
    return 0
  fi
  start_redis
  local script name
  for script in "$caffe2_trainers"/*.py; do
    name=$(basename "$script")
    local command=(env -C "$work" "PYTHONPATH=$build/python" "$PWD/build/venv/bin/python" "$script"
      --train_data null --num_labels 10 --image_size 32 --batch_size 4 --epoch_size 48 --num_epochs 1
      --base_learning_rate 0.01 --num_shards 2 --run_id "$name" --redis_host 127.0.0.1
      --redis_port $redis_port --file_store_path "$work/store" --use_cpu)
    grep -A1 '"--use_cpu"' "$script" | grep -q store_true || command+=(True)
    row "$name" Caffe2 2 two_shards "${command[@]}"
    row "$name, same run_id" Caffe2 2 two_shards "${command[@]}"
    killed "Finished iteration 2/" "${command[@]}"
    row "$name, after kill -9" Caffe2 2 two_shards "${command[@]}"
  done
}

for launcher in "${launchers[@]}"; do "check_$launcher"; done
echo
echo "Input: $MNIST_KIND; $images images; load of the machine now: $(cut -d' ' -f1 /proc/loadavg) on" \
  "$(nproc) cores"
printf '%s\n' "${table[@]}" | column -t -s '|'
exit $failed
