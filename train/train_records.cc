#include "train/train_records.h"

#include <memory>

namespace caffe2 {

db::DBReader* TrainRecords::reader() const {
  if (nets_.reader.empty()) return nullptr;
  return ws_.GetBlob(nets_.reader)->Get<std::unique_ptr<db::DBReader>>().get();
}

int64_t TrainRecords::Taken() const {
  const db::DBReader* source = reader();
  return source == nullptr ? 0 : source->Committed();
}

double TrainRecords::WaitedSeconds() const {
  const db::DBReader* source = reader();
  return source == nullptr ? 0 : source->WaitedSeconds();
}

void TrainRecords::LogEpochSize(const TrainOptions& options) const {
  std::string data = "synthetic images";
  int64_t records = 0;
  if (const db::DBReader* source = reader()) {
    records = source->NumRecords();
    data = MakeString("--train_data has ", records, " images");
    if (options.data.holdout > 0) {
      data += MakeString(" to train on and ", source->NumOtherRecords(),
                         " that --holdout keeps for tests");
    }
  }
  const int64_t size = options.EpochIterations() * options.BatchOfAllShards();
  LOG(INFO) << "Using epoch size: " << size << " (" << data << ")";
  if (records > 0 && size / records > 1) {
    LOG(WARNING) << "An epoch, after which the model is tested and saved, reads all images of "
                 << "--train_data " << size / records << " times: --epoch_size 0 (mnist_trainer: "
                 << "--num_examples 0) makes an epoch of all of them once";
  }
}

}  // namespace caffe2
