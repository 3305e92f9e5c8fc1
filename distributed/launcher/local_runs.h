// The runs of `doppio run` on this machine whose stores the launcher keeps, so that the same user
// can watch them.
#pragma once

#include <string>
#include <vector>

#include "distributed/redis_store_handler.h"

namespace caffe2 {

// The store of a run.
struct LocalRun {
  std::string run_id;
  RedisOptions redis;  // host, port and password
};

// A file that tells where the store is, as long as the object lives. The file is
// $XDG_RUNTIME_DIR/doppio/<pid namespace>.<pid>.run or, without such a directory of this user, in
// /tmp/doppio-<uid>. Only this user can read it, for it holds the password. If it cannot be
// written, or others may write in its directory, a warning says so, and the run cannot be watched
// in this way.
class LocalRunFile {
 public:
  explicit LocalRunFile(const LocalRun& run);
  ~LocalRunFile();
  LocalRunFile(const LocalRunFile&) = delete;
  LocalRunFile& operator=(const LocalRunFile&) = delete;

 private:
  std::string path_;  // "": there is none
};

// The runs of this user, by run_id, whose launchers live. Removes the files of launchers that were
// killed. Ignores files that are not this user's.
std::vector<LocalRun> FindLocalRuns();

}  // namespace caffe2
