#!/usr/bin/env bash
# Installs a package in a new root directory that holds nothing but the smallest system of a
# distribution (debootstrap, minbase), and tries it there as a new user does (scripts/try_package.sh):
#   scripts/check_package.sh SUITE FILE
# FILE is a wheel (scripts/make_wheel.sh), a .deb (cpack) or an archive of scripts/make_bundle.sh. A
# wheel also gets what pip needs, and its dependencies from PyPI. The root is made in TMPDIR (default:
# build/). Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/dependencies.sh
. scripts/bare_root.sh

[ $# -eq 2 ] || status=2 fail "name a suite, such as bookworm, and a package"
suite=$1 file=$2
case $file in *.whl | *.deb | *.tar.xz) ;; *) status=2 fail "not a wheel, .deb or .tar.xz: $file" ;; esac
[ -f "$file" ] || status=2 fail "no such file: $file"
check_bare_root "$suite"
case $file in *.whl | *.tar.xz) python3 scripts/check_sbom.py "$file" ;; esac
make_bare_root "$suite" "build/check_package/$suite"
mkdir "$root/srv/doppio"
cp "$file" scripts/try_package.sh "$root/srv/doppio"
in_bare_root apt-get update -qq

# apt PACKAGE...: installs them, and says how many that were.
apt() {
  local log=build/check_package/$suite/apt.log
  in_bare_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" \
    >"$log" 2>&1 || { tail -n 20 "$log" >&2 && fail "apt-get cannot install $*"; }
  echo "$suite: $(grep -c '^Setting up ' "$log") packages installed for ${*##*/}"
}

place=/srv/doppio/${file##*/} trial=(bash /srv/doppio/try_package.sh)
case $file in
  *.deb)
    apt "$place"
    apt python3-numpy python3-protobuf
    trial+=(--python /usr/bin/python3)
    ;;
  *.whl)
    apt python3 python3-venv
    in_bare_root python3 -m venv /opt/doppio
    in_bare_root /opt/doppio/bin/pip install --quiet --disable-pip-version-check "$place"
    root_environment[0]="PATH=/opt/doppio/bin:${root_environment[0]#PATH=}"
    trial+=(--python /opt/doppio/bin/python)
    ;;
  *.tar.xz)
    tar -C "$root/opt" -xf "$file"
    root_environment[0]="PATH=/opt/doppio/bin:${root_environment[0]#PATH=}"
    ;;
esac
in_bare_root "${trial[@]}"
echo "$suite: ${file##*/} passed"
