// The right of one run to write a file.
#pragma once

#include <cstdint>
#include <string>

#include "caffe2/core/exit_code.h"

namespace caffe2 {

// A later generation of the run, or another run, writes the files now. This process was frozen and
// must not write any more.
class Superseded : public WithExitCode<IoError> {
 public:
  explicit Superseded(const std::string& message)
      : WithExitCode(ExitCode::kNotPermitted, message) {}
};

// Which run writes. A generation of a run begins when its shards join (RunMembership). Of two
// owners with the same run_id, the one that joined later wins.
struct RunIdentity {
  std::string run_id;  // "": a run of one process, which nothing supersedes
  int generation = 1;
  int64_t joined_ms = 0;  // since 1970
};

// Holds the right to write `path` (a checkpoint, or the first of several models) for its lifetime,
// by a lock on the file "<path>.lock", which names the owner. The kernel ends the lock with the
// process, so a file that a killed process has left does not block.
//
// Fencing: a process that was frozen inside of a save, while a later generation of its run took
// over, writes nothing when it wakes. The later generation first names itself as the owner, then
// removes the temporary files of the earlier owner. A save writes a temporary file, then checks the
// owner, then renames (AtomicFile). So a rename either happens before the later generation reads
// the file, or fails, because there is nothing to rename.
class RunLock {
 public:
  // Throws RunConflict, which names the owner, if another run has the lock, and IoError if the file
  // cannot be written. On a file system without locks, logs a warning and only names the owner.
  RunLock(const std::string& path, const RunIdentity& identity);
  // Removes the file if this is still the owner.
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  // Throws Superseded, which names the new owner, unless this is still the owner. Any thread may
  // call it.
  void Check() const;

 private:
  bool TryToTake(const RunIdentity& identity);

  const std::string path_;       // of the file to be written
  const std::string lock_path_;  // "<path>.lock"
  std::string record_;           // the content of the lock file
  int fd_ = -1;
};

}  // namespace caffe2
