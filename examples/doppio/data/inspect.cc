#include "examples/doppio/data/inspect.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>

#include "caffe2/core/cpu_cores.h"
#include "caffe2/core/exit_code.h"
#include "caffe2/core/tensor.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/proto/caffe2.pb.h"
#include "caffe2/utils/program.h"
#include "caffe2/utils/thread_loop.h"
#include "db/data_set.h"
#include "db/db.h"
#include "db/image/image_record.h"
#include "db/record_fingerprint.h"
#include "db/source_info.h"
#include "examples/doppio/pictures.h"
#include "examples/doppio/progress.h"

namespace caffe2::data {
namespace {

constexpr size_t kMaxNamed = 20;  // damaged records

struct Channel {
  double sum = 0, squares = 0;
  int64_t count = 0;
};

// What one record says; made by any thread.
struct Seen {
  std::string key, error, kind, shape;
  std::string other;  // the tensors of an intact record without an image
  size_t bytes = 0;
  bool has_label = false;
  int64_t label = 0;
  std::vector<Channel> channels;
  std::string picture;
};

std::vector<Channel> SumChannels(const db::ImageView<uint8_t>& view) {
  std::vector<Channel> channels(static_cast<size_t>(view.channels));
  for (int c = 0; c < view.channels; ++c) {
    int64_t sum = 0, squares = 0;
    for (int y = 0; y < view.height; ++y) {
      for (int x = 0; x < view.width; ++x) {
        const int64_t value = *view.At(y, x, c);
        sum += value;
        squares += value * value;
      }
    }
    channels[static_cast<size_t>(c)] = {static_cast<double>(sum), static_cast<double>(squares),
                                        int64_t{view.height} * view.width};
  }
  return channels;
}

Seen LookAt(const std::string& record, bool wants_picture) {
  Seen seen;
  seen.bytes = record.size();
  const db::ImageRecord decoded = db::DecodeImageRecord(record);
  const auto& view = decoded.image.view;
  seen.kind = decoded.kind;
  seen.shape = MakeString(view.height, "x", view.width, "x", view.channels);
  seen.has_label = decoded.has_label;
  seen.label = decoded.label;
  if (view.data == nullptr) return seen;
  seen.channels = SumChannels(view);
  if (wants_picture) seen.picture = Thumbnail(view);
  return seen;
}

int64_t NumValues(const TensorProto& proto) {
  return int64_t{proto.float_data_size()} + proto.int32_data_size() + proto.int64_data_size() +
         proto.double_data_size() + proto.string_data_size() +
         static_cast<int64_t>(proto.byte_data().size());
}

// "FLOAT [4], INT32 [1]" for whole tensors of which the first cannot be an image; else "".
std::string OtherTensors(const std::string& record) {
  TensorProtos protos;
  if (!protos.ParseFromString(record) || protos.protos_size() == 0) return "";
  std::string text;
  for (const TensorProto& proto : protos.protos()) {
    const std::vector<int64_t> dims(proto.dims().begin(), proto.dims().end());
    // In floating point: the sizes of a damaged record may overflow.
    const double count = std::accumulate(dims.begin(), dims.end(), 1.0, std::multiplies<double>());
    if (static_cast<double>(NumValues(proto)) != count) return "";
    text += (text.empty() ? "" : ", ") + TensorProto::DataType_Name(proto.data_type()) + " " +
            ShapeString(dims);
  }
  const TensorProto& first = protos.protos(0);
  const bool pixels =
      first.data_type() == TensorProto::STRING || first.data_type() == TensorProto::BYTE ||
      first.data_type() == TensorProto::UINT8 || first.data_type() == TensorProto::FLOAT;
  const bool image = pixels && (first.data_type() == TensorProto::STRING ||
                                first.dims_size() == 2 || first.dims_size() == 3);
  return image ? "" : text;
}

void CheckReadable(const std::string& path) {
  std::error_code unknown;  // access says why
  const bool folder = std::filesystem::is_directory(path, unknown);
  if (access(path.c_str(), folder ? R_OK | X_OK : R_OK) == 0) {
    if (folder && std::filesystem::is_empty(path, unknown)) {
      ThrowIoError(ExitCode::kNoInput, path, " is an empty folder, no database or data set");
    }
    return;
  }
  if (errno != ENOENT && errno != ENOTDIR) {
    ThrowIoError(ExitCode::kNoInput, "cannot read ", path, ": ", std::strerror(errno));
  }
  ThrowIoError(ExitCode::kNoInput, "there is no database or data set at ", path,
               ": correct the path, or make a database from a data set with doppio data prepare");
}

class Inspector {
 public:
  Inspector(const InspectOptions& options, Inspection* found) : options_(options), found_(*found) {
    CheckReadable(options.path);
    const db::DataSet set = db::FindDataSet(options.path, options.db_type);
    const bool data_set = !set.type.empty();
    found_.source = !data_set ? options.path : options.test_part ? set.test : set.train;
    CheckUsage(data_set || !options.test_part, "--part test: ", options.path,
               " is a database, which has no parts");
    CheckUsage(!found_.source.empty(), "the data set (", set.type, ") at ", options.path,
               " has no ", options.test_part ? "test" : "training",
               " part: choose the other --part");
    found_.db_type = data_set ? set.type : options.db_type;
    database_ = db::CreateDB(found_.db_type, found_.source, db::READ);
    if (found_.db_type == "auto") found_.db_type = db::GuessDBType(found_.source);
    const db::SourceInfo info = db::FindSourceInfo(found_.db_type, found_.source);
    found_.class_names = info.names;
    found_.left_out = db::Describe(info.left_out, found_.source);
    found_.incomplete = db::DescribeMissing(info.missing, found_.source);
  }

