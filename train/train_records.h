// The stream of training records of a shard.
#pragma once

#include <cstdint>

#include "caffe2/core/workspace.h"
#include "db/db_reader.h"
#include "train/options.h"
#include "train/train_nets.h"

namespace caffe2 {

// The database reader that the init net of a run makes in its workspace. A run on synthetic images
// has none: its numbers are 0.
class TrainRecords {
 public:
  // The arguments must outlive this. The members may be called once the init net has run.
  TrainRecords(const TrainNets& nets, const Workspace& ws) : nets_(nets), ws_(ws) {}

  // Null with synthetic images.
  db::DBReader* reader() const;
  int64_t Taken() const;         // by this shard
  double WaitedSeconds() const;  // since the run began
  // Logs how many images an epoch has, and warns of an epoch that reads all of them several times.
  void LogEpochSize(const TrainOptions& options) const;

 private:
  const TrainNets& nets_;
  const Workspace& ws_;
};

}  // namespace caffe2
