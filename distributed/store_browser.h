// Looks for runs in a store. Shards do not use it: these operations are for people, and need more
// Redis commands (SCAN and HGETALL) than the ACL of shards allows.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "distributed/redis_store_handler.h"
#include "distributed/store_handler.h"

namespace caffe2 {

// Not thread-safe. All methods throw like StoreHandler. The results are unchecked: anybody may have
// written them to the store.
class StoreBrowser {
 public:
  virtual ~StoreBrowser() = default;
  // The run ids that have a key "generation", sorted.
  virtual std::vector<std::string> RunIds() = 0;
  // The keys of a run, without "<run_id>/", sorted.
  virtual std::vector<std::string> Keys(const std::string& run_id) = 0;
  // The fields of a key that SetFields() has set; none if it does not exist.
  virtual std::map<std::string, std::string> Fields(const std::string& run_id,
                                                    const std::string& key) = 0;
};

std::unique_ptr<StoreBrowser> NewRedisBrowser(const RedisOptions& options);
// Throws IoError (kStoreUnreachable) if `path` is not a directory that can be read.
std::unique_ptr<StoreBrowser> NewFileBrowser(const std::string& path);

}  // namespace caffe2
