#include "caffe2/cuda/cudnn_graph.h"

#include <algorithm>
#include <array>
#include <utility>

namespace caffe2::cuda {
namespace {

bool Contains(const std::vector<cudnnBackendNumericalNote_t>& notes,
              cudnnBackendNumericalNote_t note) {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

// A plan that breaks the rules. An Error of another class means that cuDNN cannot make the plan.
class RuledOut : public Error {
 public:
  using Error::Error;
};

// Why the rules forbid the engine; empty if they allow it.
std::string Objection(const CudnnDescriptor& engine, const CudnnPlanRules& rules) {
  const auto notes = engine.GetList<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                                 CUDNN_TYPE_NUMERICAL_NOTE);
  if (Contains(notes, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return "it is not deterministic";
  if (Contains(notes, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) {
    return "it sums in less than float";
  }
  if (!rules.tensor_cores && (Contains(notes, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) ||
                              Contains(notes, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS))) {
    return "it rounds float inputs";
  }
  return "";
}

std::vector<CudnnDescriptor> Candidates(const CudnnDescriptor& graph, const CudnnTarget& target,
                                        cudnnBackendHeurMode_t mode) {
  CudnnDescriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "heuristic");
  heuristic.Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (target.device != nullptr) heuristic.Set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target.device);
  heuristic.Finalize();
  // All of them: dozens that the rules forbid may precede the first that they allow.
  int64_t listed = 0, count = 0;
  CheckCudnn(cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &listed, nullptr),
             "number of engine configurations");
  std::vector<CudnnDescriptor> candidates;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < listed; ++i) {
    candidates.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "engine configuration");
    raw.push_back(candidates.back().get());
  }
  CheckCudnn(cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                      CUDNN_TYPE_BACKEND_DESCRIPTOR, listed, &count, raw.data()),
             "engine configurations");
  candidates.erase(candidates.begin() + std::clamp<int64_t>(count, 0, listed), candidates.end());
  return candidates;
}

bool CompilesAtRunTime(const CudnnDescriptor& engine) {
  const auto notes = engine.GetList<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                                                CUDNN_TYPE_BEHAVIOR_NOTE);
  return std::find(notes.begin(), notes.end(), CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) !=
         notes.end();
}

void SetTarget(const CudnnTarget& target, CudnnDescriptor* plan) {
  if (target.device != nullptr) {
    plan->Set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target.device);
  } else {
    plan->Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
  }
}

CudnnPlan MakePlan(const CudnnDescriptor& candidate, const CudnnTarget& target,
                   const CudnnPlanRules& rules, bool may_compile) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR, "engine");
  candidate.Get(CUDNN_ATTR_ENGINECFG_ENGINE, &engine);
  const std::string objection = Objection(engine, rules);
  if (!objection.empty()) throw RuledOut(objection);
  if (!may_compile && CompilesAtRunTime(engine)) throw RuledOut("it is compiled at run time");
  CudnnPlan plan{CudnnDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "plan")};
  plan.engine = engine.GetInt(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  plan.plan.Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, candidate);
  SetTarget(target, &plan.plan);
  plan.plan.Finalize();
  plan.workspace_bytes = plan.plan.GetInt(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  if (plan.workspace_bytes > rules.max_workspace_bytes) {
    throw RuledOut(MakeString("it needs ", plan.workspace_bytes, " bytes of workspace"));
  }
  return plan;
}

// Reads an attribute that is text.
std::string ReadText(const CudnnDescriptor& descriptor, cudnnBackendAttributeName_t attribute,
                     const std::string& what) {
  int64_t size = 0;
  CheckCudnn(
      cudnnBackendGetAttribute(descriptor.get(), attribute, CUDNN_TYPE_CHAR, 0, &size, nullptr),
      "size of the text of a " + what);
  std::string text(size, '\0');
  CheckCudnn(cudnnBackendGetAttribute(descriptor.get(), attribute, CUDNN_TYPE_CHAR, size, &size,
                                      text.data()),
             "text of a " + what);
  return text.substr(0, text.find('\0'));
}

}  // namespace

void CheckCudnn(cudnnStatus_t status, const std::string& what) {
  if (status == CUDNN_STATUS_SUCCESS) [[likely]]
    return;
  std::array<char, 1024> detail{};
  cudnnGetLastErrorString(detail.data(), detail.size());
  throw Error(MakeString("cuDNN: ", what, ": ", cudnnGetErrorString(status),
                         detail[0] == '\0' ? "" : " ", detail.data()));
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type, std::string name)
    : name_(std::move(name)) {
  CheckCudnn(cudnnBackendCreateDescriptor(type, &descriptor_), name_);
}
CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) cudnnBackendDestroyDescriptor(descriptor_);
}
CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, nullptr)), name_(std::move(other.name_)) {}
CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(name_, other.name_);
  return *this;
}

