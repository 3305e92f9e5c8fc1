# Where the MNIST files come from; sourced, not run.

MNIST_FILES=(
  "train-images-idx3-ubyte 440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"
  "train-labels-idx1-ubyte 3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"
  "t10k-images-idx3-ubyte 8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"
  "t10k-labels-idx1-ubyte f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"
)
# MNIST_MIRROR, if it is set, is asked first.
MNIST_MIRRORS=(
  ${MNIST_MIRROR:+"$MNIST_MIRROR"}
  https://ossci-datasets.s3.amazonaws.com/mnist
  https://storage.googleapis.com/cvdf-datasets/mnist
)

# find_mnist CACHE_DIR BIN_DIR: sets MNIST_SOURCE to a folder with the four files (gzipped or not)
# and MNIST_KIND to what they are: the folder MNIST_DIR if it is set, a checked download, or drawn
# digits where neither can be had.
find_mnist() {
  local cache=$1 bin=$2 entry name
  if [ -n "${MNIST_DIR:-}" ]; then
    for entry in "${MNIST_FILES[@]}"; do
      name=${entry%% *}
      [ -e "$MNIST_DIR/$name.gz" ] || [ -e "$MNIST_DIR/$name" ] || {
        echo "error: MNIST_DIR=$MNIST_DIR holds no $name" >&2
        return 1
      }
    done
    MNIST_SOURCE=$MNIST_DIR
    MNIST_KIND="the real MNIST files in $MNIST_DIR"
    return 0
  fi
  if download_mnist "$cache/mnist"; then
    MNIST_SOURCE=$cache/mnist
    MNIST_KIND="the real MNIST files, downloaded"
    return 0
  fi
  MNIST_SOURCE=$cache/drawn_digits
  MNIST_KIND="DRAWN DIGITS, not MNIST (no MNIST_DIR and no download): accuracies do not compare"
  if [ ! -e "$MNIST_SOURCE/complete" ]; then
    mkdir -p "$MNIST_SOURCE"
    "$bin/render_digits" --output_dir "$MNIST_SOURCE" && touch "$MNIST_SOURCE/complete"
  fi
}

# download_mnist DIR: the four .gz files, each checked; fails if one cannot be had.
download_mnist() {
  local dir=$1 entry name sum mirror
  mkdir -p "$dir"
  for entry in "${MNIST_FILES[@]}"; do
    name=${entry%% *}.gz
    sum=${entry##* }
    echo "$sum  $dir/$name" | sha256sum --check --status 2>/dev/null && continue
    for mirror in "${MNIST_MIRRORS[@]}"; do
      wget -q --tries=1 --timeout=15 -O "$dir/$name.part" "$mirror/$name" || continue
      if echo "$sum  $dir/$name.part" | sha256sum --check --status; then
        mv "$dir/$name.part" "$dir/$name"
        break
      fi
      echo "warning: $mirror/$name has another checksum than expected" >&2
    done
    rm -f "$dir/$name.part"
    echo "$sum  $dir/$name" | sha256sum --check --status 2>/dev/null || return 1
  done
}
