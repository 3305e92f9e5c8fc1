// Run-time description of a C++ type: what a Tensor's elements are, what a Blob holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <typeinfo>

#include "caffe2/core/half.h"
#include "caffe2/core/logging.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// The readable name of a type: "int" for typeid(int).
std::string DemangleTypeName(const std::type_info& info);

// The name of a type in files and messages. If the wire format fixes a name, specialize it with
// CAFFE2_TYPE_NAME; otherwise it is the C++ name.
template <typename T>
struct TypeName {
  static std::string Get() { return DemangleTypeName(typeid(T)); }
};

#define CAFFE2_TYPE_NAME(T, text)             \
  template <>                                 \
  struct TypeName<T> {                        \
    static std::string Get() { return text; } \
  }

CAFFE2_TYPE_NAME(std::string, "std::string");
CAFFE2_TYPE_NAME(int64_t, "int64_t");
CAFFE2_TYPE_NAME(uint8_t, "uint8_t");
CAFFE2_TYPE_NAME(int8_t, "int8_t");
CAFFE2_TYPE_NAME(float16, "float16");
CAFFE2_TYPE_NAME(bfloat16, "bfloat16");
CAFFE2_TYPE_NAME(std::unique_ptr<std::mutex>, "std::unique_ptr<std::mutex>");

// Identity, size and lifetime functions of a type. Cheap to copy: one pointer. Two are equal if and
// only if the types are the same, also across shared libraries. The default value means "no type".
class TypeMeta {
 public:
  TypeMeta() = default;

  template <typename T>
  static TypeMeta Make() {
    return TypeMeta(&Holder<T>::data);
  }

  explicit operator bool() const { return data_ != nullptr; }
  size_t itemsize() const { return data_ ? data_->itemsize : 0; }
  std::string name() const { return data_ ? data_->name() : "nothing"; }

  // Null for types that do not need the function (trivial types) or do not allow it (not
  // default-constructible, not copyable). The functions work on arrays of n elements. Must not be
  // called on the default value.
  using ConstructFn = void (*)(void* objects, size_t n);
  using CopyFn = void (*)(const void* source, void* destination, size_t n);
  ConstructFn construct() const { return data_->construct; }
  ConstructFn destroy() const { return data_->destroy; }
  CopyFn copy() const { return data_->copy; }

  template <typename T>
  bool Match() const {
    return data_ == &Holder<T>::data;
  }
  friend bool operator==(TypeMeta a, TypeMeta b) { return a.data_ == b.data_; }

 private:
  struct Data {
    size_t itemsize;
    std::string (*name)();
    ConstructFn construct;
    ConstructFn destroy;
    CopyFn copy;
  };

  template <typename T>
  struct Holder {
    static constexpr ConstructFn Construct() {
      if constexpr (std::is_trivially_default_constructible_v<T> ||
                    !std::is_default_constructible_v<T>) {
        return nullptr;
      } else {
        return [](void* p, size_t n) {
          for (size_t i = 0; i < n; ++i) new (static_cast<T*>(p) + i) T();
        };
      }
    }
    static constexpr ConstructFn Destroy() {
      if constexpr (std::is_trivially_destructible_v<T>) {
        return nullptr;
      } else {
        return [](void* p, size_t n) {
          for (size_t i = 0; i < n; ++i) static_cast<T*>(p)[i].~T();
        };
      }
    }
    static constexpr CopyFn Copy() {
      if constexpr (std::is_trivially_copyable_v<T> || !std::is_copy_assignable_v<T>) {
        return nullptr;
      } else {
        return [](const void* source, void* destination, size_t n) {
          for (size_t i = 0; i < n; ++i) {
            static_cast<T*>(destination)[i] = static_cast<const T*>(source)[i];
          }
        };
      }
    }
    static constexpr Data data{sizeof(T), &TypeName<T>::Get, Construct(), Destroy(), Copy()};
  };

  explicit TypeMeta(const Data* data) : data_(data) {}
  const Data* data_ = nullptr;
};

// The wire type of an element type, and the element type of a wire type. UNDEFINED or an empty
// TypeMeta if there is none. BYTE maps to uint8_t.
TensorProto::DataType TypeMetaToDataType(TypeMeta meta);
TypeMeta DataTypeToTypeMeta(TensorProto::DataType type);

}  // namespace caffe2
