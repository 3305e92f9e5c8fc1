#!/usr/bin/env bash
# Runs scripts/quickstart.sh, then scripts/test.sh, in a new root directory that holds nothing but
# the smallest system of a distribution (debootstrap, minbase) and the files of HEAD. Says what each
# of them needed (packages, time, disk) and how it ended. Fails if one failed.
#
#   scripts/check_fresh.sh SUITE [--only quickstart|test] [--model NAME] [--ccache DIR] [--keep]
#
#   SUITE      bookworm, trixie or another suite of Debian or Ubuntu that debootstrap knows
#   --only     runs only one of the two scripts
#   --model    the model that the quick start trains (default: its own)
#   --ccache   a compiler cache of the host to take compiled files from and to add to; a repeated
#              check is quicker with it, and its times are not those of a first build
#   --keep     leaves the root directory where it is
#
# MNIST_DIR may name a folder with the real MNIST files, MNIST_MIRROR a URL to fetch them from. The
# root directory is made in TMPDIR (default: build/) and the logs are in build/check_fresh/SUITE.
# Needs root. The host's package mirrors, proxies, certificates and pip settings hold in the root too.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/dependencies.sh

fail() { echo "error: $*" >&2 && exit "${status:-1}"; }

suite='' only='' model=() cache='' keep=''
while [ $# -gt 0 ]; do
  case $1 in
    --only) only=${2:?} && shift 2 ;;
    --model) model=(--model "${2:?}") && shift 2 ;;
    --ccache) cache=${2:?} && shift 2 ;;
    --keep) keep=1 && shift ;;
    -h | --help) sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//' && exit 0 ;;
    -*) status=2 fail "unknown option $1 (see --help)" ;;
    *) [ -z "$suite" ] || status=2 fail "one suite at a time, not $suite and $1"
      suite=$1 && shift ;;
  esac
done
[ -n "$suite" ] || status=2 fail "name a suite, such as bookworm (see --help)"
case $only in '' | quickstart | test) ;; *) status=2 fail "--only is quickstart or test, not $only" ;; esac
[ -z "$cache" ] || { [ -d "$cache" ] && cache=$(realpath "$cache"); } || fail "--ccache: no folder $cache"
mnist=${MNIST_DIR:-}
[ -z "$mnist" ] || { [ -d "$mnist" ] && mnist=$(realpath "$mnist"); } || fail "MNIST_DIR: no folder $mnist"
[ "$(id -u)" -eq 0 ] || fail "only root can make a root directory and change into it: try sudo"
install_packages "${FRESH_PACKAGES[@]}"
recipe=/usr/share/debootstrap/scripts/$suite
[ -f "$recipe" ] || fail "debootstrap knows no suite $suite; the suites it knows are in ${recipe%/*}"
keyring=$(sed -n 's/^keyring //p' "$recipe")
[ -e "$keyring" ] || fail "the keys of $suite are missing: $keyring"
unshare --mount --pid --fork true || fail "namespaces cannot be made here (CAP_SYS_ADMIN is missing)"

