#include "operators/io/checkpoint_op.h"

#include <cctype>

#include "operators/common/cpu_only.h"

namespace caffe2 {
namespace {

// Formats the integer conversion that begins after a '%' at `at`. Moves `at` to its end.
std::string FormatConversion(const std::string& pattern, int64_t iteration, size_t* at) {
  constexpr size_t kMaxWidth = 32;
  const auto next = [&] { return *at < pattern.size() ? pattern[*at] : '\0'; };
  const bool zeros = next() == '0';
  size_t width = 0;
  for (; std::isdigit(static_cast<unsigned char>(next())); ++*at) {
    width = std::min(kMaxWidth, 10 * width + static_cast<size_t>(next() - '0'));
  }
  while (next() == 'l' || next() == 'j' || next() == 'z') ++*at;
  CAFFE_ENFORCE(next() == 'd' || next() == 'i' || next() == 'u', "the database pattern \"", pattern,
                "\" has a conversion that is not of an integer");
  ++*at;
  const std::string number = std::to_string(iteration);
  return std::string(width > number.size() ? width - number.size() : 0, zeros ? '0' : ' ') + number;
}

}  // namespace

std::string FormatCheckpointPath(const std::string& pattern, int64_t iteration) {
  std::string path;
  int conversions = 0;
  for (size_t at = 0; at < pattern.size();) {
    const char c = pattern[at++];
    if (c != '%') {
      path += c;
    } else if (at < pattern.size() && pattern[at] == '%') {
      path += pattern[at++];
    } else {
      CAFFE_ENFORCE(++conversions == 1, "the database pattern \"", pattern,
                    "\" must have exactly one conversion of an integer");
      path += FormatConversion(pattern, iteration, &at);
    }
  }
  return path;
}

REGISTER_CPU_OPERATOR(Checkpoint, CheckpointOp<CPUContext>);
REGISTER_CPU_OPERATOR(Snapshot, CheckpointOp<CPUContext>);

namespace {
void DescribeCheckpoint(OpSchema& schema) {
  schema.NumInputs(1, OpSchema::kUnlimited)
      .NumOutputs(0)
      .SetDoc(R"DOC(
Saves all its inputs, as Save does, in iterations that are multiples of `every`. Snapshot is the
older name of Checkpoint.
)DOC")
      .Arg<std::string>(
          "db", "Path of the database, with a printf conversion for the iteration: model_%06d.",
          /*required=*/true)
      .FillUsing(SaveArguments::Describe)
      .Arg<int>("every", "(> 0, default 1) Iterations between two checkpoints.")
      .Input(0, "iter", "The iteration, one int64, as Iter counts it. It is saved, too.")
      .Input(1, "blobs", "The other blobs to save.");
}
}  // namespace

OPERATOR_SCHEMA(Checkpoint).FillUsing(DescribeCheckpoint).CpuOnly(cpu_only::kFiles);
OPERATOR_SCHEMA(Snapshot).FillUsing(DescribeCheckpoint).CpuOnly(cpu_only::kFiles);

NO_GRADIENT(Checkpoint);
NO_GRADIENT(Snapshot);

}  // namespace caffe2
