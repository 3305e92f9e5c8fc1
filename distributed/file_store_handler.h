// A store in a directory that all shards see; NFS works.
#pragma once

#include "distributed/store_handler.h"

namespace caffe2 {

// Each key is a file in <path>/<prefix>/ (made with mode 0700). Its name is the key, with
// characters other than letters, digits, '.', '_' and '-' written as %XX. Files are published by
// link(2), so they appear complete or not at all. Throws IoError with the path and the reason if
// the directory `path` does not exist or cannot be written. It also throws IoError if everybody may
// write to the directory and it is not sticky (as /tmp is): others could then move the directory of
// the run away. Members of its group may write to it, as on volumes of Kubernetes, and are trusted.
std::unique_ptr<StoreHandler> NewFileStore(const std::string& path, const std::string& prefix);
StoreFactory FileStores(const std::string& path);

}  // namespace caffe2
