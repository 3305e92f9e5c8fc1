#include "caffe2/core/device_backend.h"

#include <dlfcn.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

#include "caffe2/core/device_waits.h"
#include "caffe2/core/first_error.h"

namespace caffe2 {
namespace {

constexpr char kCudaLibrary[] = "libcaffe2_cuda.so.0";

struct Backends {
  std::array<DeviceBackend, DeviceType_ARRAYSIZE> of_type;
  std::once_flag load_once;
  std::string load_problem;
};

Backends& All() {
  static auto* backends = new Backends;
  return *backends;
}

// True after a backend is loaded: tensors may lie on devices.
std::atomic<bool> devices_in_use{false};

thread_local const OperatorBase* started_operator = nullptr;

class StartedScope {
 public:
  explicit StartedScope(const OperatorBase* op) : around_(std::exchange(started_operator, op)) {}
  ~StartedScope() { started_operator = around_; }
  StartedScope(const StartedScope&) = delete;
  StartedScope& operator=(const StartedScope&) = delete;

 private:
  const OperatorBase* const around_;
};

void LoadCuda() {
  const char* path = std::getenv("CAFFE2_CUDA_LIBRARY");
  const char* library = path != nullptr ? path : kCudaLibrary;
  std::string& problem = All().load_problem;
  // Never closed: its registered objects live as long as the process.
  if (dlopen(library, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    const char* error = dlerror();
    problem = MakeString("the CUDA backend cannot be loaded: ", error ? error : "");
  } else if (All().of_type[CUDA].count == nullptr) {
    // An empty name stands for the program itself.
    problem =
        MakeString("the CUDA backend cannot be loaded: \"", library, "\" does not contain it");
  }
  if (!problem.empty()) VLOG(1) << problem;
}

const DeviceBackend* Find(DeviceType type) {
  CAFFE_ENFORCE(DeviceType_IsValid(type), "unknown device type ", static_cast<int>(type));
  return LoadDeviceBackend(type) ? &All().of_type[type] : nullptr;
}

void CheckHostInputs(const OperatorBase& op) {
  if (op.device_option().device_type() != CPU) return;
  for (int i = 0; i < op.InputSize(); ++i) {
    const Tensor* tensor = BlobTensor(op.InputBlob(i));
    CAFFE_ENFORCE(tensor == nullptr || tensor->GetDeviceType() == CPU, "input ", i, ", blob ",
                  op.debug_def().input(i), ", lies on ", tensor->device().ToString(),
                  ", but operator ", op.type(),
                  " runs on the host: a copy between the devices is missing");
  }
}

// Names the output that has a shape but no storage.
std::string DescribeMissingStorage(const OperatorBase& op) {
  for (int i = 0; i < op.OutputSize(); ++i) {
    const Tensor* tensor = BlobTensor(*op.Outputs()[i]);
    if (tensor != nullptr && tensor->numel() > 0 && !tensor->has_data()) {
      return MakeString("for blob ", op.debug_def().output(i), " ", ShapeString(tensor->sizes()),
                        " of operator ", op.type());
    }
  }
  return MakeString("for operator ", op.type());
}

}  // namespace

void RegisterDeviceBackend(DeviceType type, const DeviceBackend& backend) {
  All().of_type.at(type) = backend;
  devices_in_use = true;
}

bool LoadDeviceBackend(DeviceType type) {
  if (type == CPU) return true;
  if (type != CUDA) return false;
  std::call_once(All().load_once, LoadCuda);
  return All().of_type[type].count != nullptr;
}

int NumDevices(DeviceType type) {
  if (type == CPU) return 1;
  const DeviceBackend* backend = Find(type);
  return backend == nullptr ? 0 : backend->count();
}

std::string DeviceProblem(DeviceType type) {
  if (type == CPU) return "";
  const DeviceBackend* backend = Find(type);
  if (backend != nullptr) return backend->problem();
  return type == CUDA ? All().load_problem
                      : MakeString("no backend for device type ", DeviceTypeName(type));
}

void CheckDevice(const Device& device) {
  const int count = NumDevices(device.type);
  CAFFE_ENFORCE(count > 0, "no device of type ", DeviceTypeName(device.type),
                " is available: ", DeviceProblem(device.type));
  CAFFE_ENFORCE(device.id >= 0 && device.id < count, "there is no device ", device.ToString(),
                "; this machine has ", count);
}

size_t PeakMemory(const Device& device) {
  CheckDevice(device);
  if (device.type != CPU) return Find(device.type)->peak_memory(device.id);
  rusage usage{};
  CAFFE_ENFORCE(getrusage(RUSAGE_SELF, &usage) == 0, "getrusage failed");
  return static_cast<size_t>(usage.ru_maxrss) << 10;
}

bool StartOperator(OperatorBase* op) {
  if (devices_in_use.load(std::memory_order_relaxed)) CheckHostInputs(*op);
  const StartedScope scope(op);
  try {
    return op->RunAsync();
  } catch (OutOfMemoryError& error) {
    error.AddContext(DescribeMissingStorage(*op));
    throw;
  }
}

const OperatorBase* StartedOperator() { return started_operator; }

void FinishOperators(const std::vector<std::unique_ptr<OperatorBase>>& operators) {
  if (!devices_in_use.load(std::memory_order_relaxed)) return;
  std::set<int> finished;
  FirstError errors;
  for (auto op = operators.rbegin(); op != operators.rend(); ++op) {
    const DeviceOption& option = (*op)->device_option();
    if (option.device_type() == CPU || !finished.insert(option.device_id()).second) continue;
    errors.Try([&] { (*op)->Finish(); });
  }
  errors.Rethrow();
}

}  // namespace caffe2
