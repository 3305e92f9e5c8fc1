// Exported models (.mdl).
#include "tests/fuzz/fuzz_target.h"
#include "train/predictor.h"

namespace caffe2::testing {

FUZZ_TARGET(Model, "model", 1000) {
  const FuzzFile file(bytes);
  ModelLimits limits;
  limits.max_operators = 1000;
  limits.max_loop_iterations = 10;
  limits.max_bytes = 16 << 20;
  Workspace ws;
  const Predictor predictor = LoadPredictor(file.path(), &ws, limits);
  ws.CreateNet(predictor.net);
}

}  // namespace caffe2::testing
