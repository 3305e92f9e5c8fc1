// What operators that work element by element cost, and their gradients.
//
//   elementwise_ops [--types Relu,Add] [--dtypes float,bfloat16] [--sizes 4096,1048576]
//
// Prints one JSON object a line: {"case": "Relu/float/4096", "unit": "us", "least": ...}. Inputs
// are uniform in [0.01, 1), where all functions are defined. A loop over few bytes takes up to
// twice as long if its tensors lie at the same place of their pages; so each case is timed at
// several distances between them, and the least time counts.

#include <gflags/gflags.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "benchmarks/net_measure.h"
#include "caffe2/core/operator.h"
#include "caffe2/core/operator_gradient.h"
#include "caffe2/core/random.h"
#include "caffe2/utils/program.h"

DEFINE_string(types,
              "Relu,LeakyRelu,Elu,Selu,Sigmoid,Tanh,Softplus,Gelu,Swish,Mish,HardSigmoid,Exp,Log,"
              "Sqrt,Sqr,Abs,Negative,Sin,Tan,Rsqrt,Cbrt,Clip,Pow,Scale,Add,Mul,Div,LT,EQ",
              "operators of one or two inputs");
DEFINE_string(dtypes, "float,bfloat16", "float, float16, bfloat16");
DEFINE_string(sizes, "4096,1048576", "numbers of elements");

namespace caffe2::benchmark {
namespace {

std::vector<std::string> Split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

void FeedUniform(const std::string& dtype, int64_t n, uint64_t seed, const std::string& name,
                 Workspace* ws) {
  Tensor* tensor = BlobGetMutableTensor(ws->CreateBlob(name), Device{});
  tensor->Resize(n);
  RandomGenerator random(seed);
  for (int64_t i = 0; i < n; ++i) {
    const float value = 0.01f + 0.99f * random.Uniform();
    if (dtype == "float") tensor->mutable_data<float>()[i] = value;
    if (dtype == "float16") tensor->mutable_data<float16>()[i] = ToFloat16(value);
    if (dtype == "bfloat16") tensor->mutable_data<bfloat16>()[i] = ToBFloat16(value);
  }
}

// Types of operators, and the least seconds of each.
using Times = std::vector<std::pair<std::string, double>>;

double Time(const OperatorDef& def, Workspace* ws) {
  const auto op = CreateOperator(def, ws);
  CAFFE_ENFORCE(op->Run());
  return LeastSeconds(op.get());
}

// The operator, and the operators that its gradient consists of: their types and seconds.
// Tensors are `gap` bytes farther apart than the allocator would place them.
Times TimeWithGradient(const std::string& type, const std::string& dtype, int64_t n, size_t gap) {
  Workspace ws;
  std::vector<std::unique_ptr<char[]>> gaps;
  const auto feed = [&](const char* name, uint64_t seed) {
    gaps.push_back(std::make_unique<char[]>(gap));
    FeedUniform(dtype, n, seed, name, &ws);
  };
  feed("a", 1), feed("b", 2), feed("dy", 3);
  gaps.push_back(std::make_unique<char[]>(gap));
  OperatorDef def;
  def.set_type(type);
  def.add_input("a");
  if (OpSchemaRegistry::Schema(type)->min_input() == 2) def.add_input("b");
  def.add_output("y");
  if (type == "Pow") *def.add_arg() = MakeArgument("exponent", 1.7f);
  Times times{{type, Time(def, &ws)}};
  GradientWrapper gradient;
  gradient.dense = "dy";
  try {
    for (const OperatorDef& op : GetGradientForOp(def, {gradient}).ops) {
      gaps.push_back(std::make_unique<char[]>(gap));
      times.emplace_back(op.type(), Time(op, &ws));
    }
  } catch (const EnforceNotMet&) {  // there is none
  }
  return times;
}

void PrintLeast(const std::string& type, const std::string& dtype, int64_t n) {
  Times least;
  for (size_t gap : {0, 1088, 2176, 3264}) {
    const Times times = TimeWithGradient(type, dtype, n, gap);
    if (least.empty()) least = times;
    for (size_t i = 0; i < times.size(); ++i) {
      least[i].second = std::min(least[i].second, times[i].second);
    }
  }
  for (const auto& [name, seconds] : least) {
    std::printf("{\"case\": \"%s/%s/%lld\", \"unit\": \"us\", \"least\": %.5g}\n", name.c_str(),
                dtype.c_str(), static_cast<long long>(n), seconds * 1e6);
  }
}

int Run() {
  for (const std::string& type : Split(FLAGS_types)) {
    for (const std::string& dtype : Split(FLAGS_dtypes)) {
      for (const std::string& n : Split(FLAGS_sizes)) {
        PrintLeast(type, dtype, std::stoll(n));
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace caffe2::benchmark

int main(int argc, char** argv) {
  return caffe2::RunProgram(&argc, &argv, "Times elementwise operators and their gradients.",
                            caffe2::benchmark::Run);
}
