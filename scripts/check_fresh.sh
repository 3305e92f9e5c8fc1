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
. scripts/bare_root.sh

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
check_bare_root "$suite"

logs=build/check_fresh/$suite
# The root, with the files of HEAD in it.
make_root() {
  make_bare_root "$suite" "$logs" "$keep"
  mkdir -p "$root/srv/doppio" "$root/mnt/mnist" "$root/var/cache/ccache"
  git archive HEAD | tar -x -C "$root/srv/doppio"
  [ -z "$cache" ] || root_binds+=("$cache:/var/cache/ccache")
  [ -z "$mnist" ] || root_binds+=("$mnist:/mnt/mnist:ro")
}

packages() { dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Package}\n' | wc -l; }
mebibytes() { du -sm "$1" | cut -f1; }

# step SCRIPT OPTION...: runs it in the root, says what it needed, and its result.
step() {
  local script=$1 log=$logs/$1.log start=$SECONDS before disk result=passed closing
  shift
  before=$(packages) disk=$(mebibytes "$root")
  printf '\n== scripts/%s.sh (log: %s)\n' "$script" "$log"
  in_bare_root bash -c 'cd /srv/doppio && exec "$@"' - "scripts/$script.sh" "$@" >"$log" 2>&1 ||
    result=FAILED
  closing=$(tail -n 1 "$log")
  [ "$script" != test ] || [[ $closing =~ ^[0-9]+\ passed,\ 0\ failed,\ [0-9]+\ skipped$ ]] || result=FAILED
  echo "$result in $((SECONDS - start)) s"
  grep '^Installing: ' "$log" || true
  echo "packages: $(($(packages) - before)) more; disk: $(($(mebibytes "$root") - disk)) MiB more," \
    "build/ now $(mebibytes "$root/srv/doppio/build") MiB"
  if [ $result = passed ]; then
    grep -E '^Input was' "$log" || true
    echo "$closing"
  else
    failed+=("$script")
    grep -E '^(failed: |error: )' "$log" || true
    tail -n 30 "$log"
  fi
}

failed=()
[ -z "$mnist" ] || root_environment+=(MNIST_DIR=/mnt/mnist)
if [ -n "$cache" ]; then
  echo "Compiled files may come from $cache: the times are not those of a first build"
  root_environment+=(CCACHE_DIR=/var/cache/ccache CCACHE_BASEDIR=/srv CCACHE_NOHASHDIR=1
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