logs=build/check_fresh/$suite
mkdir -p "$logs"
root=$(mktemp -d "${TMPDIR:-$PWD/build}/fresh-$suite.XXXXXX")
child=
cleanup() {
  local status=$?
  trap - EXIT INT TERM HUP
  if [ -n "$child" ]; then
    # The first process of its namespace: all others, and all mounts, end with it.
    pkill -KILL -P "$child" || kill -KILL "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  fi
  if [ -n "$keep" ]; then
    echo "The root directory stays: $root"
  else
    rm -rf --one-file-system "$root"
  fi
  exit $status
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# contained COMMAND...: in namespaces of its own, so that nothing it mounts or starts outlasts it.
contained() {
  local status=0
  unshare --mount --pid --fork --kill-child --mount-proc "$@" &
  child=$!
  wait "$child" || status=$?
  child=
  return $status
}

# The host's mirrors as lines "URI SUITE", with this suite instead of the host's; none if the host is
# of another distribution.
host_mirrors() {
  (
    . /etc/os-release
    [[ ${keyring##*/} == "$ID"-* ]] || exit 0
    # shellcheck disable=SC2016 # the fields are apt's
    apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' "Origin: ${ID^}" |
      sed -nE "s/ $VERSION_CODENAME(-updates|-security)?\$/ $suite\1/p" | sort -u
  )
}

# What a machine in this network needs to reach a mirror and PyPI.
copy_network_settings() {
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  apt-config dump | grep -E '^Acquire::((https?|ftp)::Proxy(::[^ ]*)? |Check-)' \
    >"$root/etc/apt/apt.conf.d/90host" || true
  mkdir -p "$root/usr/local/share/ca-certificates"
  find /usr/local/share/ca-certificates -name '*.crt' \
    -exec cp {} "$root/usr/local/share/ca-certificates/" \;
  [ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/"
  [ ! -e ~/.config/pip/pip.conf ] ||
    install -D ~/.config/pip/pip.conf "$root/root/.config/pip/pip.conf"
}

make_root() {
  local components=main mirrors mirror
  [[ $keyring != */ubuntu-* ]] || components=main,universe
  mirrors=$(host_mirrors)
  mirror=$(awk -v suite="$suite" '$2 == suite { print $1; exit }' <<<"$mirrors")
  contained debootstrap --variant=minbase --force-check-gpg --components=$components "$suite" "$root" \
    ${mirror:+"$mirror"} >"$logs/debootstrap.log" 2>&1 ||
    { tail -n 20 "$logs/debootstrap.log" >&2 && fail "debootstrap failed"; }
  awk -v suite="$suite" -v components="${components/,/ }" \
    '$2 != suite { print "deb", $1, $2, components }' <<<"$mirrors" >>"$root/etc/apt/sources.list"
  copy_network_settings
  # As in a container, packages start no services.
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
  mkdir -p "$root/srv/doppio" "$root/mnt/mnist" "$root/var/cache/ccache"
  git archive HEAD | tar -x -C "$root/srv/doppio"
}

# In the namespaces: ROOT CACHE MNIST COMMAND...
# shellcheck disable=SC2016 # for the inner shell
enter='
set -e
root=$1 cache=$2 mnist=$3
shift 3
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
[ -z "$cache" ] || mount --bind "$cache" "$root/var/cache/ccache"
[ -z "$mnist" ] || mount --bind -o ro "$mnist" "$root/mnt/mnist"
exec chroot "$root" "$@"'

packages() { dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Package}\n' | wc -l; }
mebibytes() { du -sm "$1" | cut -f1; }

# step SCRIPT OPTION...: runs it in the root, says what it needed, and its result.
step() {
  local script=$1 log=$logs/$1.log start=$SECONDS before disk result=passed closing
  shift
  before=$(packages) disk=$(mebibytes "$root")
  printf '\n== scripts/%s.sh (log: %s)\n' "$script" "$log"
  # A job in the background ignores Ctrl-C unless it is told not to.
  contained bash -c "$enter" - "$root" "$cache" "$mnist" \
    env -i --default-signal=INT,QUIT "${environment[@]}" \
    bash -c 'cd /srv/doppio && exec "$@"' - "scripts/$script.sh" "$@" >"$log" 2>&1 || result=FAILED
  closing=$(tail -n 1 "$log")
  [ "$script" != test ] || [[ $closing =~ ^[0-9]+\ passed,\ 0\ failed,\ [0-9]+\ skipped$ ]] || result=FAILED
  echo "$result in $((SECONDS - start)) s"
  grep '^Installing: ' "$log" || true
  echo "packages: $(($(packages) - before)) more; disk: $(($(mebibytes "$root") - disk)) MiB more," \
    "build/ now $(mebibytes "$root/srv/doppio/build") MiB"
  if [ $result = passed ]; then
    grep -E '^(Input was|suites that did not finish)' "$log" || true
    echo "$closing"
  else
    failed+=("$script")
    grep -E '^(failed: |error: )' "$log" || true
    tail -n 30 "$log"
  fi
}

failed=()
environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root)
for name in {http,https,no}_proxy {HTTP,HTTPS,NO}_PROXY MNIST_MIRROR \
  PIP_{INDEX_URL,EXTRA_INDEX_URL,TRUSTED_HOST,PROXY,DEFAULT_TIMEOUT}; do
  [ -z "${!name:-}" ] || environment+=("$name=${!name}")
done
[ -z "$mnist" ] || environment+=(MNIST_DIR=/mnt/mnist)
if [ -n "$cache" ]; then
  echo "Compiled files may come from $cache: the times are not those of a first build"
  environment+=(CCACHE_DIR=/var/cache/ccache CCACHE_BASEDIR=/srv CCACHE_NOHASHDIR=1
    CCACHE_COMPILERCHECK=content)
fi
[ -z "$(git status --porcelain)" ] || echo "warning: what is not committed is not checked" >&2
make_root
echo "$suite: a root of $(packages) packages and $(mebibytes "$root") MiB after $SECONDS s," \
  "with $(git rev-parse --short HEAD)"
[ "$only" = test ] || step quickstart "${model[@]}"
[ "$only" = quickstart ] || step test
printf '\ncheck_fresh %s: ' "$suite"
if [ ${#failed[@]} -eq 0 ]; then
  echo "passed in $SECONDS s"
else
  echo "FAILED: ${failed[*]}" && exit 1
fi
