#include "examples/doppio/data/prepare.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

#include "caffe2/core/cpu_cores.h"
#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/utils/program.h"
#include "caffe2/utils/thread_loop.h"
#include "db/db_reader.h"
#include "db/image/image_record.h"
#include "db/record_fingerprint.h"
#include "db/record_writer.h"
#include "db/source_info.h"
#include "examples/doppio/data/unfinished_database.h"
#include "examples/doppio/progress.h"
#include "examples/doppio/text.h"
#include "train/atomic_file.h"
#include "train/stop_signal.h"

namespace caffe2::data {
namespace {

constexpr int64_t kRecordsAtOnce = 16;   // in memory, for each thread
constexpr size_t kSaveBytes = 16 << 20;  // a killed command repeats about this much, plus a batch

// Ends the work after a signal.
struct Interrupted {
  int signal;
};

struct Made {
  std::string key, value;
  int64_t label = 0;
  std::string error;  // not empty: the record is damaged
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
    made.error = record.key + ": " + WithoutCodePlaces(error.what());
  }
  return made;
}

// The records of a reader, in the order of its source.
class ReaderIndex final : public db::RecordIndex {
 public:
  explicit ReaderIndex(const db::DBReader* reader) : reader_(reader) {}
  int64_t NumRecords() const override { return reader_->NumRecords(); }
  void Read(int64_t i, std::string* key, std::string* value) override {
    if (const int signal = StopSignal::Received()) throw Interrupted{signal};
    db::Record record;
    reader_->ReadRecord(i, &record);
    *key = std::move(record.key);
    *value = std::move(record.value);
  }

 private:
  const db::DBReader* const reader_;
};

// Makes the records of a database from a source, in order.
class Maker {
 public:
  Maker(const PrepareOptions& options, const Kind& kind, const std::string& source)
      : options_(options),
        threads_(options.threads > 0 ? options.threads : AvailableCores()),
        reader_(kind.db_type, source,
                {.shuffle = options.shuffle, .seed = static_cast<uint64_t>(options.seed)}) {}

  int64_t NumSourceRecords() const { return reader_.NumRecords(); }
  // One line that says on what the records depend.
  std::string Settings() const {
    ReaderIndex index(&reader_);
    return MakeString(reader_.db_type(), ", ", options_.db_type, ", scale ", options_.scale,
                      ", shuffle ", options_.shuffle, ", seed ", options_.seed, ", ",
                      db::RecordFingerprint(&index));
  }

  // Goes on after the `summary->source_records` first records of the source. Calls consume(made)
  // for each good record, which `summary` counts then, and after_batch() now and then. Both may
  // throw: `summary` counts what was consumed at any time.
  void Run(
      const std::string& what, Summary* summary, const std::function<void(const Made&)>& consume,
      const std::function<void()>& after_batch = [] {}) {
    const int64_t total = reader_.NumRecords();
    ProgressLine progress(what, total, summary->source_records);
    reader_.Restore(summary->source_records);
    db::RecordBatch batch;
    while (summary->source_records < total) {
      if (const int signal = StopSignal::Received()) throw Interrupted{signal};
      const int64_t count = std::min(kRecordsAtOnce * threads_, total - summary->source_records);
      reader_.ReadBatch(static_cast<int>(count), &batch);
      std::vector<Made> made(static_cast<size_t>(count));
      ForEachOnThreads(0, made.size(), threads_,
                       [&](size_t i, int) { made[i] = MakeRecord(batch.records[i], options_); });
      for (size_t i = 0; i < made.size(); ++i) {
        if (made[i].error.empty()) {
          made[i].key = KeyOf(summary->records, batch.records[i].key);
          consume(made[i]);
          ++summary->labels[made[i].label];
          summary->Count(made[i].key, made[i].value);
        } else {
          NoteBad(made[i].error, summary);
        }
        ++summary->source_records;
      }
      after_batch();
      progress.Show(summary->source_records);
    }
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
    if (summary->bad_records >= options_.max_bad_records) {
      ThrowIoError(ExitCode::kBadData, error,
                   options_.max_bad_records == 0 ? " (--max_bad_records N leaves out N such)"
                                                 : " (more than --max_bad_records)");
    }
    ++summary->bad_records;
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

// Saves what was made before an error or a signal.
void KeepUnfinished(const std::string& output, int64_t total, const Summary& made,
                    UnfinishedDatabase* database) {
  if (made.source_records == 0) return;
  try {
    database->Save(made);
  } catch (const std::exception&) {  // the error that ended the work is the one to report
  }
  if (database->saved().source_records == 0) return;
  std::fprintf(stderr, "%s.unfinished keeps %s of %s records; run the command again to go on\n",
               output.c_str(), Grouped(database->saved().source_records).c_str(),
               Grouped(total).c_str());
}

Summary Write(const PrepareOptions& options, Maker* maker, const std::string& output) {
  UnfinishedDatabase database(options.db_type, output, maker->Settings());
  Summary written = database.saved();
  const int64_t total = maker->NumSourceRecords();
  if (written.source_records > 0) {
    std::fprintf(stderr, "%s: going on after %s of %s records\n", output.c_str(),
                 Grouped(written.source_records).c_str(), Grouped(total).c_str());
  }
  try {
    maker->Run(
        "writing " + output, &written,
        [&](const Made& made) { database.Add(made.key, made.value); },
        [&] {
          if (database.unsaved_bytes() >= kSaveBytes) database.Save(written);
        });
    database.Save(written);
  } catch (...) {
    KeepUnfinished(output, total, written, &database);
    throw;
  }
  CAFFE_ENFORCE(written.records > 0, "--input ", options.input, " has no good record");
  database.Finish();
  const Summary read = ReadAgain(options.db_type, output, written.records);
  if (read.records != written.records || read.checksum != written.checksum) {
    std::error_code error;
    std::filesystem::remove_all(output, error);
    ThrowIoError(ExitCode::kIo, output, " reads back ", read.records, " records with checksum ",
                 read.checksum, " where ", written.records, " with checksum ", written.checksum,
                 " were written: the disk or the memory is faulty, or the files of --input changed "
                 "while the command was interrupted; the database was removed");
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
  Summary made;
  maker->Run("comparing " + output, &made, [&](const Made& each) {
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
  PrintWarning(db::DescribeMissing(info.missing, part.source));
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
    std::fprintf(stderr, "doppio data prepare: interrupted\n");
    return 128 + interrupted.signal;
  }
  return 0;
}

}  // namespace caffe2::data