  void Run() {
    const int threads = options_.threads > 0 ? options_.threads : AvailableCores();
    std::vector<std::unique_ptr<db::RecordIndex>> indexes;
    indexes.push_back(database_->NewIndex());
    found_.total = indexes[0]->NumRecords();
    // Each thread has an index of its own, unless that would hold all keys once more.
    const bool shared = !indexes[0]->SupportsRandomAccess() || found_.db_type == "leveldb";
    while (!shared && static_cast<int>(indexes.size()) < threads) {
      indexes.push_back(database_->NewIndex());
    }
    const int64_t count =
        options_.max_records > 0 ? std::min(found_.total, options_.max_records) : found_.total;
    ProgressLine progress("looking at " + options_.path, count);
    ForEachOnThreads(0, static_cast<size_t>(count), threads, [&](size_t i, int thread) {
      const size_t at = shared ? 0 : static_cast<size_t>(thread);
      const Seen seen = Read(indexes[at].get(), static_cast<int64_t>(i), shared);
      std::lock_guard<std::mutex> lock(mutex_);
      Count(seen, static_cast<int64_t>(i));
      progress.Show(found_.records);
    });
    SetMoments();
    SortNamed();
    SetFingerprint();
  }

 private:
  Seen Read(db::RecordIndex* index, int64_t i, bool shared) {
    std::string key, value;
    try {
      std::unique_lock<std::mutex> lock(index_mutex_, std::defer_lock);
      if (shared) lock.lock();
      index->Read(i, &key, &value);
      if (shared) lock.unlock();
      Seen seen = LookAt(value, options_.pictures > 0 && WantsPicture(i));
      seen.key = key;
      return seen;
    } catch (const Error& error) {
      Seen seen;
      seen.key = key;
      seen.bytes = value.size();
      seen.other = OtherTensors(value);
      if (seen.other.empty()) seen.error = WithoutCodePlaces(error.what());
      return seen;
    }
  }

  // Pictures of large databases are made for every n-th record only, because a PNG takes longer
  // than the rest.
  bool WantsPicture(int64_t i) const {
    constexpr int64_t kCandidates = 20000;
    return i % std::max<int64_t>(1, found_.total / kCandidates) == 0;
  }

  void Count(const Seen& seen, int64_t i) {
    const auto bytes = static_cast<int64_t>(seen.bytes);
    found_.min_bytes = found_.records == 0 ? bytes : std::min(found_.min_bytes, bytes);
    found_.max_bytes = std::max(found_.max_bytes, bytes);
    found_.bytes += bytes;
    ++found_.records;
    if (!seen.error.empty()) {
      ++found_.num_damaged;
      const std::string key = seen.key.empty() ? "" : ", key " + seen.key;  // "": unreadable
      damaged_.emplace(i, MakeString("record ", i, key, ": ", seen.error));
      if (damaged_.size() > kMaxNamed) damaged_.erase(std::prev(damaged_.end()));
      return;
    }
    if (!seen.other.empty()) {
      ++found_.others[seen.other];
      return;
    }
    ++found_.kinds[seen.kind];
    ++found_.shapes[seen.shape];
    seen.has_label ? ++found_.labels[seen.label] : ++found_.without_label;
    if (!seen.channels.empty()) AddChannels(seen.channels);
    if (!seen.picture.empty()) {
      auto& pictures = pictures_[seen.has_label ? seen.label : -1];
      pictures.emplace(i, Picture{seen.key, seen.picture});
      if (static_cast<int>(pictures.size()) > options_.pictures) {
        pictures.erase(std::prev(pictures.end()));
      }
    }
  }

  void AddChannels(const std::vector<Channel>& channels) {
    if (channels_.empty()) channels_.resize(channels.size());
    mixed_ |= channels_.size() != channels.size();
    if (mixed_) return;
    for (size_t c = 0; c < channels.size(); ++c) {
      channels_[c].sum += channels[c].sum;
      channels_[c].squares += channels[c].squares;
      channels_[c].count += channels[c].count;
    }
  }

  void SetMoments() {
    if (mixed_) return;
    for (const Channel& channel : channels_) {
      const auto count = static_cast<double>(channel.count);
      const double mean = channel.sum / count;
      found_.mean.push_back(mean);
      found_.std.push_back(std::sqrt(std::max(0., channel.squares / count - mean * mean)));
    }
  }

  void SetFingerprint() {
    try {
      found_.fingerprint = db::RecordFingerprint(database_->NewIndex().get());
    } catch (const IoError&) {
      // The unreadable record is counted as damaged.
    }
  }

  // The threads meet records in any order.
  void SortNamed() {
    for (const auto& [i, text] : damaged_) found_.damaged.push_back(text);
    for (auto& [label, pictures] : pictures_) {
      for (auto& [i, picture] : pictures) found_.pictures[label].push_back(picture);
    }
  }

  const InspectOptions& options_;
  Inspection& found_;
  std::unique_ptr<db::DB> database_;
  std::mutex mutex_, index_mutex_;
  std::vector<Channel> channels_;
  bool mixed_ = false;
  std::map<int64_t, std::string> damaged_;                  // by record
  std::map<int64_t, std::map<int64_t, Picture>> pictures_;  // by label and record
};

}  // namespace

Inspection Inspect(const InspectOptions& options) {
  Inspection found;
  Inspector(options, &found).Run();
  return found;
}

std::string LabelText(const Inspection& found, int64_t label) {
  return caffe2::LabelText(found.class_names, label);
}

}  // namespace caffe2::data
