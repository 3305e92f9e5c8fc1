#!/usr/bin/env bash
# Starts trainers by real launchers on this machine and prints a table: torchrun of PyTorch, mpirun of
# Open MPI, mpiexec of MPICH, srun of a Slurm of one node, two processes with TF_CONFIG, and
# `doppio run` alone and through ssh, mpirun and srun.
# Installs what is missing with apt-get, and PyTorch from PyPI into build/torch-venv.
#
#   scripts/check_launchers.sh [--images N] [LAUNCHER...]
#
#   --images  digits that LeNet trains on in each run (default 6400; 300000 are five epochs of MNIST,
#             after which the accuracy is 0.99)
#   LAUNCHER  torchrun, mpirun, mpiexec, srun, tf_config, doppio_local, doppio_ssh, doppio_mpi,
#             doppio_slurm (default: all)
#
# TORCHRUN may name a torchrun that is installed; PYTORCH the package to install (default: torch).
# A row is "ok" if all shards trained together, ended well and left no server. Fails if one is not.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/dependencies.sh
. scripts/mnist.sh

images=6400
if [ "${1:-}" = --images ]; then images=${2:?} && shift 2; fi
launchers=("$@")
[ $# -gt 0 ] || \
  launchers=(torchrun mpirun mpiexec srun tf_config doppio_local doppio_ssh doppio_mpi doppio_slurm)

build=$PWD/build/release
bin=$build/bin
cache=$PWD/build/quickstart
work=$(mktemp -d)
pids=()
cleanup() {
  local status=$?
  trap - EXIT INT TERM
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
  exit $status
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

install_packages "${BUILD_PACKAGES[@]}" "${RUN_PACKAGES[@]}" python3 python3-venv
make_python_environment build/venv
[ -e $build/build.ninja ] || cmake --preset release -DBUILD_TESTS=OFF -DBUILD_BENCHMARKS=OFF
cmake --build $build --target mnist_trainer doppio make_mnist_db render_digits caffe2_python
mkdir -p "$cache"
find_mnist "$cache" "$bin"
for stem in train t10k; do
  files=("$MNIST_SOURCE/$stem"-{images-idx3,labels-idx1}-ubyte)
  [ -e "${files[0]}" ] || files=("${files[@]/%/.gz}")
  "$bin/make_mnist_db" --image_file "${files[0]}" --label_file "${files[1]}" --db lmdb \
    --output_file "$work/$stem" >/dev/null
done

# The same for every launcher: it alone says where a shard belongs.
lenet=("$bin/mnist_trainer" --use_cpu --network lenet --train_data "$work/train" --test_data
  "$work/t10k" --num_epochs 1 --num_examples "$images" --disp_batches 1000 --lr 0.02)
python=(env "PYTHONPATH=$build/python" "$PWD/build/venv/bin/python" -m
  caffe2.python.examples.resnet50_trainer --train_data null --use_cpu --num_layers 18
  --image_size 32 --num_labels 10 --batch_size 4 --epoch_size 64 --num_epochs 1
  --base_learning_rate 0.01 --file_store_path "$work")

failed=0
table=("launcher|program|shards|understood as|test accuracy|seconds|result")
# row LAUNCHER PROGRAM SHARDS COMMAND...: runs it and adds its row to the table.
row() {
  local launcher=$1 program=$2 shards=$3 log=$work/log result=ok status=0 begin=$SECONDS
  shift 3
  echo "== $launcher, $program: $*"
  "$@" >"$log" 2>&1 || status=$?
  local joined understood accuracy address
  # Each shard says so when all have joined; a Python one does not train before, and says its place.
  joined=$(grep -c "all $shards shards joined" "$log" || true)
  [ "$program" != python ] ||
    joined=$(grep -oE ": shard [0-9]+ of $shards" "$log" | sort -u | wc -l)
  understood=$(grep -oE '[A-Za-z_ ]+: shard 0 of .*' "$log" | head -n 1 || true)
  accuracy=$(grep -oE 'Validation-accuracy=[0-9.]+' "$log" | tail -n 1 | cut -d= -f2 || true)
  [ "$status" -eq 0 ] || result="exit status $status"
  [ "$joined" -eq "$shards" ] || result="$joined of $shards shards joined"
  for address in $(grep -oE 'its store is at [^,]+' "$log" | awk '{print $NF}'); do
    ! (exec 3<>"/dev/tcp/${address%:*}/${address##*:}") 2>/dev/null || result="a server is left"
  done
  if [ "$result" != ok ]; then
    failed=1
    tail -n 20 "$log"
  fi
  table+=("$launcher|$program|$shards|${understood# }|${accuracy:--}|$((SECONDS - begin))|$result")
}

check_torchrun() {
  local torchrun=${TORCHRUN:-}
  if [ -z "$torchrun" ]; then
    torchrun=$PWD/build/torch-venv/bin/torchrun
    if [ ! -x "$torchrun" ]; then
      python3 -m venv build/torch-venv
      local pip=(build/torch-venv/bin/pip install --quiet --disable-pip-version-check)
      # PyPI's package brings CUDA; PyTorch's own index has one without.
      "${pip[@]}" --index-url https://download.pytorch.org/whl/cpu torch numpy ||
        "${pip[@]}" "${PYTORCH:-torch}" numpy
    fi
  fi
  row torchrun mnist_trainer 2 "$torchrun" --nproc_per_node 2 --no_python "${lenet[@]}"
  row "torchrun --standalone" mnist_trainer 2 \
    "$torchrun" --standalone --nproc_per_node 2 --no_python "${lenet[@]}"
  row torchrun python 2 "$torchrun" --nproc_per_node 2 --no_python "${python[@]}"
}

check_mpirun() {
  install_packages openmpi-bin
  local mpirun=(mpirun.openmpi --oversubscribe -n 4)
  [ "$(id -u)" -ne 0 ] || mpirun+=(--allow-run-as-root)
  row "mpirun (Open MPI)" mnist_trainer 4 "${mpirun[@]}" "${lenet[@]}"
  row "mpirun (Open MPI)" python 4 "${mpirun[@]}" "${python[@]}"
}

# Its processes are told no name of the run.
check_mpiexec() {
  install_packages mpich
  row "mpiexec (MPICH)" mnist_trainer 2 mpiexec.hydra -n 2 "${lenet[@]}" --run_id mpich
  row "mpiexec (MPICH)" python 2 mpiexec.hydra -n 2 "${python[@]}" --run_id mpich
}

# A controller and a node of this machine alone, on ports and in files of their own.
start_slurm() {
  [ ! -e "$work/slurm.conf" ] || return 0
  install_packages slurm-wlm
  local host
  host=$(hostname -s)
  export SLURM_CONF=$work/slurm.conf
  mkdir -p "$work/slurm"
  cat >"$SLURM_CONF" <<EOF
ClusterName=check
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/none
CredType=cred/none
SlurmctldPort=26817
SlurmdPort=26818
SlurmctldPidFile=$work/slurm/slurmctld.pid
SlurmdPidFile=$work/slurm/slurmd.pid
StateSaveLocation=$work/slurm/state
SlurmdSpoolDir=$work/slurm/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=check Nodes=ALL Default=YES State=UP
EOF
  slurmctld -D >"$work/slurmctld.log" 2>&1 &
  pids+=($!)
  slurmd -D >"$work/slurmd.log" 2>&1 &
  pids+=($!)
  for _ in $(seq 60); do
    [ "$(sinfo -h -o %t 2>/dev/null)" = idle ] && return 0
    sleep 1
  done
  tail -n 5 "$work/slurmctld.log" "$work/slurmd.log" >&2
  echo "error: Slurm does not start" >&2
  return 1
}

check_srun() {
  start_slurm
  row srun mnist_trainer 2 srun -n 2 "${lenet[@]}"
  row srun python 2 srun -n 2 "${python[@]}"
}

# Both tasks of a cluster; there is no launcher.
tf_config() {
  local index status=0 tasks=()
  for index in 0 1; do
    TF_CONFIG='{"cluster": {"worker": ["127.0.0.1:24567", "127.0.0.1:24568"]},
      "task": {"type": "worker", "index": '$index'}}' "$@" &
    tasks+=($!)
  done
  for index in 0 1; do wait "${tasks[$index]}" || status=$?; done
  return $status
}

check_tf_config() {
  row TF_CONFIG mnist_trainer 2 tf_config "${lenet[@]}"
  row TF_CONFIG python 2 tf_config "${python[@]}"
}

# doppio_row ENGINE SHARDS OPTION...: both programs by `doppio run`.
doppio_row() {
  local engine=$1 shards=$2
  shift 2
  row "doppio run --via $engine" mnist_trainer "$shards" \
    "$bin/doppio" run --via "$engine" -n "$shards" "$@" -- "${lenet[@]}"
  row "doppio run --via $engine" python "$shards" \
    "$bin/doppio" run --via "$engine" -n "$shards" "$@" -- "${python[@]}"
}

check_doppio_local() { doppio_row local 2; }

# An sshd for this user on loopback, with keys of its own.
start_sshd() {
  install_packages openssh-server openssh-client
  local key
  for key in host_key user_key; do ssh-keygen -q -t ed25519 -N '' -f "$work/$key"; done
  [ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
  /usr/sbin/sshd -D -e -f /dev/null -p 22622 -h "$work/host_key" -o ListenAddress=127.0.0.1 \
    -o AuthorizedKeysFile="$work/user_key.pub" -o StrictModes=no -o PidFile=none -o UsePAM=no \
    2>"$work/sshd.log" &
  pids+=($!)
  for _ in $(seq 50); do
    (exec 3<>/dev/tcp/127.0.0.1/22622) 2>/dev/null && return 0
    sleep 0.1
  done
  cat "$work/sshd.log" >&2
  echo "error: sshd does not start" >&2
  return 1
}

check_doppio_ssh() {
  start_sshd
  doppio_row ssh 2 -H localhost:1,127.0.0.1:1 -x "PYTHONPATH=$build/python" --ssh "ssh -p 22622 \
    -i $work/user_key -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no -o LogLevel=ERROR"
}

check_doppio_mpi() {
  install_packages openmpi-bin
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 doppio_row mpi 2
}

check_doppio_slurm() {
  start_slurm
  doppio_row slurm 2
}

for launcher in "${launchers[@]}"; do
  case $launcher in
    torchrun | mpirun | mpiexec | srun | tf_config | doppio_*) "check_$launcher" ;;
    *) echo "error: unknown launcher $launcher" >&2 && exit 2 ;;
  esac
done
echo
echo "Input: $MNIST_KIND"
printf '%s\n' "${table[@]}" | column -t -s '|'
exit $failed