CudnnDescriptor& CudnnDescriptor::SetArray(cudnnBackendAttributeName_t attribute,
                                           cudnnBackendAttributeType_t type, int64_t count,
                                           const void* values) {
  CheckCudnn(cudnnBackendSetAttribute(descriptor_, attribute, type, count, values),
             MakeString("attribute ", static_cast<int>(attribute), " of a ", name_));
  return *this;
}

CudnnDescriptor& CudnnDescriptor::Finalize() {
  CheckCudnn(cudnnBackendFinalize(descriptor_), name_);
  return *this;
}

int64_t CudnnDescriptor::GetInt(cudnnBackendAttributeName_t attribute) const {
  int64_t value = 0, count = 0;
  CheckCudnn(cudnnBackendGetAttribute(descriptor_, attribute, CUDNN_TYPE_INT64, 1, &count, &value),
             name_);
  return value;
}

void CudnnDescriptor::Get(cudnnBackendAttributeName_t attribute, CudnnDescriptor* value) const {
  int64_t count = 0;
  CheckCudnn(cudnnBackendGetAttribute(descriptor_, attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                      &count, &value->descriptor_),
             name_);
}

CudnnDescriptor CudnnTensor(int64_t id, cudnnDataType_t type, const std::vector<int64_t>& dims,
                            const std::vector<int64_t>& strides, int64_t alignment,
                            bool is_virtual) {
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, "tensor");
  tensor.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type)
      .Set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims)
      .Set(CUDNN_ATTR_TENSOR_STRIDES, strides)
      .Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id)
      .Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment)
      .Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual)
      .Finalize();
  return tensor;
}

CudnnDescriptor CudnnGraph(const std::vector<const CudnnDescriptor*>& operations,
                           const CudnnTarget& target) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const CudnnDescriptor* operation : operations) raw.push_back(operation->get());
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "operation graph");
  graph.SetArray(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 static_cast<int64_t>(raw.size()), raw.data());
  if (target.handle != nullptr) {
    graph.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
  }
  graph.Finalize();
  return graph;
}

std::vector<CudnnPlan> ListCudnnPlans(const CudnnDescriptor& graph, const CudnnTarget& target,
                                      const CudnnPlanRules& rules, const std::string& what,
                                      size_t max_plans) {
  std::vector<CudnnPlan> plans;
  std::string reason = "no candidate", failure;
  int failed = 0;
  for (const auto mode : {CUDNN_HEUR_MODE_INSTANT, CUDNN_HEUR_MODE_FALLBACK}) {
    try {
      for (const CudnnDescriptor& candidate : Candidates(graph, target, mode)) {
        if (plans.size() == max_plans) break;
        try {
          plans.push_back(MakePlan(candidate, target, rules, /*may_compile=*/plans.empty()));
        } catch (const RuledOut& error) {
          reason = error.what();
          VLOG(2) << what << ": a plan of cuDNN is skipped: " << reason;
        } catch (const Error& error) {
          reason = failure = error.what();
          failed += plans.empty();
        }
      }
    } catch (const Error& error) {  // a heuristic that does not know this graph
      reason = error.what();
    }
    if (plans.empty()) continue;
    if (failed > 0) {
      LOG(INFO) << what << ": cuDNN cannot make " << failed
                << " plans that it ranks higher; the last error was: " << failure;
    }
    if (mode == CUDNN_HEUR_MODE_FALLBACK) {
      LOG(WARNING) << what << ": cuDNN has only fallback plans, which may be slow; the last one "
                   << "was skipped because: " << reason;
    }
    return plans;
  }
  CAFFE_THROW("cuDNN has no plan for ", what, "; the last one failed because: ", reason);
}

std::string CudnnPlanText(const CudnnPlan& plan) {
  return ReadText(plan.plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, "plan");
}

CudnnPlan ReadCudnnPlan(const std::string& text, const CudnnTarget& target) {
  CudnnPlan plan{CudnnDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "plan")};
  SetTarget(target, &plan.plan);
  plan.plan
      .SetArray(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                static_cast<int64_t>(text.size()) + 1, text.c_str())
      .Finalize();
  plan.workspace_bytes = plan.plan.GetInt(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  return plan;
}

void RunCudnnPlan(cudnnHandle_t handle, const CudnnPlan& plan, const std::vector<int64_t>& ids,
                  const std::vector<void*>& data, void* workspace) {
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "variant pack");
  pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
      .SetArray(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                static_cast<int64_t>(data.size()), data.data())
      .Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace)
      .Finalize();
  CheckCudnn(cudnnBackendExecute(handle, plan.plan.get(), pack.get()), "run");
}

CudnnDescriptor CudnnDevice(const std::string& json) {
  CudnnDescriptor device(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "device description");
  device
      .SetArray(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                static_cast<int64_t>(json.size()) + 1, json.c_str())
      .Finalize();
  return device;
}

std::string CudnnDeviceJson(int id) {
  CudnnDescriptor device(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "device description");
  device.Set(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, int32_t{id}).Finalize();
  return ReadText(device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, "device description");
}

}  // namespace caffe2::cuda
