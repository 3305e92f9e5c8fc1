#include "examples/doppio/data/unfinished_database.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "caffe2/core/exit_code.h"
#include "caffe2/utils/crc32.h"
#include "db/record_writer.h"
#include "train/atomic_file.h"

namespace caffe2::data {
namespace {

namespace fs = std::filesystem;

// What "<path>.unfinished.state" holds.
struct State {
  std::string settings;
  int64_t file_bytes = 0;  // of a database that is one file
  Summary summary;
};

int64_t FileBytes(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return 0;
  return static_cast<int64_t>(fs::file_size(path, error));
}

std::string Format(const State& state) {
  const Summary& summary = state.summary;
  std::string text = MakeString(state.settings, "\n", state.file_bytes, " ", summary.source_records,
                                " ", summary.records, " ", summary.bad_records, " ", summary.bytes,
                                " ", summary.checksum, "\n");
  for (const auto& [label, count] : summary.labels) text += MakeString(label, " ", count, "\n");
  return text;
}

// nullopt if there is no such file, or it is not whole.
std::optional<State> Read(const std::string& path) {
  std::ifstream file(path);
  State state;
  Summary& summary = state.summary;
  if (!std::getline(file, state.settings)) return std::nullopt;
  if (!(file >> state.file_bytes >> summary.source_records >> summary.records >>
        summary.bad_records >> summary.bytes >> summary.checksum)) {
    return std::nullopt;
  }
  int64_t label, count, labelled = 0;
  while (file >> label >> count) labelled += summary.labels[label] = count;
  if (!file.eof() || labelled != summary.records) return std::nullopt;
  return state;
}

// Anybody can guess these names. A stranger's file could be a link, or change while records are
// written. In a sticky folder only we and the owner of the folder can replace our file.
void RefuseStrangers(const std::string& path) {
  if (!IsOfStranger(path)) return;
  ThrowIoError(ExitCode::kNotPermitted, path,
               " belongs to another user, and everybody may write to its folder: write the "
               "database to a folder of your own");
}

}  // namespace

void Summary::Count(const std::string& key, const std::string& value) {
  ++records;
  bytes += static_cast<int64_t>(value.size());
  checksum = Crc32(key.data(), key.size(), checksum);
  checksum = Crc32(value.data(), value.size(), checksum);
}

UnfinishedDatabase::UnfinishedDatabase(const std::string& db_type, const std::string& path,
                                       const std::string& settings)
    : db_type_(db_type),
      path_(path),
      unfinished_(path + ".unfinished"),
      state_path_(unfinished_ + ".state"),
      settings_(settings),
      lock_(unfinished_, {}) {
  db::CheckNotMade(path_);
  std::error_code error;
  const bool left = fs::exists(fs::symlink_status(unfinished_, error));
  RefuseStrangers(unfinished_);
  RefuseStrangers(state_path_);
  if (left && !fs::exists(state_path_, error)) {
    ThrowIoError(ExitCode::kCannotWrite, unfinished_,
                 " exists, but this command has not made it: move it away");
  }
  if (left && Continue()) return;
  if (left) {
    std::fprintf(
        stderr,
        "%s was made with other options or from other files, or is damaged: starting over\n",
        unfinished_.c_str());
  }
  Remove();
  WriteState({});  // before the database, which is known by it
  Open();
}

UnfinishedDatabase::~UnfinishedDatabase() {
  transaction_.reset();
  db_.reset();
  if (saved_.source_records == 0) Remove();
}

void UnfinishedDatabase::Open() {
  // WRITE, not NEW: minidb writes a new database under yet another name.
  db_ = db::CreateDB(db_type_, unfinished_, db::WRITE);
  RefuseStrangers(unfinished_);  // before the first record
  transaction_ = db_->NewTransaction();
}

bool UnfinishedDatabase::Continue() {
  const std::optional<State> state = Read(state_path_);
  if (!state || state->settings != settings_) return false;
  const int64_t bytes = FileBytes(unfinished_);
  if (bytes < state->file_bytes) return false;
  try {
    // Records may have been written after the state. They are cut off from a single file; LMDB and
    // LevelDB overwrite them, as they hold a key once.
    std::error_code error;
    if (bytes > state->file_bytes) {
      fs::resize_file(unfinished_, static_cast<uintmax_t>(state->file_bytes), error);
    }
    if (error) {
      ThrowIoError(ExitCode::kCannotWrite, "cannot cut ", unfinished_, ": ", error.message());
    }
    const auto database = db::CreateDB(db_type_, unfinished_, db::READ);
    if (database->NewIndex()->NumRecords() < state->summary.records) return false;
    database->Close();
    Open();
  } catch (const Error& error) {
    // After any other error, of a full disk for instance, the records are still good.
    const ExitCode code = ExitCodeOf(error);
    if (code != ExitCode::kBadData && code != ExitCode::kNoInput) throw;
    std::fprintf(stderr, "%s\n", error.what());
    return false;
  }
  saved_ = state->summary;
  return true;
}

void UnfinishedDatabase::Add(const std::string& key, const std::string& value) {
  failed_ = true;
  transaction_->Put(key, value);
  failed_ = false;
  unsaved_bytes_ += key.size() + value.size();
}

void UnfinishedDatabase::Save(const Summary& summary) {
  CAFFE_ENFORCE(!failed_, "a write to ", unfinished_, " has failed");
  failed_ = true;
  transaction_->Commit();
  Flush();
  failed_ = false;
  WriteState(summary);
  saved_ = summary;
  unsaved_bytes_ = 0;
}

// LMDB and LevelDB do it themselves.
void UnfinishedDatabase::Flush() const {
  std::error_code error;
  if (!fs::is_regular_file(unfinished_, error)) return;
  const int fd = open(unfinished_.c_str(), O_RDONLY | O_CLOEXEC);
  const bool flushed = fd >= 0 && fsync(fd) == 0;
  const std::string reason = std::strerror(errno);
  if (fd >= 0) close(fd);
  if (!flushed) ThrowIoError(ExitCode::kCannotWrite, "cannot sync ", unfinished_, ": ", reason);
}

void UnfinishedDatabase::WriteState(const Summary& summary) const {
  WriteWholeFile(state_path_, Format({settings_, FileBytes(unfinished_), summary}));
}

void UnfinishedDatabase::Finish() {
  transaction_.reset();
  db_->Close();
  std::error_code error;
  if (fs::exists(path_, error)) saved_ = {};  // nobody needs these records: they are removed
  db::CheckNotMade(path_);
  db::PublishDatabase(unfinished_, path_);
  Remove();
}

void UnfinishedDatabase::Remove() {
  std::error_code error;  // a missing file is fine
  fs::remove_all(unfinished_, error);
  fs::remove(state_path_, error);
}

}  // namespace caffe2::data
