#!/usr/bin/env bash
# Two shards train ResNet-50 on MNIST on this machine, from nothing: installs what is missing,
# builds, makes the databases, starts a Redis server and the shards, shows their progress and the
# run's keys, prints the final test accuracy and cleans up. The databases stay, for runs of your own:
# build/quickstart/mnist_train_lmdb and mnist_test_lmdb.
#
#   scripts/quickstart.sh [--store redis|file] [--shards N] [--model NAME]
#
#   --store    where the shards find each other: a Redis server (default) or a shared directory
#   --shards   number of shards (default 2)
#   --model    resnet50 (default), resnet18, lenet, mlp, ...
#
# MNIST_DIR may name a folder with the real MNIST files, MNIST_MIRROR a URL to fetch them from.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/dependencies.sh
. scripts/mnist.sh

store=redis shards=2 model=resnet50
while [ $# -gt 0 ]; do
  case $1 in
    --store) store=${2:?} && shift 2 ;;
    --shards) shards=${2:?} && shift 2 ;;
    --model) model=${2:?} && shift 2 ;;
    -h | --help) sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//' && exit 0 ;;
    *) echo "error: unknown option $1 (see --help)" >&2 && exit 2 ;;
  esac
done
case $store in redis | file) ;; *) echo "error: --store is redis or file, not $store" >&2 && exit 2 ;; esac
[[ $shards =~ ^[1-9][0-9]*$ ]] || { echo "error: --shards takes a positive number, not $shards" >&2 && exit 2; }

build=build/release
bin=$build/bin
cache=build/quickstart
train_data=$cache/mnist_train_lmdb test_data=$cache/mnist_test_lmdb
work=$(mktemp -d)
pids=()        # all that runs in the background
shard_pids=()  # the shards among it: they end first, while their store is there
cleanup() {
  local status=$?
  trap - EXIT INT TERM
  if [ ${#shard_pids[@]} -gt 0 ]; then
    kill "${shard_pids[@]}" 2>/dev/null || true
    wait "${shard_pids[@]}" 2>/dev/null || true
  fi
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work" $cache/mnist/*.part $cache/*.part.$$
  exit $status
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# A loopback port on which nobody listens.
free_port() {
  local port
  for port in $(seq 16379 16479); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port" && return; }
  done
  echo "error: no free port from 16379 to 16479" >&2 && return 1
}

say() { printf '\n== %s\n' "$*"; }

say "Packages"
install_packages "${BUILD_PACKAGES[@]}" "${RUN_PACKAGES[@]}"
say "Build ($build)"
cmake --preset release -DBUILD_TESTS=OFF -DBUILD_BENCHMARKS=OFF >"$work/cmake.log" 2>&1 ||
  { cat "$work/cmake.log" >&2; exit 1; }
cmake --build $build --target resnet50_trainer make_mnist_db render_digits

say "MNIST"
mkdir -p $cache
find_mnist $cache $bin
echo "Input: $MNIST_KIND"
# make_database STEM DATABASE: the database of this input. One that holds the same already stays, as
# another run may be reading it.
make_database() {
  local images=$MNIST_SOURCE/$1-images-idx3-ubyte labels=$MNIST_SOURCE/$1-labels-idx1-ubyte
  [ -e "$images" ] || { images+=.gz && labels+=.gz; }
  $bin/make_mnist_db --image_file "$images" --label_file "$labels" --db lmdb \
    --output_file "$2.part.$$"
  cmp -s "$2.part.$$/data.mdb" "$2/data.mdb" && return
  rm -rf "$2"
  mv "$2.part.$$" "$2"
}
make_database train $train_data
make_database t10k $test_data
echo "Databases: $train_data $test_data"

run_id=quickstart-$$
if [ "$store" = redis ]; then
  say "Redis"
  port=$(free_port)
  # In a session of its own, as the shards: Ctrl-C reaches this script alone, which ends them in order.
  setsid redis-server --bind 127.0.0.1 --port "$port" --save '' --appendonly no --dir "$work" \
    >"$work/redis.log" 2>&1 &
  pids+=($!)
  for _ in $(seq 50); do
    redis-cli -p "$port" ping >/dev/null 2>&1 && break
    sleep 0.1
  done
  redis-cli -p "$port" ping >/dev/null || { cat "$work/redis.log" >&2; exit 1; }
  echo "Redis listens on 127.0.0.1:$port"
  rendezvous=(--redis_host 127.0.0.1 --redis_port "$port")
else
  rendezvous=()
fi
run_dir=$work/run  # models, and the keys of the run where there is no Redis
mkdir "$run_dir"

# The cores are shared out among the shards.
threads=$(($(nproc) / shards))
[ $threads -ge 1 ] || threads=1
batch=$((64 / shards))
[ $batch -ge 1 ] || batch=1

say "$shards shards train $model (run_id $run_id, $threads thread(s) each)"
start=$SECONDS
for ((i = 0; i < shards; i++)); do
  command=($bin/resnet50_trainer --use_cpu --model "$model"
    --num_shards "$shards" --shard_id $i --run_id $run_id ${rendezvous[@]+"${rendezvous[@]}"}
    --train_data $train_data --test_data $test_data --db_type lmdb
    --num_labels 10 --num_channels 3 --image_size 28 --batch_size $batch
    --epoch_size 32000 --num_epochs 1 --test_epoch_size 10000 --shuffle --nomirror
    --optimizer adam --base_learning_rate 0.002 --lr_policy poly --zero_init_residual --log_every 10
    --file_store_path "$run_dir" --save_model_name "$model" --log_csv '')
  [ $i -gt 0 ] || { printf '%q ' "${command[@]}"; echo; }
  OMP_NUM_THREADS=$threads setsid "${command[@]}" >"$work/shard_$i.log" 2>&1 &
  shard_pids+=($!)
  pids+=($!)
done
tail -n +1 -f --pid="${shard_pids[0]}" "$work/shard_0.log" &
pids+=($!)

show_keys() {
  if [ "$shards" -eq 1 ]; then
    echo "-- a run of one shard keeps no keys"
  elif [ "$store" = redis ]; then
    echo "-- redis-cli --scan --pattern '$run_id/*'"
    redis-cli -p "$port" --scan --pattern "$run_id/*" | sort
    echo "-- the status of shard 0"
    redis-cli -p "$port" hgetall "$run_id/status/0"
  else
    echo "-- the run's directory"
    (cd "$run_dir" && find . -type f | sort)
  fi
}
# Once it trains, and has published that (every two seconds).
until grep -q 'Finished iteration' "$work/shard_0.log"; do
  kill -0 "${shard_pids[0]}" 2>/dev/null || break
  sleep 0.2
done
sleep 2.5
if kill -0 "${shard_pids[0]}" 2>/dev/null; then show_keys; fi

failed=0
for pid in "${shard_pids[@]}"; do wait "$pid" || failed=1; done
sleep 0.2
if [ $failed -ne 0 ]; then
  for ((i = 1; i < shards; i++)); do echo "-- shard $i" && tail -n 5 "$work/shard_$i.log"; done
  echo "error: a shard failed" >&2
  exit 1
fi
say "Done in $((SECONDS - start)) s"
if [ "$store" = redis ]; then
  left=$(redis-cli -p "$port" dbsize | tr -dc 0-9)
  echo "Keys left in Redis: $left"
fi
echo "Input was: $MNIST_KIND"
echo "Databases for runs of your own: $train_data $test_data"
grep -E 'Test (loss|accuracy)' "$work/shard_0.log" | tail -n 1
