#!/usr/bin/env bash
# Tries the programs on PATH as a new user does, in a new folder whose name has a space and an umlaut:
# doctor, the demo and what its model says of a picture, databases, a training of one process, the same
# by two shards:
#   scripts/try_package.sh [--python PYTHON]
# With --python also the package caffe2 of that interpreter. It needs nothing else of the source tree.
set -euo pipefail
python=
[ "${1:-}" != --python ] || { python=${2:?"--python needs an interpreter"} && shift 2; }
[ $# -eq 0 ] || { echo "error: unknown option $1" >&2 && exit 2; }
unset LD_LIBRARY_PATH PYTHONPATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/Erste Übung"
cd "$work/Erste Übung"

# quietly NAME COMMAND...: shows what the command says only if it fails.
quietly() {
  local name=$1
  shift
  "$@" >"$name.log" 2>&1 || { tail -n 40 "$name.log" >&2 && echo "error: $name failed" >&2 && exit 1; }
  echo "passed: $name"
}

doppio --version
for name in make_image_db convert_db split_db db_throughput run_plan speed_benchmark resnet50_trainer; do
  "$name" --help >/dev/null || { echo "error: $name does not start" >&2 && exit 1; }
done
quietly doctor doppio doctor --dir .
sed -n '/^warning\|^ERROR/p' doctor.log
quietly demo env -u MNIST_DIR XDG_CACHE_HOME="$PWD/cache" doppio train --demo mnist
grep -h 'Validation-accuracy' demo.log | sed 's/.*Epoch/Epoch/'
base64 -d >seven.jpg <<'JPEG'
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6j
q62rZ4C8ybqmx5moq6T/wAALCAAcABwBAREA/8QAGAABAAMBAAAAAAAAAAAAAAAAAAIEBgX/xAAlEAACAgECBAcAAAAAAAAAAAAB
AgADBAUREiFBYQYxUXGRocH/2gAIAQEAAD8AzMkyOo3ZWA7iRiWtMtpo1Cm3IBNaNxHYb+33NRh5z6lXdZmYtS4AJKvYduQ7dZm9
azK83UHspULWoCJy23A6yjJIFLqGPCpI3PoJ2fEWfTaKcPDsBx6158PkT0+P2cSIiIn/2Q==
JPEG
quietly predict predict --model mnist_demo-0001.mdl seven.jpg
[ "$(awk 'NR == 2 { print $2 }' predict.log)" = 7 ] ||
  { cat predict.log >&2 && echo "error: the model of the demo does not know a 7" >&2 && exit 1; }
quietly digits render_digits --output_dir . --train 3200 --test 640
for part in train t10k; do
  quietly "database of $part" make_mnist_db --image_file "$part-images-idx3-ubyte" \
    --label_file "$part-labels-idx1-ubyte" --output_file "${part}_lmdb"
done
mkdir "$work/store"
training=(mnist_trainer --use_cpu --network lenet --train_data train_lmdb --test_data t10k_lmdb
  --num_examples 0 --num_epochs 2 --lr 0.05 --shuffle)
quietly training "${training[@]}" --model_prefix one
quietly "two shards" doppio run -n 2 --store "file://$work/store" -- "${training[@]}" \
  --model_prefix two
for model in one two; do [ -s "$model-0002.mdl" ] || { echo "error: no model $model" >&2 && exit 1; }; done
grep -h 'Validation-accuracy' training.log "two shards.log" | sed 's/.*Epoch/Epoch/' || true
[ -n "$python" ] || exit 0

quietly inspect doppio inspect one-0002.mdl
"$python" - <<'PYTHON'
import numpy as np

import caffe2
from caffe2.python import brew, core, model_helper, optimizer, workspace

model = model_helper.ModelHelper("train")
pred = brew.fc(model, "x", "pred", 4, 1)
loss = model.AveragedLoss(model.SquaredL2Distance([pred, "y"], "distance"), "loss")
model.AddGradientOperators([loss])
optimizer.build_sgd(model, 0.05)
x = np.random.RandomState(0).rand(64, 4).astype(np.float32)
workspace.FeedBlob("x", x)
workspace.FeedBlob("y", x.sum(axis=1, keepdims=True))
workspace.RunNetOnce(model.param_init_net)
workspace.CreateNet(model.net)
workspace.RunNet(model.net)
first = workspace.FetchBlob("loss")
workspace.RunNet(model.net, 3000)
last = workspace.FetchBlob("loss")
assert last < first / 50, (first, last)
assert core.IsOperator("ImageInput")
print(f"passed: caffe2 {caffe2.__version__} trains in Python")
PYTHON
