// Descriptors of cuDNN's graph interface as values. Included only by files that use cuDNN.
#pragma once

#include <cudnn.h>

#include <string>
#include <vector>

#include "caffe2/core/logging.h"

namespace caffe2::cuda {

// Throws Error with `what` and cuDNN's own text unless the status is success.
void CheckCudnn(cudnnStatus_t status, const std::string& what);

// Owns one descriptor. Use: construct, set attributes, finalize, then pass on. Every function
// throws Error with cuDNN's own text.
class CudnnDescriptor {
 public:
  CudnnDescriptor(cudnnBackendDescriptorType_t type, std::string name);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  template <typename T>
  CudnnDescriptor& Set(cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type,
                       const T& value) {
    return SetArray(attribute, type, 1, &value);
  }
  CudnnDescriptor& Set(cudnnBackendAttributeName_t attribute, const std::vector<int64_t>& values) {
    return SetArray(attribute, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()),
                    values.data());
  }
  CudnnDescriptor& Set(cudnnBackendAttributeName_t attribute, const CudnnDescriptor& value) {
    return Set(attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.descriptor_);
  }
  CudnnDescriptor& SetArray(cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type,
                            int64_t count, const void* values);
  CudnnDescriptor& Finalize();

  int64_t GetInt(cudnnBackendAttributeName_t attribute) const;
  // Fills *value, a descriptor of the attribute's type.
  void Get(cudnnBackendAttributeName_t attribute, CudnnDescriptor* value) const;
  // The first 16 values of an attribute whose type is an enumeration. Empty if the library does not
  // know the attribute.
  template <typename T>
  std::vector<T> GetList(cudnnBackendAttributeName_t attribute,
                         cudnnBackendAttributeType_t type) const {
    std::vector<T> values(16);
    int64_t count = 0;
    if (cudnnBackendGetAttribute(descriptor_, attribute, type, 16, &count, values.data()) !=
        CUDNN_STATUS_SUCCESS) {
      return {};
    }
    values.resize(count < 16 ? count : 16);
    return values;
  }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
  std::string name_;
};

// A dense tensor that the graph knows as `id` and that begins at a multiple of `alignment` bytes. A
// virtual tensor is never in memory.
CudnnDescriptor CudnnTensor(int64_t id, cudnnDataType_t type, const std::vector<int64_t>& dims,
                            const std::vector<int64_t>& strides, int64_t alignment,
                            bool is_virtual = false);

// The device to make plans for: a device of this machine, through a handle, or a described one.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  const CudnnDescriptor* device = nullptr;
};

// A graph of these operations.
CudnnDescriptor CudnnGraph(const std::vector<const CudnnDescriptor*>& operations,
                           const CudnnTarget& target);

struct CudnnPlan {
  CudnnDescriptor plan;
  int64_t engine = -1;
  int64_t workspace_bytes = 0;
};
struct CudnnPlanRules {
  bool tensor_cores = true;  // allowed: they round float inputs to TF32
  // Large, because float images in NHWC need room for themselves and the result in NCHW.
  int64_t max_workspace_bytes = int64_t{4} << 30;
};
// At most `max_plans` plans that obey the rules and are deterministic, in the order in which
// cuDNN's heuristics rank them. Only the first may need compilation at run time, which takes up to
// two seconds. Logs a warning if only cuDNN's slow fallback has plans. Throws EnforceNotMet, with
// the reason why the last candidate failed, if there is no plan. `what` names the work in messages.
std::vector<CudnnPlan> ListCudnnPlans(const CudnnDescriptor& graph, const CudnnTarget& target,
                                      const CudnnPlanRules& rules, const std::string& what,
                                      size_t max_plans);
// A plan as text, and the plan from the text, for the same version of cuDNN and kind of device. If
// the plan was compiled at run time, the text contains its kernel. Both throw Error.
std::string CudnnPlanText(const CudnnPlan& plan);
CudnnPlan ReadCudnnPlan(const std::string& text, const CudnnTarget& target);

// Runs the plan on the handle's stream. data[i] is the array of the tensor ids[i].
void RunCudnnPlan(cudnnHandle_t handle, const CudnnPlan& plan, const std::vector<int64_t>& ids,
                  const std::vector<void*>& data, void* workspace);

// A device from its description (JSON).
CudnnDescriptor CudnnDevice(const std::string& json);
// The description of a device of this machine.
std::string CudnnDeviceJson(int device);

}  // namespace caffe2::cuda
