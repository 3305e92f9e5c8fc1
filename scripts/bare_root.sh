# shellcheck shell=bash
# Bare roots: folders with nothing but the smallest system of a distribution (debootstrap, minbase),
# and commands in them, in namespaces of their own. Sourced, not run; needs root. The host's package
# mirrors, proxies, certificates and pip settings hold in the root too.

fail() { echo "error: $*" >&2 && exit "${status:-1}"; }

root=''                  # the folder of the root, once it is made
root_keep=''             # not empty: it stays at the end
root_binds=()            # FOLDER:PLACE[:ro], to be seen in the root
root_child=''
root_environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root)
for name in {http,https,no}_proxy {HTTP,HTTPS,NO}_PROXY MNIST_MIRROR \
  PIP_{INDEX_URL,EXTRA_INDEX_URL,TRUSTED_HOST,PROXY,DEFAULT_TIMEOUT}; do
  [ -z "${!name:-}" ] || root_environment+=("$name=${!name}")
done

# check_bare_root SUITE: fails if a root with this suite cannot be made here.
check_bare_root() {
  local recipe=/usr/share/debootstrap/scripts/$1
  [ "$(id -u)" -eq 0 ] || fail "only root can make a root directory and change into it: try sudo"
  install_packages "${FRESH_PACKAGES[@]}"
  [ -f "$recipe" ] || fail "debootstrap knows no suite $1; the suites it knows are in ${recipe%/*}"
  keyring=$(sed -n 's/^keyring //p' "$recipe")
  [ -e "$keyring" ] || fail "the keys of $1 are missing: $keyring"
  unshare --mount --pid --fork true || fail "namespaces cannot be made here (CAP_SYS_ADMIN is missing)"
}

remove_bare_root() {
  local status=$?
  trap - EXIT INT TERM HUP
  if [ -n "$root_child" ]; then
    # The first process of its namespace: all others, and all mounts, end with it.
    pkill -KILL -P "$root_child" || kill -KILL "$root_child" 2>/dev/null || true
    wait "$root_child" 2>/dev/null || true
  fi
  if [ -n "$root_keep" ]; then
    echo "The root directory stays: $root"
  else
    rm -rf --one-file-system "$root"
  fi
  exit $status
}

# contained COMMAND...: in namespaces of its own, so that nothing it mounts or starts outlasts it.
contained() {
  local status=0
  unshare --mount --pid --fork --kill-child --mount-proc "$@" &
  root_child=$!
  wait "$root_child" || status=$?
  root_child=
  return $status
}

# host_mirrors SUITE: the host's mirrors as lines "URI SUITE", with this suite instead of the host's;
# none if the host is of another distribution.
host_mirrors() {
  (
    . /etc/os-release
    [[ ${keyring##*/} == "$ID"-* ]] || exit 0
    # shellcheck disable=SC2016 # the fields are apt's
    apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' "Origin: ${ID^}" |
      sed -nE "s/ $VERSION_CODENAME(-updates|-security)?\$/ $1\1/p" | sort -u
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
  local pip_settings=${XDG_CONFIG_HOME:-$HOME/.config}/pip/pip.conf
  [ ! -e "$pip_settings" ] || install -D "$pip_settings" "$root/etc/xdg/pip/pip.conf"
}

# make_bare_root SUITE LOGS [KEEP]: makes the folder `root` below TMPDIR (default: build/), which goes
# when the script ends, unless KEEP is not empty. LOGS gets the log of debootstrap.
make_bare_root() {
  local suite=$1 logs=$2 components=main mirrors mirror
  root_keep=${3:-}
  mkdir -p "$logs"
  root=$(mktemp -d "${TMPDIR:-$PWD/build}/root-$suite.XXXXXX")
  chmod 755 "$root"  # for its users
  trap remove_bare_root EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  [[ $keyring != */ubuntu-* ]] || components=main,universe
  mirrors=$(host_mirrors "$suite")
  mirror=$(awk -v suite="$suite" '$2 == suite { print $1; exit }' <<<"$mirrors")
  contained debootstrap --variant=minbase --force-check-gpg --components=$components "$suite" "$root" \
    ${mirror:+"$mirror"} >"$logs/debootstrap.log" 2>&1 ||
    { tail -n 20 "$logs/debootstrap.log" >&2 && fail "debootstrap failed"; }
  awk -v suite="$suite" -v components="${components/,/ }" \
    'NF && $2 != suite { print "deb", $1, $2, components }' <<<"$mirrors" >>"$root/etc/apt/sources.list"
  copy_network_settings
  # As in a container, packages start no services.
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
}

# In the namespaces: ROOT BIND... -- COMMAND...
# shellcheck disable=SC2016 # for the inner shell
enter_root='
set -e
root=$1
shift
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
while [ "$1" != -- ]; do
  IFS=: read -r folder place options <<<"$1"
  mount --bind ${options:+-o "$options"} "$folder" "$root$place"
  shift
done
shift
exec chroot "$root" "$@"'

# in_bare_root COMMAND...: in the root, with root_binds and root_environment and nothing else.
in_bare_root() {
  # A job in the background ignores Ctrl-C, and one under nohup SIGHUP, unless they are told not to.
  contained bash -c "$enter_root" - "$root" "${root_binds[@]}" -- \
    env -i --default-signal=HUP,INT,QUIT "${root_environment[@]}" "$@"
}
