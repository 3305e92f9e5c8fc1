#include "caffe2/cuda/convolution.h"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "caffe2/core/device_backend.h"
#include "caffe2/cuda/cudnn_graph.h"
#include "caffe2/cuda/matmul.h"
#include "caffe2/cuda/plan_cache.h"
#include "caffe2/cuda/runtime.h"

namespace caffe2::cuda {
namespace {

constexpr int64_t kX = 1, kFilter = 2, kY = 3;  // ids of the tensors

cudnnDataType_t DataType(TypeMeta type) {
  if (type.Match<float>()) return CUDNN_DATA_FLOAT;
  if (type.Match<float16>()) return CUDNN_DATA_HALF;
  CAFFE_ENFORCE(type.Match<bfloat16>(),
                "convolutions on CUDA devices are for float, float16 and "
                "bfloat16, not ",
                type.name());
  return CUDNN_DATA_BFLOAT16;
}

// cuDNN wants two spatial axes at least.
std::vector<int64_t> WithTwoAxes(std::vector<int64_t> values, size_t before, int64_t fill) {
  if (values.size() == before + 1) values.insert(values.begin() + before, fill);
  return values;
}

// Strides of a dense array of these logical dimensions.
std::vector<int64_t> StridesOf(const std::vector<int64_t>& dims, bool channels_last) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  if (channels_last) {
    strides[1] = 1;
    stride = dims[1];
  }
  for (size_t d = dims.size() - 1; d >= 2; --d) {
    strides[d] = stride;
    stride *= dims[d];
  }
  if (!channels_last) {
    strides[1] = stride;
    stride *= dims[1];
  }
  strides[0] = stride;
  return strides;
}

constexpr int64_t kAlignment = 16;  // bytes, of tensors that are no views

CudnnDescriptor TensorOf(int64_t id, const ConvProblem& problem, const std::vector<int64_t>& dims,
                         int64_t alignment) {
  const std::vector<int64_t> full = WithTwoAxes(dims, 2, 1);
  return CudnnTensor(id, DataType(problem.type), full, StridesOf(full, problem.channels_last),
                     alignment);
}

// What all the arrays begin at multiples of: kAlignment, or the size of an element.
int64_t AlignmentOf(const std::array<void*, 3>& data, TypeMeta type) {
  for (const void* array : data) {
    if (reinterpret_cast<uintptr_t>(array) % kAlignment != 0) {
      return static_cast<int64_t>(type.itemsize());
    }
  }
  return kAlignment;
}

CudnnDescriptor ConvolutionOf(const ConvProblem& problem) {
  const std::vector<int64_t> stride = WithTwoAxes(problem.stride, 0, 1);
  CudnnDescriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, "convolution");
  convolution.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
      .Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
           static_cast<int64_t>(stride.size()))
      .Set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, WithTwoAxes(problem.pad_begin, 0, 0))
      .Set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, WithTwoAxes(problem.pad_end, 0, 0))
      .Set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, stride)
      .Set(CUDNN_ATTR_CONVOLUTION_DILATIONS, WithTwoAxes(problem.dilation, 0, 1))
      .Finalize();
  return convolution;
}

