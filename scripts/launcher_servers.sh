# Servers and tools for scripts/check_launchers.sh; sourced, not run. Needs $work, a folder for their
# files, and adds their processes to $pids.

# A Slurm controller and a node of this machine alone, on ports and in files of their own.
start_slurm() {
  [ ! -e "$work/slurm.conf" ] || return 0
  install_packages slurm-wlm
  local host
  host=$(hostname -s)
  export SLURM_CONF=$work/slurm.conf
  mkdir -p "$work/slurm"
  cat >"$SLURM_CONF" <<END
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
END
  slurmctld -D >"$work/slurmctld.log" 2>&1 &
  pids+=($!)
  slurmd -D >"$work/slurmd.log" 2>&1 &
  pids+=($!)
  local _
  for _ in $(seq 60); do
    [ "$(sinfo -h -o %t 2>/dev/null)" = idle ] && return 0
    sleep 1
  done
  tail -n 5 "$work/slurmctld.log" "$work/slurmd.log" >&2
  echo "error: Slurm does not start" >&2
  return 1
}

# The words of an ssh that reaches the servers of start_sshd without a question.
SSH_PORT=22622
ssh_command() {
  echo "ssh -p $SSH_PORT -i $work/user_key -o UserKnownHostsFile=/dev/null" \
    "-o StrictHostKeyChecking=no -o LogLevel=ERROR"
}

