// A slot for one object: most often a tensor, but any C++ object.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "caffe2/core/tensor.h"
#include "caffe2/core/type_meta.h"

namespace caffe2 {

// Holds one object of any type, or nothing. Not synchronised. The blobs of a workspace are shared
// with the operators that use them (Workspace::RemoveBlob).
class Blob : public std::enable_shared_from_this<Blob> {
 public:
  Blob() = default;
  Blob(const Blob&) = delete;
  Blob& operator=(const Blob&) = delete;
  Blob(Blob&&) noexcept = default;
  Blob& operator=(Blob&&) noexcept = default;

  template <typename T>
  bool IsType() const {
    return meta_.Match<T>();
  }
  TypeMeta meta() const { return meta_; }
  std::string TypeName() const { return meta_.name(); }

  // Throws EnforceNotMet, naming both types, if the blob does not hold a T.
  template <typename T>
  const T& Get() const {
    if (!meta_.Match<T>()) [[unlikely]]
      ThrowWrongType(TypeMeta::Make<T>());
    return *static_cast<const T*>(object_.get());
  }
  // The object, made by default construction (a fresh one replaces an object of another type).
  template <typename T>
  T* GetMutable() {
    if (meta_.Match<T>()) [[likely]]
      return static_cast<T*>(object_.get());
    return Reset(std::make_unique<T>());
  }
  // The same object, which then lives on when the blob is given another one. Null if the blob holds
  // no T.
  template <typename T>
  std::shared_ptr<T> GetShared() {
    return meta_.Match<T>() ? std::static_pointer_cast<T>(object_) : nullptr;
  }
  // Takes ownership.
  template <typename T>
  T* Reset(std::unique_ptr<T> object) {
    T* raw = object.get();
    object_ = std::move(object);
    meta_ = TypeMeta::Make<T>();
    return raw;
  }
  void Reset() {
    object_.reset();
    meta_ = {};
  }
  void swap(Blob& other) noexcept { std::swap(*this, other); }

 private:
  [[noreturn]] void ThrowWrongType(TypeMeta wanted) const;

  TypeMeta meta_;
  std::shared_ptr<void> object_;
};

// The blob's tensor. If the blob holds no tensor on `device`, it is replaced by an empty one there.
Tensor* BlobGetMutableTensor(Blob* blob, const Device& device);
// Null if the blob holds no tensor.
inline const Tensor* BlobTensor(const Blob& blob) {
  return blob.IsType<Tensor>() ? &blob.Get<Tensor>() : nullptr;
}

}  // namespace caffe2