// How the operation of a direction names its parts.
struct Names {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t x, filter, y, convolution, alpha, beta;
};
Names NamesOf(ConvDirection direction) {
  switch (direction) {
    case ConvDirection::kForward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvDirection::kBackwardData:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
}

const char* NameOf(ConvDirection direction) {
  return direction == ConvDirection::kForward        ? "the convolution"
         : direction == ConvDirection::kBackwardData ? "the input gradient of the convolution"
                                                     : "the filter gradient of the convolution";
}

std::vector<CudnnPlan> MakePlans(ConvDirection direction, const ConvProblem& problem,
                                 const CudnnTarget& target, int64_t alignment, size_t most) {
  const CudnnDescriptor x = TensorOf(kX, problem, problem.x, alignment);
  const CudnnDescriptor filter = TensorOf(kFilter, problem, problem.filter, alignment);
  const CudnnDescriptor y = TensorOf(kY, problem, problem.y, alignment);
  const CudnnDescriptor convolution = ConvolutionOf(problem);
  const Names names = NamesOf(direction);
  CudnnDescriptor operation(names.type, NameOf(direction));
  operation.Set(names.x, x)
      .Set(names.filter, filter)
      .Set(names.y, y)
      .Set(names.convolution, convolution)
      .Set(names.alpha, CUDNN_TYPE_FLOAT, 1.f)
      .Set(names.beta, CUDNN_TYPE_FLOAT, 0.f)
      .Finalize();
  const CudnnDescriptor graph = CudnnGraph({&operation}, target);
  const CudnnPlanRules rules{.tensor_cores = !problem.type.Match<float>() || AllowTf32()};
  return ListCudnnPlans(graph, target, rules,
                        MakeString(NameOf(direction), " ", problem.ToString()), most);
}

// Plans of one device, kept as long as the process.
struct Device {
  std::mutex mutex;
  cudnnHandle_t handle = nullptr;
  std::map<std::string, CudnnPlan> plans;
};

Device& DeviceOf(int id) {
  static std::mutex mutex;
  static auto* devices = new std::map<int, Device>;
  std::lock_guard<std::mutex> lock(mutex);
  Device& device = (*devices)[id];
  if (device.handle == nullptr) CheckCudnn(cudnnCreate(&device.handle), "start");
  return device;
}

// Workspace of one run; work that is launched later may use the memory again.
class Workspace {
 public:
  Workspace(int64_t nbytes, int device) : device_(device) {
    if (nbytes == 0) return;
    data_ = Allocate(nbytes, device);
    if (data_ == nullptr) {
      const FreeMemory memory = MemoryOf(device);
      throw OutOfMemoryError(MakeString("out of memory on cuda:", device, ": cannot allocate ",
                                        nbytes, " bytes of workspace for cuDNN; ", memory.free,
                                        " of ", memory.total, " are free"));
    }
  }
  ~Workspace() {
    if (data_ != nullptr) Free(data_, device_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  void* get() const { return data_; }

 private:
  int device_;
  void* data_ = nullptr;
};

// One run of a plan with the arrays of the problem.
struct Run {
  cudnnHandle_t handle;
  std::vector<void*> data;  // x, filter, y
  int device;
  Stream stream;

  void operator()(const CudnnPlan& plan) const {
    const Workspace workspace(plan.workspace_bytes, device);
    RunCudnnPlan(handle, plan, {kX, kFilter, kY}, data, workspace.get());
  }
};

// Whether plans may be measured now: where the choice is kept, as another one the next time would
// give other bits; and not in a stream that is recorded, which runs nothing.
bool MayMeasure(Stream stream) { return PlanCache::Default().is_kept() && !IsRecorded(stream); }

// The plan in the cache, or the fastest of those that the heuristics rank first. Measuring writes
// the same result again and again.
CudnnPlan ChoosePlan(ConvDirection direction, const ConvProblem& problem, int64_t alignment,
                     const Run& run) {
  constexpr size_t kMostPlans = 8;
  const CudnnTarget target{.handle = run.handle};
  const std::string key = MakeString("cuDNN ", cudnnGetVersion(), ", ", Properties(run.device).name,
                                     ", ", AllowTf32() ? "TF32, " : "", NameOf(direction), " ",
                                     problem.ToString(), " aligned to ", alignment);
  if (const auto text = PlanCache::Default().Find(key)) {
    try {
      return ReadCudnnPlan(*text, target);
    } catch (const Error& error) {
      LOG(WARNING) << "a plan in the cache is of no use (" << key << "): " << error.what();
    }
  }
  if (!MayMeasure(run.stream)) {
    return std::move(MakePlans(direction, problem, target, alignment, 1).front());
  }
  std::vector<CudnnPlan> plans = MakePlans(direction, problem, target, alignment, kMostPlans);
  const int n = static_cast<int>(plans.size());
  const int best = n == 1 ? 0 : FastestOf(n, [&](int i) {
    return MillisecondsOf(run.stream, [&] {
      for (int repeat = 0; repeat < 3; ++repeat) run(plans[i]);
    });
  });
  VLOG(1) << key << ": plan " << best << " of " << n << ", engine " << plans[best].engine;
  PlanCache::Default().Add(key, CudnnPlanText(plans[best]));
  return std::move(plans[best]);
}

}  // namespace

void Convolve(ConvDirection direction, const ConvProblem& problem, const void* x,
              const void* filter, const void* y, void* result, int device_id, Stream stream) {
  // cuDNN's interface takes pointers to what it only reads without const.
  std::array<void*, 3> data = {const_cast<void*>(x), const_cast<void*>(filter),
                               const_cast<void*>(y)};
  data[direction == ConvDirection::kForward        ? 2
       : direction == ConvDirection::kBackwardData ? 0
                                                   : 1] = result;
  const int64_t alignment = AlignmentOf(data, problem.type);
  Device& device = DeviceOf(device_id);
  std::lock_guard<std::mutex> lock(device.mutex);
  CheckCudnn(cudnnSetStream(device.handle, stream), "stream");
  const Run run{device.handle, {data.begin(), data.end()}, device_id, stream};
  const std::string key =
      MakeString(NameOf(direction), " ", problem.ToString(), " aligned to ", alignment);
  auto found = device.plans.find(key);
  if (found == device.plans.end()) {
    found = device.plans.emplace(key, ChoosePlan(direction, problem, alignment, run)).first;
  }
  run(found->second);
}

ConvPlanDescription PlanConvolution(ConvDirection direction, const ConvProblem& problem,
                                    const std::string& device_json, int most) {
  const CudnnDescriptor device = CudnnDevice(device_json);
  const CudnnTarget target{.device = &device};
  const std::vector<CudnnPlan> plans = MakePlans(direction, problem, target, kAlignment, most);
  const CudnnPlan& first = plans.front();
  // A plan that the cache could not give back would be measured in every process.
  const CudnnPlan again = ReadCudnnPlan(CudnnPlanText(first), target);
  CAFFE_ENFORCE_EQ(again.workspace_bytes, first.workspace_bytes, "a plan read back differs");
  return {first.engine, first.workspace_bytes, static_cast<int>(plans.size())};
}

std::string DescribeDevice(int device) { return CudnnDeviceJson(device); }

}  // namespace caffe2::cuda
