// A dense multi-dimensional array.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "caffe2/core/allocator.h"
#include "caffe2/core/type_meta.h"

namespace caffe2 {

// Shape, element type, device and (shared) storage, in row-major order.
//
// As in Caffe2, mutable_data<T>() or raw_mutable_data() allocates memory, and Resize() only sets
// the shape. A tensor keeps storage that is large enough, so that a net that runs again allocates
// nothing. Two tensors share storage after ShareData() or View(). A tensor that outgrows shared
// storage leaves it and gets its own. Not synchronised: one writer or many readers at a time.
//
// A tensor with a shape but without storage holds no data: data<T>() on it throws unless size() is
// 0.
class Tensor {
 public:
  explicit Tensor(DeviceType type = CPU) : device_{type, 0} {}
  explicit Tensor(const Device& device) : device_(device) {}
  Tensor(const std::vector<int64_t>& dims, DeviceType type) : Tensor(type) { Resize(dims); }
  // A copy of host values, on the CPU.
  template <typename T>
  Tensor(const std::vector<int64_t>& dims, const std::vector<T>& values);

  // Not copyable: use CopyFrom or ShareData, which say whether storage is shared.
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;

  const std::vector<int64_t>& sizes() const { return dims_; }
  const std::vector<int64_t>& dims() const { return dims_; }  // Caffe2's older name
  int dim() const { return static_cast<int>(dims_.size()); }
  int ndim() const { return dim(); }
  // Size of one axis. A negative i counts from the end. Throws if it is out of range.
  int64_t size(int i) const;
  int dim32(int i) const;  // throws if it does not fit an int
  // Number of elements. A tensor without dimensions is a scalar and has 1; a tensor that was never
  // resized has 0.
  int64_t numel() const { return numel_; }
  int64_t size() const { return numel_; }
  // Product of the sizes of the axes before axis k, and from axis k on. Throw unless
  // 0 <= k <= dim().
  int64_t size_to_dim(int k) const;
  int64_t size_from_dim(int k) const;
  // Maps -dim()..dim()-1 to 0..dim()-1; throws if out of range.
  int canonical_axis_index(int axis) const;

  TypeMeta dtype() const { return meta_; }
  TypeMeta meta() const { return meta_; }
  size_t itemsize() const { return meta_.itemsize(); }
  size_t nbytes() const { return static_cast<size_t>(numel_) * itemsize(); }
  template <typename T>
  bool IsType() const {
    return meta_.Match<T>();
  }
  const Device& device() const { return device_; }
  DeviceType GetDeviceType() const { return device_.type; }
  // True if there is a type and storage for the whole shape. Zero elements need no storage.
  bool has_data() const { return meta_ && (data_ != nullptr || numel_ == 0); }

  // Sets the shape. Keeps the storage if it is large enough, else releases it. Throws for a
  // negative dimension and if the number of elements overflows an int64.
  void Resize(const std::vector<int64_t>& dims);
  template <typename... Ints>
  requires(std::is_integral_v<Ints>&&...) void Resize(Ints... dims) {
    const std::array<int64_t, sizeof...(Ints)> list{static_cast<int64_t>(dims)...};
    ResizeTo(list.data(), list.size());
  }
  void ResizeLike(const Tensor& other) {
    ResizeTo(other.dims_.data(), other.dims_.size());
    numel_ = other.numel_;  // 0 if `other` was never resized: its shape is not a scalar's
  }
  // Changes the shape only. Throws unless the number of elements stays the same.
  void Reshape(const std::vector<int64_t>& dims);

  // Writable elements. Allocates if needed. Changes the element type if it differs; the contents
  // are then undefined (std::string elements are empty). May be null if size() is 0.
  template <typename T>
  T* mutable_data() {
    if (meta_.Match<T>() && data_ != nullptr) [[likely]]
      return static_cast<T*>(data_.get());
    return static_cast<T*>(raw_mutable_data(TypeMeta::Make<T>()));
  }
  void* raw_mutable_data(TypeMeta meta);
  void* raw_mutable_data();  // keeps the element type; throws if there is none yet
  // Throws EnforceNotMet if T is not the element type (the text names both types) or there is no
  // storage.
  template <typename T>
  const T* data() const {
    if (!meta_.Match<T>() || (data_ == nullptr && numel_ != 0)) [[unlikely]] {
      ThrowBadAccess(TypeMeta::Make<T>());
    }
    return static_cast<const T*>(data_.get());
  }
  const void* raw_data() const { return data_.get(); }

