#include "train/coverage_check.h"

#include <cstring>

#include "caffe2/core/logging.h"

namespace caffe2 {

std::string DescribeCoverage(int64_t pass, const db::KeySums& expected, const db::KeySums& read,
                             int64_t bad, bool* right) {
  *right = read == expected;
  const std::string start = MakeString("Coverage of --train_data, pass ", pass, ": ");
  if (*right) {
    std::string line = MakeString(start, "each of ", expected.count, " records was read once");
    if (bad > 0) line += MakeString("; ", bad, " of them are damaged and were not trained on");
    return line;
  }
  const char* why = read.count == expected.count  ? "some were read twice and others never"
                    : read.count < expected.count ? "some were never read"
                                                  : "some were read twice";
  return MakeString(start, read.count, " records were read of ", expected.count, "; ", why);
}

CoverageCheck::CoverageCheck(db::DBReader* reader, ShardRun* run)
    : reader_(reader), run_(run), taken_before_(reader->CommittedByAll()) {
  const int64_t records = reader_->NumRecords();
  next_pass_ = (taken_before_ + records - 1) / records;
  reader_->CountKeys();
  if (!run_->IsWriter()) return;
  expected_ = db::KeySumsOf(reader_->db_type(), reader_->source(), reader_->options().holdout);
  if (taken_before_ % records != 0) {
    LOG(INFO) << "Coverage of --train_data: pass " << next_pass_
              << " is not checked, because the run goes on within it";
  }
}

void CoverageCheck::Report(int64_t taken, int64_t bad) {
  const int64_t ended = (taken_before_ + taken) / reader_->NumRecords();
  for (; next_pass_ < ended; ++next_pass_) {
    const db::KeySums own = reader_->TakeKeySums(next_pass_);
    db::KeySums all;
    for (const std::string& bytes :
         run_->Gather({reinterpret_cast<const char*>(&own), sizeof own})) {
      db::KeySums sums;
      std::memcpy(&sums, bytes.data(), sizeof sums);
      all.Add(sums);
    }
    if (!run_->IsWriter()) continue;
    bool right = false;
    const std::string line = DescribeCoverage(next_pass_ + 1, expected_, all, bad, &right);
    if (right) {
      LOG(INFO) << line;
    } else {
      LOG(ERROR) << line;
    }
  }
}

}  // namespace caffe2
