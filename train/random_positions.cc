#include "train/random_positions.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

// The part of NetBase::RandomState that belongs to one operator: its own position, and the
// positions of the nets that it runs.
struct OperatorStreams {
  std::string name;
  size_t begin = 0, size = 0;
};

bool IsZero(uint64_t position) { return position == 0; }

// Names are the same in each run of the program: type, first output, and a number from the second
// operator on that has both.
std::vector<OperatorStreams> StreamsOf(const NetBase& net) {
  std::vector<OperatorStreams> all;
  std::map<std::string, int> seen;
  size_t begin = 0;
  for (const auto& op : net.operators()) {
    const OperatorDef& def = op->debug_def();
    std::string name = def.type() + " " + (def.output_size() > 0 ? def.output(0) : "");
    const int number = ++seen[name];
    if (number > 1) name += MakeString(" ", number);
    all.push_back({name, begin, 1 + op->NestedRandomState().size()});
    begin += all.back().size;
  }
  return all;
}

[[noreturn]] void ThrowOtherNet(const std::string& what) {
  ThrowIoError(ExitCode::kBadData,
               "the checkpoint is from another version of this program: it has ", what,
               ". Start a new run from its model with --load_model_path");
}

// Of checkpoints that list all operators in the order of their net.
void RestoreList(const ShardStateProto& state, NetBase* net) {
  const auto& list = state.random_position();
  const size_t size = net->RandomState().size();
  // A net that has drawn nothing may be of any size.
  if (std::all_of(list.begin(), list.end(), IsZero)) return;
  if (static_cast<size_t>(list.size()) != size) {
    ThrowOtherNet(
        MakeString("random positions of ", list.size(), " operators, the net has ", size));
  }
  net->SetRandomState({list.begin(), list.end()});
}

}  // namespace

void SaveRandomPositions(const NetBase& net, ShardStateProto* state) {
  const std::vector<uint64_t> positions = net.RandomState();
  for (const OperatorStreams& streams : StreamsOf(net)) {
    const auto begin = positions.begin() + static_cast<int64_t>(streams.begin);
    const auto end = begin + static_cast<int64_t>(streams.size);
    if (std::all_of(begin, end, IsZero)) continue;
    RandomStreamsProto* saved = state->add_random_streams();
    saved->set_operator_name(streams.name);
    saved->mutable_position()->Add(begin, end);
  }
}

void RestoreRandomPositions(const ShardStateProto& state, NetBase* net) {
  std::vector<uint64_t> positions(net->RandomState().size(), 0);
  std::map<std::string, OperatorStreams> by_name;
  for (const OperatorStreams& streams : StreamsOf(*net)) by_name[streams.name] = streams;
  for (const RandomStreamsProto& saved : state.random_streams()) {
    const auto found = by_name.find(saved.operator_name());
    if (found == by_name.end() ||
        static_cast<size_t>(saved.position_size()) != found->second.size) {
      ThrowOtherNet(MakeString(saved.position_size(), " random positions of an operator \"",
                               saved.operator_name(), "\", which the net does not have"));
    }
    std::copy(saved.position().begin(), saved.position().end(),
              positions.begin() + static_cast<int64_t>(found->second.begin));
  }
  net->SetRandomState(positions);
  RestoreList(state, net);
}

uint64_t LastRandomPosition(const CheckpointProto& checkpoint) {
  uint64_t last = 0;
  const auto note = [&last](uint64_t position) { last = std::max(last, position); };
  for (const ShardStateProto& state : checkpoint.shard()) {
    std::for_each(state.random_position().begin(), state.random_position().end(), note);
    for (const RandomStreamsProto& streams : state.random_streams()) {
      std::for_each(streams.position().begin(), streams.position().end(), note);
    }
  }
  return last;
}

}  // namespace caffe2
