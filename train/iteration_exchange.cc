#include "train/iteration_exchange.h"

#include <algorithm>
#include <cmath>

namespace caffe2 {

// A bad loss is sent in a separate element for each shard, so that all shards know whose it is and
// NaN does not spoil the sums.
IterationStatus ExchangeIterations(const ShardIterations& own, double max_loss, ShardRun* run) {
  const auto n = static_cast<double>(own.iterations);
  const double loss = own.loss / n;
  const bool bad = !std::isfinite(loss) || loss > max_loss;
  const auto shards = static_cast<size_t>(run->num_shards());
  const auto self = static_cast<size_t>(run->shard_id());
  const size_t times = 3 + 3 * shards;  // where the shards' seconds begin, four numbers each
  std::vector<double> values(times + 4 * shards + 1, 0.0);
  values[0] = bad ? 0.0 : loss;
  values[1] = own.accuracy / n;
  values[2] = own.accuracy_top5 / n;
  values[3 + self] = bad ? 1.0 : 0.0;
  values[3 + shards + self] = std::isfinite(loss) ? loss : 0.0;
  values[3 + 2 * shards + self] = own.stop;
  const double own_times[] = {own.seconds.iterations, own.seconds.all, own.seconds.input,
                              own.seconds.exchanging};
  std::copy_n(own_times, 4, values.begin() + static_cast<ptrdiff_t>(times + 4 * self));
  values.back() = static_cast<double>(own.new_bad_records);
  run->Sum(&values);
  IterationStatus status;
  for (size_t s = 0; s < shards; ++s) {
    const double* of_shard = values.data() + times + 4 * s;
    status.shards.push_back({of_shard[0], of_shard[1], of_shard[2], of_shard[3]});
  }
  status.iterations = own.iterations;
  status.loss = values[0] / run->num_shards();
  status.accuracy = values[1] / run->num_shards();
  status.accuracy_top5 = values[2] / run->num_shards();
  status.new_bad_records = static_cast<int64_t>(values.back());
  for (size_t s = 0; s < shards; ++s) {
    status.stop = std::max(status.stop, static_cast<int>(values[3 + 2 * shards + s]));
    if (values[3 + s] == 0.0 || status.bad_shard >= 0) continue;
    status.bad_shard = static_cast<int>(s);
    const double value = values[3 + shards + s];
    status.bad_loss = value > max_loss ? value : std::nan("");  // 0: it was not finite
  }
  return status;
}

}  // namespace caffe2
