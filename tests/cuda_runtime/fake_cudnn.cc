#include "tests/cuda_runtime/fake_cudnn.h"

#include <cudnn.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "caffe2/cuda/matmul.h"

namespace {

using caffe2::cuda::fake::Engine;

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  size_t engine = 0;
  bool is_fallback = false;
};
Descriptor* Of(cudnnBackendDescriptor_t descriptor) { return static_cast<Descriptor*>(descriptor); }

std::vector<Engine> engines;
size_t ranked_engines = 0;
std::vector<int> runs;

// Gives `count` values out; asked for none, says how many there are.
template <typename T>
cudnnStatus_t Give(const std::vector<T>& values, int64_t wanted, int64_t* count, void* to) {
  *count = static_cast<int64_t>(values.size());
  if (wanted == 0) return CUDNN_STATUS_SUCCESS;
  *count = std::min(*count, wanted);
  std::copy_n(values.begin(), *count, static_cast<T*>(to));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t GiveList(const Descriptor& heuristic, int64_t wanted, int64_t* count, void* to) {
  const size_t begin = heuristic.is_fallback ? ranked_engines : 0;
  const size_t end = heuristic.is_fallback ? engines.size() : ranked_engines;
  *count = static_cast<int64_t>(end - begin);
  if (wanted == 0) return CUDNN_STATUS_SUCCESS;
  *count = std::min(*count, wanted);
  for (int64_t i = 0; i < *count; ++i) {
    Of(static_cast<cudnnBackendDescriptor_t*>(to)[i])->engine = begin + i;
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

namespace caffe2::cuda {

bool AllowTf32() { return false; }

namespace fake {

void SetEngines(std::vector<Engine> ranked, std::vector<Engine> fallback) {
  ranked_engines = ranked.size();
  engines = std::move(ranked);
  engines.insert(engines.end(), fallback.begin(), fallback.end());
}
std::vector<int> TakeRuns() { return std::exchange(runs, {}); }

}  // namespace fake
}  // namespace caffe2::cuda

size_t cudnnGetVersion() { return 1; }
const char* cudnnGetErrorString(cudnnStatus_t) { return "the fake refuses"; }
void cudnnGetLastErrorString(char* text, size_t size) { std::memset(text, 0, size); }
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(&engines);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  *descriptor = new Descriptor{type};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete Of(descriptor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t, const void* values) {
  Descriptor& to = *Of(descriptor);
  if (name == CUDNN_ATTR_ENGINEHEUR_MODE) {
    to.is_fallback =
        *static_cast<const cudnnBackendHeurMode_t*>(values) == CUDNN_HEUR_MODE_FALLBACK;
  } else if (name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG) {
    to.engine = Of(*static_cast<const cudnnBackendDescriptor_t*>(values))->engine;
  } else if (name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) {
    to.engine = std::stoul(static_cast<const char*>(values));
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  const bool is_plan = Of(descriptor)->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
  return is_plan && !engines.at(Of(descriptor)->engine).has_plan ? CUDNN_STATUS_NOT_SUPPORTED
                                                                 : CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t wanted, int64_t* count,
                                       void* to) {
  const Descriptor& from = *Of(descriptor);
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) return GiveList(from, wanted, count, to);
  if (name == CUDNN_ATTR_ENGINECFG_ENGINE) {
    Of(*static_cast<cudnnBackendDescriptor_t*>(to))->engine = from.engine;
    return CUDNN_STATUS_SUCCESS;
  }
  const Engine& engine = engines.at(from.engine);
  switch (name) {
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: {
      std::vector<cudnnBackendNumericalNote_t> notes;
      if (engine.has_tensor_cores) notes.push_back(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
      if (!engine.is_deterministic) notes.push_back(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
      return Give(notes, wanted, count, to);
    }
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
      return Give(std::vector<cudnnBackendBehaviorNote_t>(), wanted, count, to);
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
      return Give(std::vector<int64_t>{static_cast<int64_t>(from.engine)}, wanted, count, to);
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return Give(std::vector<int64_t>{engine.workspace_bytes}, wanted, count, to);
    case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION: {
      const std::string text = std::to_string(from.engine);
      return engine.has_text ? Give(std::vector<char>(text.begin(), text.end()), wanted, count, to)
                             : CUDNN_STATUS_NOT_SUPPORTED;
    }
    default:
      return CUDNN_STATUS_BAD_PARAM;
  }
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t) {
  Engine& engine = engines.at(Of(plan)->engine);
  runs.push_back(static_cast<int>(Of(plan)->engine));
  return engine.broken_runs-- > 0 ? CUDNN_STATUS_EXECUTION_FAILED : CUDNN_STATUS_SUCCESS;
}
