#include "caffe2/cuda/host_values.h"

#include <utility>

#include "caffe2/core/device_backend.h"

namespace caffe2::cuda {
namespace {

thread_local HostValues* current = nullptr;

}  // namespace

HostValues::HostValues(int device) : device_(device), sent_(device) {
  on_device_ = static_cast<char*>(Allocate(kMaxValues * kSlot, device));
  if (on_device_ == nullptr) {
    throw OutOfMemoryError(MakeString("out of memory on cuda:", device, ": cannot allocate ",
                                      kMaxValues * kSlot,
                                      " bytes for the numbers of a CUDA graph"));
  }
  on_host_ = static_cast<char*>(AllocatePinned(kMaxValues * kSlot));
}

HostValues::~HostValues() {
  // The copy may still read on_host_. Whoever waits for the stream gets its error.
  try {
    sent_.Synchronize();
  } catch (const std::exception& error) {
    LOG(WARNING) << error.what();
  }
  FreePinned(on_host_);
  Free(on_device_, device_);
}

const void* HostValues::AddWriter(std::function<void(void*)> writer) {
  CAFFE_ENFORCE(writers_.size() < kMaxValues, "one CUDA graph can use at most ", kMaxValues,
                " numbers that the host computes anew before each launch");
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
