#include "caffe2/core/allocator.h"

#include <sys/mman.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

constexpr int kMaxDeviceTypes = 8;
constexpr size_t kAlignment = 64;  // a cache line and an AVX-512 register

// Large blocks use huge pages, as in numpy: walking 100 MB in pages of 4 KB takes up to twice as
// long.
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLargeBlock = 2 * kHugePage;

// Plain aligned memory. A cache would win nothing, because blobs keep their storage between runs of
// a net.
class CPUAllocator final : public Allocator {
 public:
  std::shared_ptr<void> Allocate(size_t nbytes, const Device& /*device*/) override {
    const size_t rounded = (nbytes + kAlignment - 1) / kAlignment * kAlignment;
    const bool large = rounded >= kLargeBlock;
    void* data = nullptr;
    if (rounded < nbytes || posix_memalign(&data, large ? kHugePage : kAlignment, rounded) != 0) {
      throw OutOfMemoryError(MakeString("out of memory: cannot allocate ", nbytes, " bytes"));
    }
#ifdef MADV_HUGEPAGE
    // Only advice: without huge pages the memory works as well, only slower.
    if (large) madvise(data, rounded, MADV_HUGEPAGE);
#endif
    return {data, std::free};
  }
};

std::array<Allocator*, kMaxDeviceTypes>& Allocators() {
  static CPUAllocator cpu;
  static std::array<Allocator*, kMaxDeviceTypes> allocators = {&cpu};
  return allocators;
}

void CopyBytesOnHost(size_t nbytes, const void* source, const Device&, void* destination,
                     const Device&) {
  std::memcpy(destination, source, nbytes);
}

std::array<std::array<CopyBytesFn, kMaxDeviceTypes>, kMaxDeviceTypes>& CopyFunctions() {
  static std::array<std::array<CopyBytesFn, kMaxDeviceTypes>, kMaxDeviceTypes> functions = [] {
    decltype(functions) table{};
    table[CPU][CPU] = CopyBytesOnHost;
    return table;
  }();
  return functions;
}

}  // namespace

Allocator& GetAllocator(DeviceType type) {
  if (type != CPU) LoadDeviceBackend(type);
  CAFFE_ENFORCE(type >= 0 && type < kMaxDeviceTypes && Allocators()[type] != nullptr,
                "this build has no memory for device type ", DeviceTypeName(type));
  return *Allocators()[type];
}

void RegisterAllocator(DeviceType type, Allocator* allocator) {
  CAFFE_ENFORCE(type >= 0 && type < kMaxDeviceTypes);
  Allocators()[type] = allocator;
}

void RegisterCopyBytes(DeviceType source, DeviceType destination, CopyBytesFn copy) {
  CAFFE_ENFORCE(source < kMaxDeviceTypes && destination < kMaxDeviceTypes);
  CopyFunctions()[source][destination] = copy;
}

void CopyBytesSync(size_t nbytes, const void* source, const Device& source_device,
                   void* destination, const Device& destination_device) {
  if (nbytes == 0) return;
  CAFFE_ENFORCE(source_device.type < kMaxDeviceTypes && destination_device.type < kMaxDeviceTypes);
  const CopyBytesFn copy = CopyFunctions()[source_device.type][destination_device.type];
  CAFFE_ENFORCE(copy != nullptr, "this build cannot copy from ", source_device.ToString(), " to ",
                destination_device.ToString());
  copy(nbytes, source, source_device, destination, destination_device);
}

}  // namespace caffe2
