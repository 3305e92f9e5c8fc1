#include "db/tar_archive.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "caffe2/core/exit_code.h"
#include "db/data_set.h"
#include "db/record_writer.h"

namespace caffe2::db {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kBlock = 512;
constexpr uint64_t kMaxName = 1 << 16;
constexpr int kMaxNesting = 8;  // archives inside archives, which are read recursively

// The fields of a header that are used.
struct Header {
  char name[100];
  char mode_owner_group[24];
  char size[12];
  char time[12];
  char checksum[8];
  char type;
  char link[100];
  char magic[6];
  char version_owner[82];
  char prefix[155];
  char rest[12];
};
static_assert(sizeof(Header) == kBlock);

template <size_t N>
std::string Text(const char (&field)[N]) {
  return {field, strnlen(field, N)};
}

// Octal digits, or with the highest bit set a big-endian number (GNU).
template <size_t N>
std::optional<uint64_t> Number(const char (&field)[N]) {
  uint64_t value = 0;
  if (static_cast<unsigned char>(field[0]) & 0x80) {
    for (size_t i = 4; i < N; ++i) value = value << 8 | static_cast<unsigned char>(field[i]);
    return value;
  }
  for (const char c : field) {
    if (c == ' ' || c == '\0') continue;
    if (c < '0' || c > '7') return std::nullopt;
    value = value << 3 | static_cast<uint64_t>(c - '0');
  }
  return value;
}

bool ChecksumFits(const Header& header) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&header);
  uint64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const bool in_checksum = i >= offsetof(Header, checksum) && i < offsetof(Header, type);
    sum += in_checksum ? ' ' : bytes[i];
  }
  return Number(header.checksum) == sum;
}

// A size that no header states: the plain header of the entry holds it.
constexpr uint64_t kNoSize = UINT64_MAX;

// What an extended header says about the entry after it: lines "<length> <name>=<value>".
void ReadPax(const std::string& text, std::string* name, uint64_t* size) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = std::strtoul(text.c_str() + at, nullptr, 10);
    if (length == 0 || length > text.size() - at) return;
    const std::string line = text.substr(at, length - 1);  // without the newline
    const size_t blank = line.find(' '), equals = line.find('=');
    if (blank != std::string::npos && equals != std::string::npos && blank < equals) {
      const std::string field = line.substr(blank + 1, equals - blank - 1);
      if (field == "path") *name = line.substr(equals + 1);
      if (field == "size") *size = std::strtoull(line.c_str() + equals + 1, nullptr, 10);
    }
    at += length;
  }
}

std::string ReadText(RandomAccessFile* file, uint64_t offset, uint64_t size) {
  std::string text(size, '\0');
  file->ReadAt(offset, text.data(), text.size());
  return text;
}

bool IsTarName(const std::string& name) { return fs::path(name).extension() == ".tar"; }

// "photos.tar/train" -> "photos.tar" and "train/". Other paths have no folder.
std::pair<std::string, std::string> SplitSource(const std::string& source) {
  constexpr char kSeparator[] = ".tar/";
  const size_t at = source.rfind(kSeparator);
  if (at == std::string::npos) return {source, ""};
  const std::string archive = source.substr(0, at + std::strlen(".tar"));
  std::string folder = source.substr(at + std::strlen(kSeparator));
  std::error_code error;
  if (!fs::is_regular_file(archive, error)) return {source, ""};
  if (!folder.empty() && folder.back() != '/') folder += '/';
  return {archive, folder};
}

bool IsSystemPath(const std::string& name) {
  const fs::path path(name);
  return std::any_of(path.begin(), path.end(),
                     [](const fs::path& part) { return IsSystemName(part.string()); });
}

// The folders at the first two levels of an archive that hold images.
struct TopFolders {
  std::set<std::string> tops;     // at the top; "" for images outside of folders
  std::set<std::string> parents;  // of folders of images: "train", "photos/train"

  void Add(const std::string& name) {
    const size_t first = name.find('/');
    if (first == std::string::npos) {
      tops.insert("");
      return;
    }
    tops.insert(name.substr(0, first));
    const size_t second = name.find('/', first + 1);
    if (second == std::string::npos) return;
    parents.insert(name.substr(0, first));
    if (name.find('/', second + 1) != std::string::npos) parents.insert(name.substr(0, second));
  }
};

}  // namespace

