#include "train/kept_checkpoints.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <utility>
#include <vector>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"
#include "distributed/random_hex.h"
#include "train/atomic_file.h"

namespace caffe2 {
namespace {

constexpr int kLineageBytes = 16;    // as digits 32
constexpr size_t kHeadBytes = 1024;  // of a file, with its lineage

std::string LineageField(const std::string& lineage) {
  CheckpointProto field;
  field.set_lineage(lineage);
  return field.SerializeAsString();
}

// The checkpoint before the last `i`: "<path>", "<path>.1", ...
std::string KeptPath(const std::string& path, int i) {
  return i == 0 ? path : MakeString(path, ".", i);
}

bool IsMissing(const std::string& file) {
  return access(file.c_str(), F_OK) != 0 && errno == ENOENT;
}

// What is wrong with the file, or "". Throws IoError if it cannot be read.
std::string Damage(const std::string& file) {
  try {
    VerifyChecksum(file);
  } catch (const IoError& error) {
    if (ExitCodeOf(error) == ExitCode::kBadData) return error.what();
    ThrowIoError(ExitCodeOf(error), "cannot tell whether a checkpoint is intact: ", error.what(),
                 "; make it readable, or move it away to resume from an older one");
  }
  return "";
}

// What is known after a look at the files from the newest on.
class Search {
 public:
  explicit Search(std::string path) : path_(std::move(path)) {}

  // True if the run can go on from this file. Otherwise logs why not.
  bool Accepts(const std::string& file) {
    const std::string damage = Damage(file), lineage = LineageOf(file);
    if (lineage_.empty() && !lineage.empty()) {
      lineage_ = lineage;
      named_by_ = file;
    }
    if (!damage.empty()) {
      LOG(WARNING) << "skipping a damaged checkpoint: " << damage;
      Note(damage);
      damaged_.push_back(file);
      return false;
    }
    if (lineage.empty() || lineage == lineage_) return true;
    LOG(WARNING) << "passing over " << file << ": it is from an earlier run, not from the one that "
                 << "wrote " << named_by_;
    if (earlier_.empty()) earlier_ = file;
    return false;
  }

  void Note(const std::string& problem) { problems_ += (problems_.empty() ? "" : "; ") + problem; }

  void LogOlder(const std::string& file) const {
    if (file == path_) return;
    // Either may be of an older program.
    const bool unknown = !damaged_.empty() && (named_by_.empty() || named_by_ == file);
    LOG(WARNING) << "resuming from the older checkpoint " << file
                 << (unknown ? ", though the damaged ones do not tell whether they are of that run"
                             : "");
  }

  const std::vector<std::string>& damaged() const { return damaged_; }

  [[noreturn]] void Fail() const {
    if (earlier_.empty()) ThrowIoError(ExitCode::kBadData, "no checkpoint is intact: ", problems_);
    ThrowIoError(ExitCode::kBadData, "no checkpoint of the run that wrote ", named_by_,
                 " is intact: ", problems_, "; rename ", earlier_, " to ", path_,
                 " to go on from the earlier run");
  }

 private:
  const std::string path_;
  std::string lineage_, named_by_;  // of the run, and the file that has it
  std::string problems_;
  std::string earlier_;  // the newest intact file of another run
  std::vector<std::string> damaged_;
};

}  // namespace

std::string NewLineage() { return RandomHex(kLineageBytes); }

std::string HeaderBytes(CheckpointProto header) {
  const std::string first = LineageField(header.lineage());
  header.clear_lineage();
  return first + header.SerializeAsString();
}

std::string LineageOf(const std::string& file) {
  std::string head(kHeadBytes, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(stream.gcount()));
  const size_t digits = 2 * kLineageBytes;
  const std::string tag = LineageField(std::string(digits, '0')).substr(0, 3);
  const size_t at = head.find(tag);
  if (at == std::string::npos) return "";
  const std::string lineage = head.substr(at + tag.size(), digits);
  const bool valid = lineage.size() == digits &&
                     lineage.find_first_not_of("0123456789abcdef") == std::string::npos;
  return valid ? lineage : "";
}

bool HasCheckpoint(const OutputOptions& output) {
  for (int i = 0; i < output.keep_checkpoints; ++i) {
    if (access(KeptPath(output.checkpoint_path, i).c_str(), F_OK) == 0) return true;
  }
  return false;
}

std::string NewestCheckpoint(const std::string& path, const OutputOptions& output) {
  Search search(path);
  for (int i = 0; i < output.keep_checkpoints; ++i) {
    const std::string file = KeptPath(path, i);
    if (IsMissing(file)) {
      if (i == 0) search.Note("there is no " + file);
      continue;
    }
    if (!search.Accepts(file)) continue;
    search.LogOlder(file);
    for (const std::string& each : search.damaged()) {
      if (output.WritesCheckpoints()) std::rename(each.c_str(), (each + ".damaged").c_str());
    }
    return file;
  }
  search.Fail();
}

}  // namespace caffe2
