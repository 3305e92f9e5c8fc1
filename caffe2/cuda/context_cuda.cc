#include "caffe2/cuda/context_cuda.h"

#include <mutex>
#include <set>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/device_waits.h"
#include "caffe2/core/logging.h"
#include "caffe2/cuda/host_values.h"
#include "caffe2/cuda/kernel_reports.h"

namespace caffe2 {
namespace {

// Waits for the compute stream. Throws EnforceNotMet for errors that kernels have reported.
void FinishDevice(int device) {
  cuda::Synchronize(cuda::GetStream(device, cuda::kComputeStream));
  cuda::ThrowReports(device);
}

// True if the tensor may be a shape or a count: a few integers or bools.
bool MayBeShape(const Tensor& tensor) {
  constexpr int64_t kMaxNumbers = 64;
  return tensor.numel() <= kMaxNumbers &&
         (tensor.IsType<int64_t>() || tensor.IsType<int>() || tensor.IsType<bool>());
}

bool IsFirstUpload(const std::string& type) {
  static std::mutex mutex;
  static auto* types = new std::set<std::string>;
  std::lock_guard<std::mutex> lock(mutex);
  return types->insert(type).second;
}

// Allocates from the pool of the device's compute stream and frees to it.
class CudaAllocator final : public Allocator {
 public:
  std::shared_ptr<void> Allocate(size_t nbytes, const Device& device) override {
    CheckDevice(device);
    void* data = cuda::Allocate(nbytes, device.id);
    if (data == nullptr) {
      const cuda::FreeMemory memory = cuda::MemoryOf(device.id);
      throw OutOfMemoryError(MakeString("out of memory on ", device.ToString(),
                                        ": cannot allocate ", nbytes, " bytes; ", memory.free,
                                        " of ", memory.total, " are free"));
    }
    return {data, [id = device.id](void* p) { cuda::Free(p, id); }};
  }
};

// CopyInOrder, which is done when this returns.
void CopyAndWait(size_t nbytes, const void* source, const Device& source_device, void* destination,
                 const Device& destination_device) {
  CopyInOrder(nbytes, source, source_device, destination, destination_device);
  const Device& device = source_device.type == CUDA ? source_device : destination_device;
  cuda::Synchronize(cuda::GetStream(device.id, cuda::kComputeStream));
}

const bool kRegistered = [] {
  static CudaAllocator allocator;
  RegisterAllocator(CUDA, &allocator);
  RegisterCopyBytes(CPU, CUDA, CopyAndWait);
  RegisterCopyBytes(CUDA, CPU, CopyAndWait);
  RegisterCopyBytes(CUDA, CUDA, CopyAndWait);
  RegisterDeviceBackend(CUDA, {cuda::DeviceCount, cuda::DeviceProblem,
                               [](int device) { return cuda::MemoryOf(device).peak; }});
  RegisterFinishDevice(CUDA, FinishDevice);
  return true;
}();

}  // namespace

void CopyInOrder(size_t nbytes, const void* source, const Device& source_device, void* destination,
                 const Device& destination_device) {
  const Device& device = source_device.type == CUDA ? source_device : destination_device;
  const Device& other = destination_device.type == CUDA ? destination_device : source_device;
  const cuda::Stream stream = cuda::GetStream(device.id, cuda::kComputeStream);
  const cuda::Stream other_stream = cuda::GetStream(other.id, cuda::kComputeStream);
  if (stream == other_stream) {
    cuda::CopyAsync(destination, source, nbytes, stream);
    return;
  }
  cuda::Event ready(other.id);
  ready.Record(other_stream);
  ready.Delay(stream);
  cuda::CopyAsync(destination, source, nbytes, stream);
  cuda::Event copied(device.id);
  copied.Record(stream);
  copied.Delay(other_stream);
}

template <>
const Tensor& Operator<CUDAContext>::Input(int i) const {
  const auto& tensor = OperatorBase::Input<Tensor>(i);
  if (tensor.GetDeviceType() == CPU && MayBeShape(tensor)) {
    if (IsFirstUpload(type())) {
      LOG(INFO) << "operator " << type() << ": input " << i << ", blob " << debug_def().input(i)
                << " " << ShapeString(tensor.sizes()) << ", is copied from the host in each run";
    }
    return context_.Upload(i, tensor);
  }
  CAFFE_ENFORCE(tensor.GetDeviceType() == CUDA, "input ", i, ", blob ", debug_def().input(i),
                ", lies on ", tensor.device().ToString(), ", but operator ", type(), " runs on ",
                context_.device().ToString(), ": a copy between the devices is missing");
  return tensor;
}

CUDAContext::CUDAContext(const DeviceOption& option) : BaseContext(option) {
  CheckDevice(device());
}

void CUDAContext::SwitchToDevice(int stream_id) {
  CAFFE_ENFORCE_EQ(stream_id, cuda::kComputeStream, "operators of CUDA devices run on stream 0");
  cuda::SetDevice(device_id());
  stream_ = cuda::GetStream(device_id(), stream_id);
}

// Not stream_: it may belong to a recording that is over.
void CUDAContext::FinishDeviceComputation() { FinishDevice(device_id()); }

void CUDAContext::CopyItems(TypeMeta meta, size_t n, const void* source, void* destination) {
  CAFFE_ENFORCE(meta.copy() == nullptr, "elements of type ", meta.name(),
                " exist in host memory only");
  CopyBytes(n * meta.itemsize(), source, destination);
}

void CUDAContext::CopyBytes(size_t nbytes, const void* source, void* destination) {
  if (nbytes == 0 || source == destination) return;
  cuda::CopyAsync(destination, source, nbytes, stream_);
}

const Tensor& CUDAContext::Upload(int i, const Tensor& tensor) const {
  Tensor& copy = uploads_.try_emplace(i, device()).first->second;
  copy.CopyFrom(tensor);
  return copy;
}

CudaScalar ReadScalar(const Tensor& tensor, const char* what) {
  CAFFE_ENFORCE(tensor.numel() == 1, what, " must have one element, found ", tensor.numel());
  const float* data = tensor.data<float>();
  if (tensor.GetDeviceType() == CUDA) return {data, 0.f};
  if (cuda::HostValues* values = cuda::RecordedHostValues()) {
    return {values->AddOf<float>(tensor, [data] { return *data; }), 0.f};
  }
  return {nullptr, *data};
}

}  // namespace caffe2
