// The right of one run to write a file.
#pragma once

#include <mutex>
#include <string>

#include "caffe2/core/exit_code.h"
#include "caffe2/utils/owned_fd.h"

namespace caffe2 {

// A later generation of the run, or another run, writes the files now. This process was frozen and
// must not write any more.
class Superseded : public WithExitCode<IoError> {
 public:
  explicit Superseded(const std::string& message)
      : WithExitCode(ExitCode::kNotPermitted, message) {}
};

// Identifies the run that writes. A generation of a run begins when its shards join
// (RunMembership). Of two owners with the same run_id and token, the later generation wins, and in
// one generation the greater writer.
struct RunIdentity {
  std::string run_id;  // "": a run of one process, which nothing supersedes
  int generation = 1;
  std::string token = {};  // RunMembership::token()
  // With parameter servers the number of the worker: one writes after all workers before it were
  // given up. They may only be frozen.
  int writer = 0;
};

// Holds the right to write `path` (a checkpoint, or the path that stands for several models) for
// its lifetime, by a lock on the file "<path>.lock", which names the owner. The kernel releases the
// lock when the process ends, so the lock file of a killed process does not block.
//
// Fencing: suppose that a process freezes during a save, and a later generation or writer of its
// run takes over. When the process wakes, it writes nothing. The later one first names itself as
// the owner, then removes the temporary files of the earlier owner. A save writes a temporary file,
// then checks the owner, then renames (AtomicFile). So the rename either happens before the later
// generation reads the file, or fails, because the temporary file is gone.
class RunLock {
 public:
  // Throws RunConflict, which names the owner, if another run has the lock, and IoError if the lock
  // file cannot be written. On a file system without locks, logs a warning and only writes the
  // owner into the lock file.
  RunLock(const std::string& path, const RunIdentity& identity);
  // Removes the file if this is still the owner.
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  // Throws Superseded, which names the new owner, unless this is still the owner, and IoError if
  // the lock file cannot be read. If somebody removed the lock file, and nobody has taken the lock
  // over, makes it again and logs a warning. Any thread may call it.
  void Check() const;

 private:
  bool TryToTake(const RunIdentity& identity);
  bool MakeLockFile(int (*publish)(const char* from, const char* to)) const;

  const std::string path_;       // of the file to be written
  const std::string lock_path_;  // "<path>.lock"
  std::string record_;           // the content of the lock file
  mutable std::mutex mutex_;     // for Check()
  mutable OwnedFd file_;         // the lock file; the next owner writes its record into it
};

}  // namespace caffe2
