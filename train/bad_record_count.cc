#include "train/bad_record_count.h"

#include <utility>

#include "caffe2/core/logging.h"
#include "caffe2/proto/checkpoint.pb.h"

namespace caffe2 {

BadRecordCount::BadRecordCount(int64_t limit, const std::set<std::string>& known,
                               db::DBReader* reader, ShardRun* run)
    : limit_(limit), known_(known), reader_(reader), run_(run) {
  CAFFE_ENFORCE(static_cast<int64_t>(known.size()) <= limit, "the run that is resumed has skipped ",
                known.size(), " bad records, more than --max_bad_records (", limit, ")");
  reader_->AddBadRecords({known.begin(), known.end()});
}

int64_t BadRecordCount::CountNew() {
  for (std::string& key : reader_->TakeNewBadRecords()) found_.push_back(std::move(key));
  return static_cast<int64_t>(found_.size());
}

void BadRecordCount::Share() {
  BadRecordsProto own;
  for (const std::string& key : found_) own.add_key(key);
  found_.clear();
  const std::vector<std::string> all = run_->Gather(own.SerializeAsString());
  for (size_t shard = 0; shard < all.size(); ++shard) {
    BadRecordsProto found;
    CAFFE_ENFORCE(found.ParseFromString(all[shard]), "the bad records that shard ", shard,
                  " sent are damaged");
    for (const std::string& key : found.key()) {
      if (!known_.insert(key).second || static_cast<int64_t>(known_.size()) <= limit_) continue;
      const auto blamed = static_cast<int>(shard);
      run_->ThrowBlaming(blamed,
                         MakeString("too many bad training records: record \"", key, "\" of ",
                                    run_->DescribeShard(blamed), " is number ", known_.size(),
                                    " of the run, --max_bad_records is ", limit_, " (database ",
                                    reader_->source(), ")"),
                         ExitCode::kBadData);
    }
    reader_->AddBadRecords({found.key().begin(), found.key().end()});
  }
}

}  // namespace caffe2
