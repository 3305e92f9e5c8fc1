#include "db/db.h"

#include <cctype>
#include <filesystem>
#include <vector>

#include "caffe2/core/closest_word.h"
#include "caffe2/core/exit_code.h"
#include "caffe2/utils/printable_text.h"
#include "db/data_set.h"
#include "db/random_access_file.h"

namespace caffe2::db {
namespace {

// Keeps the keys in memory and seeks for values. Reading in order needs no seek.
class KeyIndex final : public RecordIndex {
 public:
  explicit KeyIndex(std::unique_ptr<Cursor> cursor) : cursor_(std::move(cursor)) {
    for (cursor_->SeekToFirst(); cursor_->Valid(); cursor_->Next()) keys_.push_back(cursor_->key());
    cursor_->SeekToFirst();
  }
  int64_t NumRecords() const override { return static_cast<int64_t>(keys_.size()); }
  bool SupportsRandomAccess() const override { return cursor_->SupportsSeek(); }

  void Read(int64_t i, std::string* key, std::string* value) override {
    MoveTo(i);
    if (!cursor_->Valid() || cursor_->key() != keys_[i]) {
      ThrowIoError(ExitCode::kBadData, "record \"", keys_[i],
                   "\" is gone: the database changed while it was in use");
    }
    *key = keys_[i];
    *value = cursor_->value();
  }

 private:
  void MoveTo(int64_t i) {
    constexpr int64_t kMaxSteps = 16;
    const bool near = i >= at_ && i - at_ <= kMaxSteps;
    if (!near && cursor_->SupportsSeek()) {
      cursor_->Seek(keys_[i]);
    } else {
      if (i < at_) {
        cursor_->SeekToFirst();
        at_ = 0;
      }
      for (; at_ < i && cursor_->Valid(); ++at_) cursor_->Next();
    }
    at_ = i;
  }

  std::unique_ptr<Cursor> cursor_;
  std::vector<std::string> keys_;
  int64_t at_ = 0;
};

std::string Join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string LowerCase(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

constexpr char kAutoType[] = "auto";

// The types as users write them: without Caffe2's spellings of the same types.
std::vector<std::string> KnownTypes(Mode mode) {
  std::vector<std::string> types;
  for (const std::string& type : DBRegistry().Keys()) {
    const std::string lower = LowerCase(type);
    const bool other_spelling = lower != type && DBRegistry().Has(lower);
    if (!other_spelling && (mode == READ || IsWritableDBType(type))) types.push_back(type);
  }
  if (mode == READ) types.push_back(kAutoType);
  return types;
}

[[noreturn]] void ThrowUnknownType(const std::string& db_type, const std::string& source,
                                   Mode mode) {
  const std::vector<std::string> known = KnownTypes(mode);
  const std::string closest = ClosestWord(LowerCase(db_type), known);
  CAFFE_THROW(db_type.empty() ? "no db_type is given" : "unknown db_type \"" + db_type + "\"",
              " for ", source, closest.empty() ? "" : "; did you mean " + closest + "?",
              closest.empty() ? "; known: " : " Known: ", Join(known));
}

std::unique_ptr<DB> OpenGuessed(const std::string& source) {
  const std::string type = GuessDBType(source);
  if (type.empty()) {
    std::error_code error;
    const bool exists = std::filesystem::exists(source, error);
    ThrowIoError(exists ? ExitCode::kBadData : ExitCode::kNoInput,
                 exists ? "there is no database or known data set at " : "there is no database at ",
                 source, exists ? "; known: " : "",
                 exists ? "lmdb, leveldb, minidb, cifar, stl10, idx, a folder with a sub-folder of "
                          "images for each class, tar"
                        : "",
                 LooseImagesHint(source));
  }
  return CreateDB(type, source, READ);
}

}  // namespace

std::unique_ptr<RecordIndex> DB::NewIndex() { return std::make_unique<KeyIndex>(NewCursor()); }

DBRegistryType& DBRegistry() {
  static DBRegistryType registry;
  return registry;
}

std::unique_ptr<DB> CreateDB(const std::string& db_type, const std::string& source, Mode mode) {
  CAFFE_ENFORCE(source.find('\0') == std::string::npos,
                "the path of a database has a zero byte: ", PrintableText(source));
  if (db_type == kAutoType && mode == READ) return OpenGuessed(source);
  if (!DBRegistry().Has(db_type)) ThrowUnknownType(db_type, source, mode);
  CAFFE_ENFORCE(!source.empty(), "the path of the ", db_type, " database is empty");
  return DBRegistry().Create(db_type, source, mode);
}

bool IsWritableDBType(const std::string& db_type) {
  return DBRegistry().Has(db_type) && !IsDataSetType(db_type);
}

bool DBExists(const std::string& db_type, const std::string& source) {
  if (db_type != kAutoType && !DBRegistry().Has(db_type)) ThrowUnknownType(db_type, source, READ);
  std::error_code error;
  return std::filesystem::exists(source, error);
}

std::string GuessDBType(const std::string& source) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_directory(source, error)) {
    if (fs::exists(fs::path(source) / "data.mdb", error)) return "lmdb";
    if (fs::exists(fs::path(source) / "CURRENT", error)) return "leveldb";
    return TypeOfDataSet(source);
  }
  if (const std::string type = TypeOfDataSet(source); !type.empty()) return type;
  if (!fs::is_regular_file(source, error)) return "";
  try {
    RandomAccessFile file(source);
    int32_t lengths[2];
    if (file.size() < sizeof(lengths)) return "";
    file.ReadAt(0, lengths, sizeof(lengths));
    const bool fits = lengths[0] > 0 && lengths[1] > 0 &&
                      sizeof(lengths) + uint64_t(lengths[0]) + uint64_t(lengths[1]) <= file.size();
    return fits ? "minidb" : "";
  } catch (const IoError&) {
    return "";  // not readable: no guess
  }
}

}  // namespace caffe2::db
