// Memory of a device.
#pragma once

#include <cstddef>
#include <memory>

#include "caffe2/core/device.h"

namespace caffe2 {

// Allocates memory of one device type. Thread-safe.
class Allocator {
 public:
  virtual ~Allocator() = default;
  // nbytes > 0 of uninitialised memory on `device`, aligned to at least 64 bytes, freed with the
  // last copy of the pointer. Throws OutOfMemoryError, naming the bytes requested, if there is not
  // enough.
  virtual std::shared_ptr<void> Allocate(size_t nbytes, const Device& device) = 0;
};

// The allocator of a device type; throws EnforceNotMet if this build has no such device.
Allocator& GetAllocator(DeviceType type);
// Called once per device type during static initialisation. The allocator lives for ever.
void RegisterAllocator(DeviceType type, Allocator* allocator);

// Copies bytes between any two devices and waits for the copy. Throws EnforceNotMet if this build
// cannot copy between them.
void CopyBytesSync(size_t nbytes, const void* source, const Device& source_device,
                   void* destination, const Device& destination_device);
// Called during static initialisation for each pair of device types.
using CopyBytesFn = void (*)(size_t nbytes, const void* source, const Device& source_device,
                             void* destination, const Device& destination_device);
void RegisterCopyBytes(DeviceType source, DeviceType destination, CopyBytesFn copy);

}  // namespace caffe2
