#!/usr/bin/env bash
# Makes the source distribution and, from it and outside of this tree, the wheel, as pip does it;
# installs the wheel into a new environment and trains a net there:
#   scripts/check_wheel.sh [PYTHON]
# Fails if the wheel holds a library twice. CMAKE_ARGS goes to CMake. It compiles everything, which
# takes minutes: CI does without.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet --disable-pip-version-check build
"$work/tools/bin/python" -m build --sdist --outdir "$work" . >"$work/sdist.log" ||
  { tail -n 20 "$work/sdist.log" >&2 && exit 1; }
tar -C "$work" -xzf "$work"/doppio-*.tar.gz
"$work/tools/bin/python" -m build --wheel --outdir "$work" "$work"/doppio-*/ >"$work/wheel.log" ||
  { tail -n 40 "$work/wheel.log" >&2 && exit 1; }

"$python" -m venv "$work/fresh"
"$work/fresh/bin/pip" install --quiet --disable-pip-version-check "$work"/doppio-*.whl
cd "$work"  # nothing of the tree is in the way
fresh/bin/python - "$work"/doppio-*.whl <<'EOF'
import collections
import os
import sys
import zipfile

import numpy as np

from caffe2.python import brew, core, model_helper, optimizer, workspace

with zipfile.ZipFile(sys.argv[1]) as wheel:
    libraries = [item for item in wheel.infolist() if ".so" in item.filename]
copies = collections.Counter((item.CRC, item.file_size) for item in libraries)
if max(copies.values()) > 1:
    sys.exit(f"a library is there twice: {[item.filename for item in libraries]}")

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
print(f"{os.path.basename(sys.argv[1])}: {os.path.getsize(sys.argv[1]) / 1e6:.1f} MB packed,",
      f"{sum(item.file_size for item in libraries) / 1e6:.1f} MB of libraries,",
      f"{len(libraries)} of them; trains")
EOF
