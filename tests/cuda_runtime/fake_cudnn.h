// cuDNN's backend as caffe2/cuda/cudnn_work.cc uses it, for graphs that need not mean anything: the
// heuristics list what a test says, and runs are counted.
#pragma once

#include <vector>

namespace caffe2::cuda::fake {

struct Engine {
  bool has_tensor_cores = false, is_deterministic = true;
  int workspace_bytes = 0;
  bool has_plan = true;  // else its plans cannot be finalized
  int broken_runs = 0;   // how many of the next runs fail
  bool has_text = true;  // of its plans
};

// What the heuristics list from now on, the best first, and after them what the fallback lists.
void SetEngines(std::vector<Engine> ranked, std::vector<Engine> fallback = {});
// Engines that ran since the last call, by their place in both lists.
std::vector<int> TakeRuns();

}  // namespace caffe2::cuda::fake