void ForEachTarEntry(RandomAccessFile* file, uint64_t begin, uint64_t end,
                     const std::function<void(const TarEntry&)>& visit) {
  std::string long_name;
  uint64_t long_size = kNoSize;
  for (uint64_t at = begin; at + kBlock <= end;) {
    Header header;
    file->ReadAt(at, &header, kBlock);
    if (header.name[0] == '\0' && header.type == '\0') return;  // the blocks of zeros at the end
    const auto stated = Number(header.size);
    if (!stated || !ChecksumFits(header)) {
      ThrowIoError(ExitCode::kBadData, file->path(),
                   " is damaged or not a plain tar archive: there is no header at byte ", at,
                   at == begin ? " (unpack a compressed archive first)" : "");
    }
    const bool is_entry = header.type == '0' || header.type == '\0' || header.type == '7';
    const uint64_t size = is_entry && long_size != kNoSize ? long_size : *stated;
    const uint64_t offset = at + kBlock;
    if (size > end - offset) {
      ThrowIoError(ExitCode::kBadData, "tar archive ", file->path(), " is cut short: it has ",
                   file->size(), " bytes, but the entry at byte ", at, " has ", size);
    }
    at = offset + (size + kBlock - 1) / kBlock * kBlock;
    if (header.type == 'L' || header.type == 'x') {  // the name of the next entry, or more
      if (size > kMaxName)
        ThrowIoError(ExitCode::kBadData, file->path(), " has an entry with a name of ", size,
                     " bytes, more than ", kMaxName);
      const std::string text = ReadText(file, offset, size);
      if (header.type == 'x') {
        ReadPax(text, &long_name, &long_size);
      } else {
        long_name = text.c_str();  // without the zero at its end
      }
      continue;
    }
    if (is_entry) {
      const std::string prefix =
          std::memcmp(header.magic, "ustar", 6) == 0 ? Text(header.prefix) : "";
      const std::string name = Text(header.name);
      TarEntry entry{long_name, offset, size};
      if (entry.name.empty()) entry.name = prefix.empty() ? name : prefix + "/" + name;
      if (entry.name.compare(0, 2, "./") == 0) entry.name.erase(0, 2);
      visit(entry);
    }
    long_name.clear();
    long_size = kNoSize;
  }
}

bool IsInArchive(const std::string& path) { return !SplitSource(path).second.empty(); }

TarParts FindTarParts(const std::string& archive) {
  TopFolders folders;
  try {
    RandomAccessFile file(archive);
    ForEachTarEntry(&file, 0, file.size(), [&](const TarEntry& entry) {
      if (IsImageName(entry.name) && !IsSystemPath(entry.name)) folders.Add(entry.name);
    });
  } catch (const IoError&) {
    return {};  // whoever opens the archive as a database gets the error
  }
  const std::string top = folders.tops.size() == 1 ? *folders.tops.begin() + "/" : "";
  for (const std::string& parent : {std::string(), top}) {
    if (folders.parents.count(parent + "train") == 0) continue;
    for (const char* test : {"test", "val"}) {
      if (folders.parents.count(parent + test) == 0) continue;
      return {archive + "/" + parent + "train", archive + "/" + parent + test};
    }
  }
  return {};
}

// Collects the images of all archives before their labels are known.
class TarImages::Scan {
 public:
  explicit Scan(const std::string& source) : contents_(std::make_shared<Contents>()) {
    const auto [path, folder] = SplitSource(source);
    folder_ = folder;
    contents_->archives = FilesOf(path, "", ".tar");
    if (contents_->archives.empty()) {
      ThrowIoError(ExitCode::kNoInput, "there is no tar archive at ", source);
    }
    const bool several = contents_->archives.size() > 1;
    for (size_t i = 0; i < contents_->archives.size(); ++i) {
      RandomAccessFile file(contents_->archives[i]);
      const std::string stem = fs::path(file.path()).stem().string();
      Visit(&file, i, 0, file.size(), 0, stem, several ? stem + "/" : "");
    }
    SetLabels(source);
    DescribeLabels();
    const auto ascends = [](const Image& a, const Image& b) { return a.key < b.key; };
    contents_->sorted = std::is_sorted(contents_->images.begin(), contents_->images.end(), ascends);
  }

  std::shared_ptr<const Contents> contents() const { return contents_; }

 private:
  // `archive_class`: the class of images that are in no folder. `prefix`: of the keys.
  void Visit(RandomAccessFile* file, size_t archive, uint64_t begin, uint64_t end, int nesting,
             const std::string& archive_class, const std::string& prefix) {
    if (nesting > kMaxNesting) {
      ThrowIoError(ExitCode::kBadData, "tar archive ", file->path(), " has more than ", kMaxNesting,
                   " archives inside each other");
    }
    ForEachTarEntry(file, begin, end, [&](const TarEntry& entry) {
      if (IsSystemPath(entry.name)) return;
      if (begin == 0 && entry.name.compare(0, folder_.size(), folder_) != 0) return;
      const fs::path path(entry.name);
      const std::string key = prefix + entry.name;
      if (IsTarName(entry.name)) {
        const std::string stem = path.stem().string();
        Visit(file, archive, entry.offset, entry.offset + entry.size, nesting + 1, stem,
              prefix + stem + "/");
      } else if (path.extension() == ".cls") {
        NoteLabel(key, ReadText(file, entry.offset, std::min<uint64_t>(entry.size, 32)));
      } else if (IsImageName(entry.name)) {
        contents_->images.push_back({key, archive, entry.offset, entry.size, -1});
        const std::string folder = path.parent_path().filename().string();
        class_of_.push_back(folder.empty() ? archive_class : folder);
        image_folders_.insert(prefix + path.parent_path().string() + "/");
      } else {
        NoteOther(key);
      }
    });
  }

