#include "caffe2/utils/library_versions.h"

#include <google/protobuf/stubs/common.h>

#include <map>
#include <mutex>

#include "caffe2/core/fork_safe_mutex.h"

namespace caffe2 {
namespace {

struct Versions {
  ForkSafeMutex mutex;
  std::map<std::string, std::string> by_name;
};

Versions& AllVersions() {
  static Versions versions;
  return versions;
}

// No file wraps protobuf.
const RegisterLibraryVersion protobuf(
    "protobuf", google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION));

}  // namespace

std::vector<LibraryVersion> LibraryVersions() {
  Versions& versions = AllVersions();
  std::lock_guard<ForkSafeMutex> lock(versions.mutex);
  std::vector<LibraryVersion> list;
  for (const auto& [name, version] : versions.by_name) list.push_back({name, version});
  return list;
}

RegisterLibraryVersion::RegisterLibraryVersion(const std::string& name,
                                               const std::string& version) {
  Versions& versions = AllVersions();
  std::lock_guard<ForkSafeMutex> lock(versions.mutex);
  versions.by_name[name] = version;
}

}  // namespace caffe2
