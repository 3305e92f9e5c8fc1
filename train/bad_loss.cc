#include "train/bad_loss.h"

#include <cmath>
#include <vector>

#include "caffe2/core/logging.h"
#include "train/not_finite.h"

namespace caffe2 {
namespace {

std::string FindFirstBadValue(const TrainNets& nets, const Workspace& ws) {
  std::vector<std::string> params;
  for (const std::string& scope : nets.scopes) {
    for (const std::string& name : nets.params) params.push_back(scope + name);
  }
  return "; " + DescribeNotFinite(nets.train, params, ws);
}

}  // namespace

void ThrowBadLoss(int shard, double loss, const std::string& when, const TrainNets& nets,
                  const Workspace& ws, ShardRun* run) {
  const std::string who = run->DescribeShard(shard);
  std::string value = MakeString(loss), where;
  if (!std::isfinite(loss)) {
    const std::string own = run->shard_id() == shard ? FindFirstBadValue(nets, ws) : "";
    where = run->GatherWithLongTimeout(own).at(static_cast<size_t>(shard));
    value = "not finite";
  }
  run->ThrowBlaming(
      shard,
      MakeString("Exploded gradients: the loss of ", who, " is ", value, " in ", when, where,
                 "; try a smaller --base_learning_rate (--lr of mnist_trainer), "
                 "--warmup_epochs 5 or --clip_gradients 1"),
      ExitCode::kBadData);
}

}  // namespace caffe2
