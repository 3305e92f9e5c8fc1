// Checkpoints, with a checksum that is right or as the bytes have it.
#include "tests/fuzz/fuzz_target.h"
#include "train/atomic_file.h"
#include "train/checkpoint.h"

namespace caffe2::testing {
namespace {

// A run with one parameter and one running statistic.
TrainNets Nets() {
  TrainNets nets;
  nets.train.set_name("train");
  nets.scopes = {""};
  nets.params = {"w"};
  nets.computed_params = {"mean"};
  nets.optimizer_state = {"optimizer_iteration"};
  return nets;
}

}  // namespace

// The first byte says whether a checksum is added.
FUZZ_TARGET(Checkpoint, "checkpoint", 1000) {
  if (bytes.empty()) return;
  const FuzzFile file(bytes.substr(1));
  if (bytes[0] == '+') AppendChecksum(file.path());
  const TrainNets nets = Nets();
  TrainOptions options;
  Workspace ws;
  ws.CreateNet(nets.train);
  BlobGetMutableTensor(ws.CreateBlob("mean"), Device{})->Resize(3);
  ws.GetBlob("mean")->GetMutable<Tensor>()->mutable_data<float>();
  ShardRun run(options, &ws);
  const CheckpointProto checkpoint = LoadCheckpoint(file.path(), options, nets, &ws, &run).state;
  RestoreShard(checkpoint, options, nets, &ws);
  ProgressOf(checkpoint, options);
}

}  // namespace caffe2::testing
