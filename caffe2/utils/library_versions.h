// Which versions of other libraries this process runs with.
#pragma once

#include <string>
#include <vector>

namespace caffe2 {

struct LibraryVersion {
  std::string name;     // "oneDNN"
  std::string version;  // "2.7.3", as the library reports it, else the version of its headers
};

// Sorted by name. Libraries that are loaded later, such as CUDA's, are listed once they are.
std::vector<LibraryVersion> LibraryVersions();

// Adds a library to the list: a static object in the file that wraps the library.
struct RegisterLibraryVersion {
  RegisterLibraryVersion(const std::string& name, const std::string& version);
};

}  // namespace caffe2