make_ssh_keys() {
  [ ! -e "$work/host_key" ] || return 0
  install_packages openssh-server openssh-client
  local key
  for key in host_key user_key; do ssh-keygen -q -t ed25519 -N '' -f "$work/$key"; done
  [ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
}

# start_sshd ADDRESS [COMMAND...]: an sshd for this user, started by COMMAND, with keys of its own.
start_sshd() {
  local address=$1 _
  shift
  make_ssh_keys
  "$@" /usr/sbin/sshd -D -e -f /dev/null -p $SSH_PORT -h "$work/host_key" \
    -o ListenAddress="$address" -o AuthorizedKeysFile="$work/user_key.pub" -o StrictModes=no \
    -o PidFile=none -o UsePAM=no 2>>"$work/sshd.log" &
  pids+=($!)
  for _ in $(seq 50); do
    (exec 3<>"/dev/tcp/$address/$SSH_PORT") 2>/dev/null && return 0
    sleep 0.1
  done
  cat "$work/sshd.log" >&2
  echo "error: sshd does not start at $address" >&2
  return 1
}

# Two hosts on this machine, 10.77.7.1 and 10.77.7.2: network namespaces with host names, process
# ids and an sshd of their own, joined to this host (10.77.7.254) by a bridge. Needs root.
HOST_NAMES=(doppio-host1 doppio-host2)
hosts_started="" host_pids=()
start_hosts() {
  install_packages iproute2 util-linux
  hosts_started=1
  ip link add doppio-bridge type bridge
  ip address add 10.77.7.254/24 dev doppio-bridge
  ip link set doppio-bridge up
  local i name
  for i in 1 2; do
    name=${HOST_NAMES[i - 1]}
    ip netns add "$name"
    ip link add "doppio-port$i" type veth peer name eth0 netns "$name"
    ip link set "doppio-port$i" master doppio-bridge up
    ip -n "$name" address add "10.77.7.$i/24" dev eth0
    ip -n "$name" link set eth0 up
    ip -n "$name" link set lo up
    ip -n "$name" route add default via 10.77.7.254
    start_sshd "10.77.7.$i" ip netns exec "$name" unshare --uts --pid --fork --kill-child \
      --mount-proc sh -c "hostname $name && exec \"\$@\"" sh
    host_pids+=("${pids[-1]}")
  done
}

stop_hosts() {
  local name
  [ -n "$hosts_started" ] || return 0
  # unshare ignores SIGTERM; its death ends the host's processes.
  [ ${#host_pids[@]} -eq 0 ] || kill -9 "${host_pids[@]}" 2>/dev/null || true
  for name in doppio-port1 doppio-port2 doppio-bridge; do
    ip link delete "$name" 2>/dev/null || true
  done
  for name in "${HOST_NAMES[@]}"; do ip netns delete "$name" 2>/dev/null || true; done
  hosts_started="" host_pids=()
}

# build/launcher-venv is a virtual environment with the launchers that PyPI has: torchrun, and, in
# its folder launchers, the files of MXNet's launch.py and of horovodrun, which need no library.
launcher_venv=$PWD/build/launcher-venv
make_launcher_venv() {
  [ -d "$launcher_venv" ] || python3 -m venv "$launcher_venv"
}
launcher_pip() { "$launcher_venv/bin/pip" "$1" --quiet --disable-pip-version-check "${@:2}"; }

# Sets torchrun: $TORCHRUN, or the one of a PyTorch from PyPI.
find_torchrun() {
  torchrun=${TORCHRUN:-$launcher_venv/bin/torchrun}
  [ ! -x "$torchrun" ] || return 0
  make_launcher_venv
  # PyPI's package brings CUDA; PyTorch's own index has one without.
  launcher_pip install --index-url https://download.pytorch.org/whl/cpu torch numpy 2>/dev/null ||
    launcher_pip install "${PYTORCH:-torch}" numpy
}

# Sets mxnet_launch: the command of launch.py in MXNet's wheel. It calls Thread.isAlive, which Python
# 3.9 removed.
find_mxnet_launch() {
  local folder=$launcher_venv/launchers/mxnet
  if [ ! -e "$folder" ]; then
    make_launcher_venv
    mkdir -p "$work/wheels" "$folder.part"
    launcher_pip download --no-deps --dest "$work/wheels" mxnet==1.9.1
    python3 - "$work/wheels"/mxnet-*.whl "$folder.part" <<'END'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        if name == "mxnet/tools/launch.py" or name.startswith("dmlc_tracker/"):
            wheel.extract(name, sys.argv[2])
END
    mv "$folder.part" "$folder"
  fi
  mxnet_launch=(env "PYTHONPATH=$folder" "$launcher_venv/bin/python" -W ignore -c '
import runpy, sys, threading
threading.Thread.isAlive = threading.Thread.is_alive
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")' "$folder/mxnet/tools/launch.py")
}

# Sets horovodrun: the launcher in Horovod's source package. Only its check that Horovod's own
# library was built with Gloo is left out.
find_horovodrun() {
  local folder=$launcher_venv/launchers/horovod
  if [ ! -e "$folder" ]; then
    make_launcher_venv
    mkdir -p "$work/wheels" "$folder.part"
    launcher_pip install psutil cloudpickle pyyaml packaging
    launcher_pip download --no-deps --no-binary horovod --dest "$work/wheels" horovod==0.28.1
    tar -xzf "$work/wheels"/horovod-*.tar.gz -C "$folder.part" --strip-components 1 \
      --wildcards '*/horovod/*'
    mv "$folder.part" "$folder"
  fi
  horovodrun=(env "PYTHONPATH=$folder" "$launcher_venv/bin/python" -c '
from horovod.runner import launch
launch.gloo_built = lambda verbose=False: True
launch.run_commandline()')
}

# Sets caffe2_trainers: $CAFFE2_TRAINERS, or a folder with the trainer in the last wheel of PyTorch
# that could still be installed with Caffe2's Python. Fails if neither can be had.
find_caffe2_trainers() {
  caffe2_trainers=${CAFFE2_TRAINERS:-$launcher_venv/launchers/caffe2}
  [ ! -e "$caffe2_trainers" ] || return 0
  [ -z "${CAFFE2_TRAINERS:-}" ] || return 1
  make_launcher_venv
  mkdir -p "$work/wheels" "$caffe2_trainers.part"
  launcher_pip download --no-deps --python-version 3.10 --only-binary :all: --dest "$work/wheels" \
    torch==1.12.1 || return 1
  python3 -c '
import sys, zipfile
name = "caffe2/python/examples/imagenet_trainer.py"
with zipfile.ZipFile(sys.argv[1]) as wheel, open(sys.argv[2], "wb") as file:
    file.write(wheel.read(name))' "$work/wheels"/torch-*.whl "$caffe2_trainers.part/imagenet_trainer.py"
  rm "$work/wheels"/torch-*.whl
  mv "$caffe2_trainers.part" "$caffe2_trainers"
}
