// NVIDIA's libraries that are loaded when they are first needed, so that programs also start on
// machines without them.
#pragma once

#include <string>
#include <vector>

namespace caffe2::cuda {

// Functions found in it stay valid, because a library stays loaded.
class VendorLibrary {
 public:
  // Loads the first of `files` (there must be at least one) that dlopen finds. Throws Error:
  // "<name> cannot be loaded: " with dlopen's text for the first file, and then `advice`.
  VendorLibrary(std::string name, const std::vector<std::string>& files,
                const std::string& advice = "");

  // Throws Error: "<name> is too old: it has no <symbol>".
  template <typename F>
  void Find(const char* symbol, F* function) const {
    *function = reinterpret_cast<F>(AddressOf(symbol));
  }

 private:
  void* AddressOf(const char* symbol) const;

  const std::string name_;
  void* handle_ = nullptr;
};

}  // namespace caffe2::cuda
