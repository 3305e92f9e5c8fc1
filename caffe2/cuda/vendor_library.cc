#include "caffe2/cuda/vendor_library.h"

#include <dlfcn.h>

#include <utility>

#include "caffe2/core/logging.h"

namespace caffe2::cuda {

VendorLibrary::VendorLibrary(std::string name, const std::vector<std::string>& files,
                             const std::string& advice)
    : name_(std::move(name)) {
  std::string problem;
  for (const std::string& file : files) {
    handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    const char* error = dlerror();
    if (problem.empty() && error != nullptr) problem = error;
  }
  throw Error(MakeString(name_, " cannot be loaded: ", problem, advice));
}

void* VendorLibrary::AddressOf(const char* symbol) const {
  void* address = dlsym(handle_, symbol);
  if (address == nullptr) throw Error(MakeString(name_, " is too old: it has no ", symbol));
  return address;
}

}  // namespace caffe2::cuda