  void NoteOther(const std::string& key) {
    const fs::path folder = fs::path(key).parent_path();
    if (folder.empty()) return;
    others_.AddOther(key);
    other_folders_.insert(folder.string() + "/");
  }

  // A class that holds only files of other kinds would shift the numbers of the others.
  void CheckFolders(const std::string& source) const {
    for (const std::string& folder : other_folders_) {
      const auto at = image_folders_.lower_bound(folder);
      if (at != image_folders_.end() && at->compare(0, folder.size(), folder) == 0) continue;
      ThrowIoError(ExitCode::kBadData, "the folder ", folder, " in ", source,
                   " holds no image: make the archive anew with its files as JPEG or PNG, or "
                   "without the folder");
    }
  }

  // WebDataset groups files by the path up to the first dot of the name.
  static std::string Sample(const std::string& key) {
    return key.substr(0, key.find('.', key.rfind('/') == std::string::npos ? 0 : key.rfind('/')));
  }

  void NoteLabel(const std::string& key, const std::string& text) {
    char* end = nullptr;
    const long label = std::strtol(text.c_str(), &end, 10);
    const bool number = end != text.c_str() && std::strspn(end, " \r\n\t") == std::strlen(end);
    if (!number || label < 0 || label > 1 << 30) {
      ThrowIoError(ExitCode::kBadData, key,
                   " in a tar archive must hold a label (a number from 0), found \"", text, "\"");
    }
    labels_[Sample(key)] = static_cast<int>(label);
  }

  void SetLabels(const std::string& source) {
    auto& images = contents_->images;
    if (images.empty()) {
      ThrowIoError(ExitCode::kBadData, "there is no image in the tar archives of ", source);
    }
    if (labels_.empty()) {
      CheckFolders(source);
      contents_->info.left_out = others_;
      auto& classes = contents_->info.names;
      classes = class_of_;
      std::sort(classes.begin(), classes.end());
      classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
      for (size_t i = 0; i < images.size(); ++i) {
        const auto at = std::lower_bound(classes.begin(), classes.end(), class_of_[i]);
        images[i].label = static_cast<int>(at - classes.begin());
      }
      return;
    }
    for (Image& image : images) {
      const auto found = labels_.find(Sample(image.key));
      if (found == labels_.end()) {
        ThrowIoError(ExitCode::kBadData, source, ": image ", image.key,
                     " has no .cls file, though other images have one");
      }
      image.label = found->second;
    }
  }

  void DescribeLabels() {
    std::set<int> labels;
    int64_t runs = 0;  // of images with the same label
    int last = -1;
    for (const Image& image : contents_->images) {
      if (image.label != std::exchange(last, image.label)) ++runs;
      labels.insert(image.label);
    }
    contents_->info.num_labels = *labels.rbegin() + 1;
    contents_->info.by_class = runs > 1 && runs == static_cast<int64_t>(labels.size());
  }

  std::shared_ptr<Contents> contents_;
  std::string folder_;                 // in the archive; ends with a slash unless it is ""
  std::vector<std::string> class_of_;  // of each image
  // With files of their own: images, or other files. All end with a slash.
  std::set<std::string> image_folders_, other_folders_;
  LeftOutFiles others_;
  std::map<std::string, int> labels_;  // of .cls files, by sample
};

TarImages::TarImages(const std::string& source) : TarImages(Scan(source).contents()) {}

std::unique_ptr<TarImages> TarImages::Copy() const {
  return std::unique_ptr<TarImages>(new TarImages(contents_));
}

void TarImages::Read(int64_t i, std::string* key, std::string* value) {
  const Image& image = contents_->images[static_cast<size_t>(i)];
  if (file_ == nullptr || open_ != image.archive) {
    file_ = std::make_unique<RandomAccessFile>(contents_->archives[image.archive]);
    open_ = image.archive;
  }
  *key = image.key;
  *value = MakeEncodedDatum(ReadText(file_.get(), image.offset, image.size), image.label);
}

namespace {

class TarDB final : public RecordListDB {
 public:
  TarDB(const std::string& source, Mode mode)
      : RecordListDB("tar", source, mode), images_(source) {}

 private:
  std::unique_ptr<RecordList> NewList() const override { return images_.Copy(); }
  const TarImages images_;
};

REGISTER_CAFFE2_DB(tar, TarDB);

}  // namespace
}  // namespace caffe2::db
