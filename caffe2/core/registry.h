// A map from keys to factories, filled by static objects when a library is loaded.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "caffe2/core/fork_safe_mutex.h"
#include "caffe2/core/logging.h"

namespace caffe2 {

// Makes unique_ptr<Object> from Args by key. Thread-safe: a library that is loaded at run time may
// register while another thread creates objects.
template <typename Key, typename Object, typename... Args>
class Registry {
 public:
  using Creator = std::function<std::unique_ptr<Object>(Args...)>;

  // Throws EnforceNotMet if the key is taken: two definitions of one name are a bug.
  void Register(const Key& key, Creator creator) {
    std::lock_guard<ForkSafeMutex> lock(mutex_);
    CAFFE_ENFORCE(creators_.emplace(key, std::move(creator)).second, "key registered twice: ", key);
  }

  bool Has(const Key& key) const {
    std::lock_guard<ForkSafeMutex> lock(mutex_);
    return creators_.count(key) != 0;
  }

  // Null if the key is unknown.
  std::unique_ptr<Object> Create(const Key& key, Args... args) const {
    Creator creator;
    {
      std::lock_guard<ForkSafeMutex> lock(mutex_);
      auto it = creators_.find(key);
      if (it == creators_.end()) return nullptr;
      creator = it->second;
    }
    return creator(args...);
  }

  // Sorted.
  std::vector<Key> Keys() const {
    std::lock_guard<ForkSafeMutex> lock(mutex_);
    std::vector<Key> keys;
    for (const auto& entry : creators_) keys.push_back(entry.first);
    return keys;
  }

 private:
  mutable ForkSafeMutex mutex_;
  std::map<Key, Creator> creators_;
};

// Registers on construction. The REGISTER_* macros define static objects of this type. There are
// hundreds of them, one for each operator, so operator.h and operator_gradient.h declare the
// templates of their registries extern.
template <typename Key, typename Object, typename... Args>
struct Registerer {
  Registerer(Registry<Key, Object, Args...>* registry, const char* key,
             std::unique_ptr<Object> (*creator)(Args...)) {
    registry->Register(key, creator);
  }
  Registerer(Registry<Key, Object, Args...>* registry, const Key& key,
             std::unique_ptr<Object> (*creator)(Args...)) {
    registry->Register(key, creator);
  }
};

}  // namespace caffe2

#define CAFFE2_CONCATENATE_IMPL(a, b) a##b
#define CAFFE2_CONCATENATE(a, b) CAFFE2_CONCATENATE_IMPL(a, b)
// A name for a static object that is unique within its file.
#define CAFFE2_ANONYMOUS(prefix) CAFFE2_CONCATENATE(prefix, __COUNTER__)
