#include "caffe2/cuda/host_values.h"

#include <utility>

#include "caffe2/core/logging.h"

namespace caffe2::cuda {
namespace {

thread_local HostValues* current = nullptr;

}  // namespace

HostValues::HostValues(int device) : device_(device), sent_(device) {
  on_device_ = static_cast<char*>(Allocate(kMost * kSlot, device));
  if (on_device_ == nullptr) {
    throw Error(MakeString("out of memory on cuda:", device, ": ", kMost * kSlot,
                           " bytes for values of the host"));
  }
  on_host_ = static_cast<char*>(AllocatePinned(kMost * kSlot));
}

HostValues::~HostValues() {
  // A copy may still be reading. What failed in it is told to whoever waits for the stream.
  try {
    sent_.Synchronize();
  } catch (const std::exception& error) {
    LOG(WARNING) << error.what();
  }
  FreePinned(on_host_);
  Free(on_device_, device_);
}

const void* HostValues::AddWriter(std::function<void(void*)> writer) {
  CAFFE_ENFORCE_LT(writers_.size(), kMost, "too many values of the host in one CUDA graph");
  writers_.push_back(std::move(writer));
  return on_device_ + (writers_.size() - 1) * kSlot;
}

void HostValues::Send() {
  if (writers_.empty()) return;
  sent_.Synchronize();
  for (size_t i = 0; i < writers_.size(); ++i) writers_[i](on_host_ + i * kSlot);
  const Stream stream = GetStream(device_, kComputeStream);
  CopyAsync(on_device_, on_host_, writers_.size() * kSlot, stream);
  sent_.Record(stream);
}

HostValues* RecordedHostValues() { return current; }

HostValuesScope::HostValuesScope(HostValues* values) { current = values; }
HostValuesScope::~HostValuesScope() { current = nullptr; }

}  // namespace caffe2::cuda
