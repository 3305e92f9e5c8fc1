// Descriptors of cuDNN's graph interface as values. Only for what is built on cuDNN.
#pragma once

#include <cudnn.h>

#include <string>
#include <vector>

#include "caffe2/core/logging.h"

namespace caffe2::cuda {

// Throws Error with cuDNN's own text, which `what` precedes.
void CheckCudnn(cudnnStatus_t status, const std::string& what);

// Owns one descriptor: made, given attributes, finalized, used.
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
  // Fills a descriptor that was made for it.
  void Get(cudnnBackendAttributeName_t attribute, CudnnDescriptor* value) const;
  // An attribute of numbers of any enumeration; empty if the library does not know it.
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

// A dense tensor that a graph names by `id` and that begins at a multiple of `alignment` bytes; a
// virtual one is never in memory.
CudnnDescriptor CudnnTensor(int64_t id, cudnnDataType_t type, const std::vector<int64_t>& dims,
                            const std::vector<int64_t>& strides, int64_t alignment,
                            bool is_virtual = false);

// The device that plans are made for: this machine's, through a handle, or one that is described.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  const CudnnDescriptor* device = nullptr;
};

// The graph of the operations.
CudnnDescriptor CudnnGraph(const std::vector<const CudnnDescriptor*>& operations,
                           const CudnnTarget& target);

struct CudnnPlan {
  CudnnDescriptor plan;
  int64_t engine = -1;
  int64_t workspace_bytes = 0;
};
struct CudnnPlanRules {
  bool tensor_cores = true;  // they round float inputs to TF32
  // Float images in NHWC need room for them and the result in the other order.
  int64_t most_workspace_bytes = int64_t{4} << 30;
};
// The plans that obey the rules and give the same bits every time, at most `most` of them, in the
// order in which cuDNN's heuristics rank them; behind the first, only those that need no
// compilation at run time, which takes up to two seconds each. Where only its fallback, which is
// slow, has any, that is logged. Throws EnforceNotMet with the last reason if there is none.
std::vector<CudnnPlan> ListCudnnPlans(const CudnnDescriptor& graph, const CudnnTarget& target,
                                      const CudnnPlanRules& rules, const std::string& what,
                                      size_t most);
// A plan as text, and back, for the same version of cuDNN and kind of device. The text of a plan
// that was compiled at run time holds its kernel. Both throw Error.
std::string CudnnPlanText(const CudnnPlan& plan);
CudnnPlan ReadCudnnPlan(const std::string& text, const CudnnTarget& target);

// Arrays of a graph by the ids of their tensors.
void RunCudnnPlan(cudnnHandle_t handle, const CudnnPlan& plan, const std::vector<int64_t>& ids,
                  const std::vector<void*>& data, void* workspace);

// A device from its description.
CudnnDescriptor CudnnDevice(const std::string& json);
// The description of a device of this machine.
std::string CudnnDeviceJson(int device);

}  // namespace caffe2::cuda
