// What operators that work element by element cost, and their gradients.
//
//   elementwise_ops [--types Relu,Add] [--dtypes float,bfloat16] [--sizes 4096,1048576]
//
// Prints one JSON object a line: {"case": "Relu/float/4096", "unit": "us", "least": ...}. Inputs
// are uniform in [0.01, 1), where all functions are defined.

#include <gflags/gflags.h>

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

void Time(const OperatorDef& def, const std::string& dtype, int64_t n, Workspace* ws) {
  const auto op = CreateOperator(def, ws);
  CAFFE_ENFORCE(op->Run());
  const std::string name = def.type() + "/" + dtype + "/" + std::to_string(n);
  std::printf("{\"case\": \"%s\", \"unit\": \"us\", \"least\": %.5g}\n", name.c_str(),
              LeastSeconds(op.get()) * 1e6);
}

// The operator, and the operators that its gradient consists of.
void TimeWithGradient(const std::string& type, const std::string& dtype, int64_t n) {
  Workspace ws;
  FeedUniform(dtype, n, 1, "a", &ws);
  FeedUniform(dtype, n, 2, "b", &ws);
  FeedUniform(dtype, n, 3, "dy", &ws);
  OperatorDef def;
  def.set_type(type);
  def.add_input("a");
  if (OpSchemaRegistry::Schema(type)->min_input() == 2) def.add_input("b");
  def.add_output("y");
  if (type == "Pow") *def.add_arg() = MakeArgument("exponent", 1.7f);
  Time(def, dtype, n, &ws);
  GradientWrapper gradient;
  gradient.dense = "dy";
  try {
    for (const OperatorDef& op : GetGradientForOp(def, {gradient}).ops) Time(op, dtype, n, &ws);
  } catch (const EnforceNotMet&) {  // there is none
  }
}

int Run() {
  for (const std::string& type : Split(FLAGS_types)) {
    for (const std::string& dtype : Split(FLAGS_dtypes)) {
      for (const std::string& n : Split(FLAGS_sizes)) {
        TimeWithGradient(type, dtype, std::stoll(n));
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
