#include "distributed/file_store_handler.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "caffe2/core/exit_code.h"
#include "caffe2/utils/owned_fd.h"
#include "caffe2/utils/temporary_file.h"

namespace caffe2 {

namespace {

// On a network file system, a file that was just published may look too short for a while.
constexpr milliseconds kShortFileWait{500}, kShortFilePoll{10};
constexpr size_t kMaxNameBytes = 240;  // leaves room for a counter suffix below NAME_MAX

[[noreturn]] void ThrowErrno(const std::string& what, const std::string& path) {
  const int error = errno;
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  ThrowIoError(full ? ExitCode::kCannotWrite : ExitCode::kStoreUnreachable, "file store: cannot ",
               what, " ", path, ": ", std::strerror(error));
}

// Readable and reversible: letters, digits, '_', '-' and inner '.' stand for themselves.
std::string EscapeName(const std::string& key) {
  static const char kHex[] = "0123456789ABCDEF";
  std::string name;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        byte < 128 && (std::isalnum(byte) || c == '_' || c == '-' || (c == '.' && !name.empty()));
    if (plain) {
      name += c;
    } else {
      name += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  CAFFE_ENFORCE(name.size() <= kMaxNameBytes, "the file name of store key ", key, " has ",
                name.size(), " bytes, more than ", kMaxNameBytes);
  return name;
}

class FileStoreHandler final : public StoreHandler {
 public:
  FileStoreHandler(const std::string& path, const std::string& prefix)
      : directory_(prefix.empty() ? path : path + "/" + EscapeName(prefix)),
        owned_(!prefix.empty()) {
    struct stat info;
    if (stat(path.c_str(), &info) != 0) ThrowErrno("open directory", path);
    if (!S_ISDIR(info.st_mode))
      ThrowIoError(ExitCode::kStoreUnreachable, "file store: ", path, " is not a directory");
    // There other users may rename directories, also the one of this store.
    if (owned_ && (info.st_mode & S_IWOTH) != 0 && (info.st_mode & S_ISVTX) == 0) {
      ThrowIoError(ExitCode::kNotPermitted, "file store: ", path,
                   " is refused: everybody may write to it; protect it with `chmod o-w` or, if "
                   "several users need it, `chmod +t`");
    }
    MakeDirectory();
    temporary_ = MakeString(directory_, "/.tmp.", EscapeName(PidScope()), ".", getpid(), ".");
  }

  // Removes the directory if no key is left in it.
  ~FileStoreHandler() override {
    if (owned_) rmdir(directory_.c_str());
  }

  bool SetIfAbsent(const std::string& key, const std::string& value) override {
    return Publish(EscapeName(key), value);
  }

  // File stores have no expiry: RemoveLeftovers() removes the keys of a dead run.
  void Put(const std::string& key, const std::string& value, milliseconds) override {
    CheckValueSize(key, value.size());
    Replace(key, MakeString(value.size(), "\n") + value);
  }

  std::optional<std::string> TryGet(const std::string& key) override {
    const std::string name = EscapeName(key);
    if (auto value = Read(name)) return value;
    const auto [index, sum] = LastCount(name);
    if (index == 0) return std::nullopt;
    return std::to_string(sum);
  }

  // A counter is a series of files "<name>+1", "<name>+2", ... Each is created exclusively and
  // holds the sum so far, so there is no lock that a dead process could keep.
  int64_t Add(const std::string& key, int64_t delta) override {
    const std::string name = EscapeName(key);
    while (true) {
      const auto [index, sum] = LastCount(name);
      if (Publish(MakeString(name, "+", index + 1), std::to_string(sum + delta)))
        return sum + delta;
    }
  }

  bool Check(const std::vector<std::string>& keys) override {
    // Opening the directory makes a network file system refresh its cache.
    OwnedFd refresh(open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (const std::string& key : keys) {
      const std::string path = directory_ + "/" + EscapeName(key);
      if (access(path.c_str(), F_OK) != 0 && access((path + "+1").c_str(), F_OK) != 0) return false;
    }
    return true;
  }

  bool Remove(const std::string& key) override {
    const std::string name = EscapeName(key);
    bool existed = Unlink(directory_ + "/" + name);
    for (int64_t index = LastCount(name).first; index > 0; --index) {
      existed = Unlink(MakeString(directory_, "/", name, "+", index)) || existed;
    }
    return existed;
  }

  void Expire(const std::string&, milliseconds) override {}

  void SetFields(const std::string& key, const std::map<std::string, std::string>& fields,
                 milliseconds) override {
    std::string text;
    for (const auto& [name, value] : fields) text += name + ": " + value + "\n";
    Replace(key, text);
  }

  void RemoveLeftovers(const std::string& prefix) override {
    const std::string start = EscapeName(prefix);
    DIR* directory = opendir(directory_.c_str());
    if (directory == nullptr) return;
    std::vector<std::string> names;
    while (const dirent* entry = readdir(directory)) {
      const std::string name = entry->d_name;
      const bool wanted = name.rfind(start, 0) == 0 && name != "." && name != "..";
      if (wanted || IsAbandoned(name)) names.push_back(name);
    }
    closedir(directory);
    for (const std::string& name : names) Unlink(directory_ + "/" + name);
  }

  void SetDeadline(const std::optional<Deadline>& deadline) override { deadline_ = deadline; }

  std::string Description() const override { return "file store " + directory_; }

 private:
  void MakeDirectory() {
    if (owned_ && mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) {
      ThrowErrno("make directory", directory_);
    }
    if (!owned_) return;
    struct stat info;
    if (lstat(directory_.c_str(), &info) != 0) ThrowErrno("open directory", directory_);
    if (!S_ISDIR(info.st_mode))
      ThrowIoError(ExitCode::kStoreUnreachable, "file store: ", directory_, " is not a directory");
    if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
      ThrowIoError(ExitCode::kNotPermitted, "file store: ", directory_,
                   " is refused: it belongs to another user or is writable by others");
    }
  }

  // True if `name` is a temporary file of a dead process of this PidScope().
  bool IsAbandoned(const std::string& name) const {
    std::string start = temporary_.substr(directory_.size() + 1);  // ".tmp.<PidScope()>.<pid>."
    start.resize(start.rfind('.', start.size() - 2) + 1);
    return IsOfDeadProcess(name, start);
  }

  // Writes and syncs `content` to a new hidden file, which will become `target`; returns its path.
  std::string WriteTemporary(const std::string& content, const std::string& target) {
    static std::atomic<int64_t> count{0};
    const std::string path = MakeString(temporary_, ++count);
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = open(path.c_str(), flags, 0600);
    if (fd < 0 && errno == ENOENT && owned_) {  // the end of an earlier run removed the directory
      MakeDirectory();
      fd = open(path.c_str(), flags, 0600);
    }
    if (fd < 0) ThrowErrno("create", target);
    OwnedFd file(fd);
    size_t written = 0;
    while (written < content.size()) {
      const ssize_t n = write(file.get(), content.data() + written, content.size() - written);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      written += static_cast<size_t>(n);
    }
    if (written < content.size() || fsync(file.get()) != 0 || !file.Close()) {
      const int error = errno;
      unlink(path.c_str());
      errno = error;
      ThrowErrno("write", target);
    }
    return path;
  }

  // Returns true if this call made the file `name`.
  bool Publish(const std::string& name, const std::string& value) {
    CheckValueSize(name, value.size());
    const std::string path = directory_ + "/" + name;
    if (access(path.c_str(), F_OK) == 0) return false;
    const std::string temporary = WriteTemporary(MakeString(value.size(), "\n") + value, path);
    const bool linked = link(temporary.c_str(), path.c_str()) == 0;
    const int error = errno;
    // NFS may lose the reply to a successful link(); the number of links shows whether it
    // succeeded.
    struct stat info;
    const bool made = linked || (stat(temporary.c_str(), &info) == 0 && info.st_nlink == 2);
    unlink(temporary.c_str());
    if (!made && error != EEXIST) {
      errno = error;
      ThrowErrno("publish", path);
    }
    return made;
  }

  void Replace(const std::string& key, const std::string& content) {
    const std::string path = directory_ + "/" + EscapeName(key);
    const std::string temporary = WriteTemporary(content, path);
    if (rename(temporary.c_str(), path.c_str()) == 0) return;
    const int error = errno;
    unlink(temporary.c_str());
    errno = error;
    ThrowErrno("publish", path);
  }

  // The value in a file; nullopt if there is no file. The first line of the file is the length of
  // the value. The file may hold anything.
  std::optional<std::string> Read(const std::string& name) {
    const std::string path = directory_ + "/" + name;
    const Deadline deadline(
        std::max(kShortFileWait, deadline_ ? deadline_->remaining() : milliseconds(0)));
    for (;; std::this_thread::sleep_for(kShortFilePoll)) {
      OwnedFd file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
      if (file.get() < 0 && errno == ENOENT) return std::nullopt;
      if (file.get() < 0) ThrowErrno("read", path);
      const std::string content = ReadAll(file.get(), path);
      const size_t line = content.find_first_not_of("0123456789");
      const bool has_length = line > 0 && line < 10 && content[line] == '\n';
      const size_t expected = has_length ? line + 1 + std::stoul(content.substr(0, line)) : 0;
      if (has_length && content.size() == expected) return content.substr(line + 1);
      const bool may_grow = has_length ? content.size() < expected : line == std::string::npos;
      if (!may_grow || deadline.expired()) {
        ThrowIoError(ExitCode::kStoreUnreachable, "file store: ", path, " (", content.size(),
                     " bytes) is damaged: its length differs from the length in its first line");
      }
    }
  }

  static std::string ReadAll(int fd, const std::string& path) {
    struct stat info;
    if (fstat(fd, &info) != 0) ThrowErrno("read", path);
    if (!S_ISREG(info.st_mode))
      ThrowIoError(ExitCode::kStoreUnreachable, "file store: ", path, " is not a regular file");
    std::string content;
    char buffer[16384];
    while (true) {
      const ssize_t n = read(fd, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) ThrowErrno("read", path);
      if (n == 0) return content;
      content.append(buffer, static_cast<size_t>(n));
      CheckValueSize(path, content.size());
    }
  }

  // The number of the last file of a counter (0 if there is none) and the sum in it.
  std::pair<int64_t, int64_t> LastCount(const std::string& name) {
    std::pair<int64_t, int64_t> last{0, 0};
    while (auto text = Read(MakeString(name, "+", last.first + 1))) {
      char* end = nullptr;
      last = {last.first + 1, std::strtoll(text->c_str(), &end, 10)};
      if (text->empty() || *end != '\0') {
        ThrowIoError(ExitCode::kStoreUnreachable, "file store: ", directory_, "/", name, "+",
                     last.first, " is damaged: it must hold a number");
      }
    }
    return last;
  }

  static bool Unlink(const std::string& path) {
    if (unlink(path.c_str()) == 0) return true;
    if (errno != ENOENT) ThrowErrno("remove", path);
    return false;
  }

  const std::string directory_;
  const bool owned_;  // the store made the directory and removes it
  std::string temporary_;
  std::optional<Deadline> deadline_;
};

}  // namespace

std::unique_ptr<StoreHandler> NewFileStore(const std::string& path, const std::string& prefix) {
  return std::make_unique<FileStoreHandler>(path, prefix);
}

StoreFactory FileStores(const std::string& path) {
  return [path](const std::string& prefix) { return NewFileStore(path, prefix); };
}

}  // namespace caffe2
