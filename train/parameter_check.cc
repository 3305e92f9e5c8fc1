#include "train/parameter_check.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "caffe2/core/device_backend.h"
#include "caffe2/utils/hash64.h"
#include "caffe2/utils/trace.h"
#include "distributed/collective.h"

namespace caffe2 {
namespace {

std::string Bytes(const std::vector<uint64_t>& hashes) {
  return {reinterpret_cast<const char*>(hashes.data()), hashes.size() * sizeof(uint64_t)};
}

std::vector<uint64_t> FromBytes(const std::string& bytes) {
  std::vector<uint64_t> hashes(bytes.size() / sizeof(uint64_t));
  std::memcpy(hashes.data(), bytes.data(), hashes.size() * sizeof(uint64_t));
  return hashes;
}

int FirstDifferentBlob(const std::vector<std::vector<uint64_t>>& hashes) {
  for (size_t blob = 0; blob < hashes[0].size(); ++blob) {
    for (const auto& shard : hashes) {
      if (shard[blob] != hashes[0][blob]) return static_cast<int>(blob);
    }
  }
  return -1;
}

}  // namespace

ShardDifference FindDifference(const std::vector<std::vector<uint64_t>>& hashes) {
  ShardDifference difference{FirstDifferentBlob(hashes), {}};
  if (difference.blob < 0) return difference;
  std::map<std::vector<uint64_t>, int> groups;
  for (const auto& shard : hashes) ++groups[shard];
  const auto smaller = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto largest = std::max_element(groups.begin(), groups.end(), smaller);
  const auto as_large = [&](const auto& group) { return group.second == largest->second; };
  if (std::count_if(groups.begin(), groups.end(), as_large) > 1) return difference;
  for (size_t shard = 0; shard < hashes.size(); ++shard) {
    if (hashes[shard] != largest->first) difference.odd.push_back(static_cast<int>(shard));
  }
  return difference;
}

ParameterCheck::ParameterCheck(const TrainNets& nets, const Workspace* ws, ShardRun* run)
    : ws_(ws), run_(run) {
  for (const std::string& scope : nets.scopes) {
    for (const std::string& name : nets.params) blobs_.push_back(scope + name);
  }
  blobs_.insert(blobs_.end(), nets.optimizer_state.begin(), nets.optimizer_state.end());
}

void ParameterCheck::Run(int64_t iteration) const {
  const TracedSpan span("check", "compare parameters");
  std::vector<uint64_t> hashes;
  for (const std::string& name : blobs_) {
    Tensor copy(CPU);
    const Tensor& value = OnHost(ws_->GetBlob(name)->Get<Tensor>(), &copy);
    hashes.push_back(Hash64(value.raw_data(), value.nbytes()));
  }
  const uint64_t own = Hash64(hashes.data(), hashes.size() * sizeof(uint64_t));
  const std::vector<std::string> all = run_->Gather(Bytes({own}));
  const bool equal =
      std::all_of(all.begin(), all.end(), [&](const auto& shard) { return shard == all[0]; });
  if (!equal) ThrowDifference(iteration, hashes);
}

void ParameterCheck::ThrowDifference(int64_t iteration, const std::vector<uint64_t>& hashes) const {
  std::vector<std::vector<uint64_t>> all;
  for (const std::string& shard : run_->Gather(Bytes(hashes))) all.push_back(FromBytes(shard));
  const ShardDifference difference = FindDifference(all);
  std::string who;
  for (int shard = 0; shard < run_->num_shards(); ++shard) {
    const auto& odd = difference.odd;
    if (!odd.empty() && std::find(odd.begin(), odd.end(), shard) == odd.end()) continue;
    who += (who.empty() ? "" : ", ") + run_->DescribeShard(shard);
  }
  const auto equal = all.size() - difference.odd.size();
  const std::string text =
      MakeString("the parameters of the shards differ after iteration ", iteration, ": ", who,
                 difference.odd.empty() ? std::string(" are not equal")
                                        : MakeString(" against ", equal, " equal shards"),
                 "; the first difference is in ", blobs_[static_cast<size_t>(difference.blob)]);
  throw PeerLost(text, difference.odd.size() == 1 ? difference.odd[0] : -1,
                 ExitCode::kDisagreement);
}

}  // namespace caffe2