  // Makes this a deep copy of `source` on this tensor's device, and waits for the copy. Throws
  // EnforceNotMet if `source` has an element type but holds no data.
  void CopyFrom(const Tensor& source);
  // Takes over shape, type, device and storage of `source`, without copying.
  void ShareData(const Tensor& source);
  // A tensor of shape `dims` over this tensor's storage, starting at element `offset`. It keeps the
  // storage alive. Throws if it would reach past the end or this tensor holds no data.
  Tensor View(int64_t offset, const std::vector<int64_t>& dims) const;
  // Uses memory on this tensor's device that the caller owns or that the pointer's deleter frees.
  // Set the shape first. Throws EnforceNotMet if the shape needs more than capacity_bytes.
  void ShareExternalPointer(std::shared_ptr<void> data, TypeMeta meta, size_t capacity_bytes);

  // Grows the outermost dimension to `outer` and keeps the contents. Capacity grows by at least
  // growth_percent, so that repeated appends cost amortised constant time. Throws EnforceNotMet for
  // a tensor on a GPU, a scalar, or an `outer` below size(0).
  void ExtendTo(int64_t outer, int growth_percent = 40);
  // Keeps the storage. Throws EnforceNotMet unless 0 <= outer <= size(0).
  void ShrinkTo(int64_t outer);
  void FreeMemory();  // drops storage, keeps shape and type

  // While there is a pin, what would change the shape, the element type or the storage throws
  // EnforceNotMet: another thread may use them. Writing elements is no change. A move takes no pins
  // along, and is not refused: it may free what others read. Thread-safe.
  void Pin() { pins_.count.fetch_add(1, std::memory_order_relaxed); }
  void Unpin() { pins_.count.fetch_sub(1, std::memory_order_relaxed); }

  // True if both begin at the same address; false for a View with an offset.
  bool shares_storage_with(const Tensor& other) const { return data_ && data_ == other.data_; }

  std::string DebugString() const;  // "float [2, 3] on cpu"

 private:
  // They belong to the object, not to its value.
  struct Pins {
    Pins() = default;
    Pins(Pins&&) noexcept {}
    Pins& operator=(Pins&&) noexcept { return *this; }
    std::atomic<int> count{0};
  };

  void ResizeTo(const int64_t* dims, size_t n);
  // Called before any change of shape, element type or storage.
  void EnforceNoPins() const {
    if (pins_.count.load(std::memory_order_relaxed) != 0) [[unlikely]]
      ThrowPinned();
  }
  [[noreturn]] void ThrowPinned() const;
  [[noreturn]] void ThrowBadAccess(TypeMeta wanted) const;

  Device device_;
  TypeMeta meta_;
  std::vector<int64_t> dims_;
  int64_t numel_ = 0;
  std::shared_ptr<void> data_;
  size_t capacity_ = 0;  // bytes
  Pins pins_;
};

CAFFE2_TYPE_NAME(Tensor, "Tensor");

// Caffe2's name for a tensor in host memory.
using TensorCPU = Tensor;

// "[2, 3]"
std::string ShapeString(const std::vector<int64_t>& dims);
// Product of dims; throws EnforceNotMet on a negative dimension or overflow, naming the shape.
int64_t CheckedNumel(const int64_t* dims, size_t n);
inline int64_t CheckedNumel(const std::vector<int64_t>& dims) {
  return CheckedNumel(dims.data(), dims.size());
}

template <typename T>
Tensor::Tensor(const std::vector<int64_t>& dims, const std::vector<T>& values) : Tensor(CPU) {
  Resize(dims);
  CAFFE_ENFORCE_EQ(numel_, static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), mutable_data<T>());
}

}  // namespace caffe2
