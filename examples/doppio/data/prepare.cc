#include "examples/doppio/data/prepare.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "caffe2/core/cpu_cores.h"
#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/utils/crc32.h"
#include "caffe2/utils/thread_loop.h"
#include "db/db_reader.h"
#include "db/image/image_record.h"
#include "db/record_writer.h"
#include "db/source_info.h"
#include "examples/doppio/progress.h"
#include "examples/doppio/text.h"
#include "train/atomic_file.h"
#include "train/stop_signal.h"

namespace caffe2::data {
namespace {

constexpr int64_t kRecordsAtOnce = 16;  // in memory, for each thread

// Ends the work after a signal.
struct Interrupted {
  int signal;
};

struct Made {
  std::string key, value;
  int64_t label = 0;
  std::string error;  // not empty: the record is damaged
};

struct Summary {
  int64_t records = 0, bad_records = 0, bytes = 0;
  uint32_t checksum = 0;  // of keys and values, in order
  std::map<int64_t, int64_t> labels;

  void Count(const std::string& key, const std::string& value) {
    ++records;
    bytes += static_cast<int64_t>(value.size());
    checksum = Crc32(key.data(), key.size(), checksum);
    checksum = Crc32(value.data(), value.size(), checksum);
  }
};

// The record of the database for a record of the source: the same, or a smaller JPEG.
Made MakeRecord(const db::Record& record, const PrepareOptions& options) {
  Made made;
  try {
    const db::ImageRecord picture = db::DecodeImageRecord(record.value);
    made.label = picture.label;
    made.value = record.value;
    const int shorter = std::min(picture.image.view.height, picture.image.view.width);
    if (options.scale > 0 && shorter != options.scale) {
      const auto smaller = db::Rescale(picture.image, options.scale, /*warp=*/false);
      made.value = db::MakeEncodedDatum(db::EncodeImage(smaller.view, ".jpg"),
                                        static_cast<int>(picture.label));
    }
  } catch (const Error& error) {
    made.error = record.key + ": " + error.what();
  }
  return made;
}

// Calls consume(made) for the good records of a source, in order, with their keys.
class Maker {
 public:
  Maker(const PrepareOptions& options, const Kind& kind, const std::string& source)
      : options_(options),
        threads_(options.threads > 0 ? options.threads : AvailableCores()),
        reader_(kind.db_type, source,
                {.shuffle = options.shuffle, .seed = static_cast<uint64_t>(options.seed)}) {}

  Summary Run(const std::string& what, const std::function<void(const Made&)>& consume) {
    Summary summary;
    const int64_t total = reader_.NumRecords();
    ProgressLine progress(what, total);
    db::RecordBatch batch;
    for (int64_t begin = 0; begin < total; begin += kRecordsAtOnce * threads_) {
      if (const int signal = StopSignal::Received()) throw Interrupted{signal};
      const int64_t count = std::min(kRecordsAtOnce * threads_, total - begin);
      reader_.ReadBatch(static_cast<int>(count), &batch);
      std::vector<Made> made(static_cast<size_t>(count));
      ForEachOnThreads(0, made.size(), threads_,
                       [&](size_t i, int) { made[i] = MakeRecord(batch.records[i], options_); });
      for (size_t i = 0; i < made.size(); ++i) {
        if (!made[i].error.empty()) {
          NoteBad(made[i].error, &summary);
          continue;
        }
        made[i].key = KeyOf(summary.records, batch.records[i].key);
        ++summary.labels[made[i].label];
        summary.Count(made[i].key, made[i].value);
        consume(made[i]);
      }
      progress.Show(begin + count);
    }
    return summary;
  }

 private:
  // "00000017_cat/3.jpg": ascending in the order of the records. LMDB's keys have at most 511
  // bytes.
  static std::string KeyOf(int64_t i, const std::string& source_key) {
    constexpr size_t kMaxName = 400;
    char number[24];
    std::snprintf(number, sizeof(number), "%08lld", static_cast<long long>(i));
    const bool is_name = source_key.find_first_not_of("0123456789") != std::string::npos;
    return is_name ? number + ("_" + source_key.substr(0, kMaxName)) : std::string(number);
  }

