// Dictionaries from keys to consecutive numbers, held in blobs.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "caffe2/core/tensor.h"

namespace caffe2 {

// The part of the interface that does not depend on the type of the keys. Unknown keys have number
// 0; known keys have the numbers 1, 2, ...
class IndexBase {
 public:
  virtual ~IndexBase() = default;
  // The number of entries, number 0 included.
  virtual int64_t Size() const = 0;
  virtual TypeMeta KeyType() const = 0;
  // Replaces all entries: the keys after the first `skip` get the numbers 1, 2, ... Throws
  // EnforceNotMet if a key occurs twice, or there are max_elements() keys or more.
  virtual void Load(const Tensor& keys, int64_t skip) = 0;
  // Writes the keys in the order of their numbers, from 1.
  virtual void Store(Tensor* keys) const = 0;

  // From now on no keys are added.
  void Freeze() { frozen_.store(true); }
  bool frozen() const { return frozen_.load(); }
  int64_t max_elements() const { return max_elements_; }

 protected:
  explicit IndexBase(int64_t max_elements) : max_elements_(max_elements) {
    CAFFE_ENFORCE(max_elements > 0, "argument max_elements must be positive, found ", max_elements);
  }

 private:
  const int64_t max_elements_;
  std::atomic<bool> frozen_{false};
};
CAFFE2_TYPE_NAME(std::unique_ptr<IndexBase>, "std::unique_ptr<caffe2::IndexBase>");

// An index of keys of one type. Thread-safe.
template <typename T>
class Index final : public IndexBase {
 public:
  // max_elements includes number 0.
  explicit Index(int64_t max_elements) : IndexBase(max_elements) {}

  // Writes the numbers of n keys. Adds new keys; once the index is frozen, they get 0. Throws
  // EnforceNotMet if the index is full.
  void Get(const T* keys, int64_t* numbers, int64_t n) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (int64_t i = 0; i < n; ++i) {
      const auto found = numbers_.find(keys[i]);
      if (found != numbers_.end()) {
        numbers[i] = found->second;
      } else {
        numbers[i] = frozen() ? 0 : Add(keys[i]);
      }
    }
  }

  int64_t Size() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<int64_t>(numbers_.size()) + 1;
  }
  TypeMeta KeyType() const override { return TypeMeta::Make<T>(); }

  void Load(const Tensor& keys, int64_t skip) override {
    CAFFE_ENFORCE(keys.numel() >= skip, "argument skip_first_entry skips ", skip,
                  " keys, but there are ", keys.numel());
    CAFFE_ENFORCE(keys.numel() - skip < max_elements(), keys.numel() - skip,
                  " keys do not fit an index of less than ", max_elements(), " (max_elements)");
    const T* data = keys.data<T>();
    std::unordered_map<T, int64_t> numbers;
    for (int64_t i = skip; i < keys.numel(); ++i) {
      CAFFE_ENFORCE(numbers.emplace(data[i], i - skip + 1).second, "key ", data[i],
                    " occurs twice");
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    numbers_.swap(numbers);
  }

  void Store(Tensor* keys) const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    keys->Resize(static_cast<int64_t>(numbers_.size()));
    T* data = keys->mutable_data<T>();
    for (const auto& [key, number] : numbers_) data[number - 1] = key;
  }

 private:
  int64_t Add(const T& key) {
    const auto number = static_cast<int64_t>(numbers_.size()) + 1;
    CAFFE_ENFORCE(number < max_elements(), "the index is full at key ", key, ": max_elements is ",
                  max_elements());
    numbers_.emplace(key, number);
    return number;
  }

  mutable std::mutex mutex_;
  std::unordered_map<T, int64_t> numbers_;
};

}  // namespace caffe2
