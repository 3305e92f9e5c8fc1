// The store in a directory that all shards see, NFS included.
#pragma once

#include "distributed/store_handler.h"

namespace caffe2 {

// Keys are files in <path>/<prefix>/ (made with mode 0700), named as the keys with characters
// other than letters, digits, '.', '_', '-' as %XX. Files are published by link(2), so that they
// appear whole or not at all. The directory `path` must exist; throws IoError with path and reason
// if it does not or cannot be written.
std::unique_ptr<StoreHandler> NewFileStore(const std::string& path, const std::string& prefix);
StoreFactory FileStores(const std::string& path);

}  // namespace caffe2