  void NoteBad(const std::string& error, Summary* summary) const {
    if (++summary->bad_records > options_.max_bad_records) {
      ThrowIoError(ExitCode::kBadData, error,
                   options_.max_bad_records == 0 ? " (--max_bad_records N leaves out N such)"
                                                 : " (more than --max_bad_records)");
    }
    std::fprintf(stderr, "left out: %s\n", error.c_str());
  }

  const PrepareOptions& options_;
  const int threads_;
  db::DBReader reader_;
};

// Reads a database again, in order.
Summary ReadAgain(const std::string& db_type, const std::string& path, int64_t total) {
  Summary summary;
  ProgressLine progress("verifying " + path, total);
  db::DBReader(db_type, path).Visit([&](const std::string& key, const std::string& value) {
    summary.Count(key, value);
    progress.Show(summary.records);
    return StopSignal::Received() == 0;
  });
  if (const int signal = StopSignal::Received()) throw Interrupted{signal};
  return summary;
}

Summary Write(const PrepareOptions& options, Maker* maker, const std::string& output) {
  db::RecordWriter writer(options.db_type, output);
  const Summary written =
      maker->Run("writing " + output, [&](const Made& made) { writer.Add(made.key, made.value); });
  CAFFE_ENFORCE(written.records > 0, "--input ", options.input, " has no good record");
  writer.Finish();
  const Summary read = ReadAgain(options.db_type, output, written.records);
  if (read.records != written.records || read.checksum != written.checksum) {
    std::error_code error;
    std::filesystem::remove_all(output, error);
    ThrowIoError(ExitCode::kIo, output, " reads back ", read.records, " records with checksum ",
                 read.checksum, " where ", written.records, " with checksum ", written.checksum,
                 " were written: the disk or the memory is faulty; the database was removed");
  }
  return written;
}

// Compares a database that is there already.
Summary Compare(const PrepareOptions& options, Maker* maker, const std::string& output) {
  const auto database = db::CreateDB(options.db_type, output, db::READ);
  const auto cursor = database->NewCursor();
  const auto differ = [&](const std::string& what) {
    ThrowIoError(ExitCode::kCannotWrite, output, " exists already and ", what,
                 ": remove it, or give another path");
  };
  const Summary made = maker->Run("comparing " + output, [&](const Made& each) {
    if (!cursor->Valid()) differ("has fewer records");
    if (cursor->key() != each.key || cursor->value() != each.value) {
      differ("has another record " + cursor->key());
    }
    cursor->Next();
  });
  if (cursor->Valid()) differ("has more records");
  return made;
}

// "DB.classes.txt", which `predict --class_names` reads; for sources whose classes have names.
void WriteClassNames(const std::vector<std::string>& names, const std::string& output) {
  if (names.empty()) return;
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  WriteWholeFile(db::ClassNamesFile(output), text);
}

void PrintSummary(const Summary& summary, const std::string& output, bool existed) {
  int64_t fewest = summary.records, most = 0;
  for (const auto& [label, count] : summary.labels) {
    fewest = std::min(fewest, count);
    most = std::max(most, count);
  }
  std::printf("%s: %s records, %zu labels with %s to %s each, %s, checksum %08x, verified%s\n",
              output.c_str(), Grouped(summary.records).c_str(), summary.labels.size(),
              Grouped(fewest).c_str(), Grouped(most).c_str(), HumanBytes(summary.bytes).c_str(),
              summary.checksum, existed ? "; was there already" : "");
  if (summary.bad_records > 0) {
    std::printf("%s: %s damaged records were left out\n", output.c_str(),
                Grouped(summary.bad_records).c_str());
  }
}

void PrintWarning(const std::string& text) {
  if (!text.empty()) std::fprintf(stderr, "warning: %s\n", text.c_str());
}

// A part of the input, and what is known of it before it is read.
struct InputPart {
  std::string source;  // "": the input has no such part
  db::SourceInfo info;
};

InputPart FindPart(const std::string& type, const std::string& source) {
  return {source, source.empty() ? db::SourceInfo() : db::FindSourceInfo(type, source)};
}

void PreparePart(const PrepareOptions& options, const Kind& kind, const InputPart& part,
                 const std::string& output) {
  Maker maker(options, kind, part.source);
  std::error_code error;
  const bool exists = std::filesystem::exists(output, error);
  const Summary summary =
      exists ? Compare(options, &maker, output) : Write(options, &maker, output);
  const db::SourceInfo& info = part.info;
  WriteClassNames(info.names, output);
  PrintSummary(summary, output, exists);
  if (info.names.size() == 1) {
    PrintWarning("all images are of one class, \"" + info.names[0] +
                 "\": classes are sub-folders, or archives in an archive");
  }
  PrintWarning(db::Describe(info.left_out, part.source));
  std::fflush(stdout);
}

void CheckOptions(const PrepareOptions& options) {
  CheckUsage(!options.output.empty() || !options.test_output.empty(),
             "--output DB is needed (or --test_output DB, for the test part)");
  CheckUsage(options.output != options.test_output, "--output and --test_output are both ",
             options.output);
  CheckUsage(
      options.db_type == "lmdb" || options.db_type == "leveldb" || options.db_type == "minidb",
      "--db is ", options.db_type, ", must be lmdb, leveldb or minidb");
}

// A database that is there is compared; anything else is not touched.
void CheckOutputs(const PrepareOptions& options) {
  std::error_code error;
  for (const auto& [flag, path] :
       {std::pair("--output ", options.output), std::pair("--test_output ", options.test_output)}) {
    if (path.empty() || !std::filesystem::exists(path, error)) continue;
    if (db::GuessDBType(path) == options.db_type) continue;
    ThrowIoError(ExitCode::kCannotWrite, flag, path, " exists already and is no ", options.db_type,
                 " database: give a path where nothing is, for instance ",
                 (std::filesystem::path(path) / options.db_type).string());
  }
}

// The parts of the input that the command reads, or compares the classes of: a class that one part
// lacks would shift the numbers of the other part's classes.
std::pair<InputPart, InputPart> FindParts(const PrepareOptions& options, const Kind& kind) {
  const db::DataSet set = FindDataSetOf(kind, options.input);
  const bool undivided = set.train == set.test;
  CheckUsage(
      !undivided || !kind.one_part || options.output.empty() || options.test_output.empty(),
      "--input ", options.input,
      " holds one part only: give --output or --test_output, or a folder with train and val");
  if (!options.output.empty()) CheckPart(kind, set, options.input, Part::kTrain);
  if (!options.test_output.empty()) CheckPart(kind, set, options.input, Part::kTest);
  InputPart train = FindPart(kind.db_type, set.train);
  InputPart test = undivided ? train : FindPart(kind.db_type, set.test);
  if (!undivided) {
    db::CheckSameClasses({train.source, train.info.names}, {test.source, test.info.names});
  }
  return {std::move(train), std::move(test)};
}

}  // namespace

int Prepare(const PrepareOptions& options) {
  const Kind& kind = KindNamed(options.kind);
  CheckOptions(options);
  const auto [train, test] = FindParts(options, kind);
  CheckOutputs(options);
  const StopSignal signals;
  try {
    if (!options.output.empty()) PreparePart(options, kind, train, options.output);
    if (!options.test_output.empty()) PreparePart(options, kind, test, options.test_output);
  } catch (const Interrupted& interrupted) {
    std::fprintf(stderr,
                 "doppio data prepare: interrupted; the database in progress was removed. Run the "
                 "command again to start it anew.\n");
    return 128 + interrupted.signal;
  }
  return 0;
}

}  // namespace caffe2::data
