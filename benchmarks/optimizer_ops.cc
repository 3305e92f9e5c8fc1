// What optimizers cost on the CPU, dense and of rows.
//
//   optimizer_ops [--types Adam,SparseAdam] [--elements 1048576] [--rows 10000] [--width 64]
//
// Prints one JSON object a line: {"case": "Adam", "unit": "us", "median": ...}. Updates are in
// place, and the gradient stays the same. Updates of rows name each of `rows` rows once.

#include <gflags/gflags.h>

#include <sstream>

#include "benchmarks/net_measure.h"
#include "caffe2/core/random.h"
#include "caffe2/utils/program.h"

DEFINE_string(types, "", "operators; empty: all that this program knows");
DEFINE_int64(elements, 1 << 20, "elements of a dense parameter");
DEFINE_int64(rows, 10000, "rows of a parameter");
DEFINE_int64(width, 64, "elements of a row");

namespace caffe2::benchmark {
namespace {

// Operands by their roles: g: gradient, p: parameter, s and t: states, r: a state of one number a
// row, i: indices, l: learning rate, n: iteration. Outputs are updated in place.
struct Case {
  const char *type, *inputs, *outputs;
};
constexpr Case kDense[] = {{"MomentumSGDUpdate", "gslp", "gsp"},
                           {"MultiMomentumSGDUpdate", "gslp", "sp"},
                           {"Adam", "pstgln", "pst"},
                           {"MultiAdam", "gstlnp", "stp"},
                           {"Adagrad", "psgl", "ps"},
                           {"MultiAdagrad", "gslp", "sp"},
                           {"RmsProp", "gstl", "gst"},
                           {"MultiRmsProp", "gstlp", "stp"}};
constexpr Case kRows[] = {{"SparseMomentumSGDUpdate", "gslpi", "gsp"},
                          {"SparseAdam", "pstigln", "pst"},
                          {"RowWiseSparseAdam", "psrigln", "psr"},
                          {"SparseAdagrad", "psigl", "ps"},
                          {"RowWiseSparseAdagrad", "prigl", "pr"}};

Tensor* Create(char name, const std::vector<int64_t>& dims, Workspace* ws) {
  Tensor* tensor = BlobGetMutableTensor(ws->CreateBlob(std::string(1, name)), Device{});
  tensor->Resize(dims);
  return tensor;
}
void FeedUniform(char name, const std::vector<int64_t>& dims, Workspace* ws) {
  Tensor* tensor = Create(name, dims, ws);
  auto* values = tensor->mutable_data<float>();
  RandomGenerator random(name);
  for (int64_t i = 0; i < tensor->numel(); ++i) values[i] = random.Uniform();
}

// `rows` is 0 for dense updates.
void Time(const Case& update, int64_t rows, const std::vector<int64_t>& dims) {
  if (!FLAGS_types.empty() &&
      ("," + FLAGS_types + ",").find("," + std::string(update.type) + ",") == std::string::npos) {
    return;
  }
  Workspace ws;
  for (const char role : {'g', 'p', 's', 't'}) FeedUniform(role, dims, &ws);
  FeedUniform('r', {dims[0]}, &ws);
  *Create('l', {1}, &ws)->mutable_data<float>() = 1e-6f;
  *Create('n', {1}, &ws)->mutable_data<int64_t>() = 10;
  auto* indices = Create('i', {rows}, &ws)->mutable_data<int64_t>();
  constexpr int64_t kStride = 7919;  // a prime: all rows, not in order
  for (int64_t i = 0; i < rows; ++i) indices[i] = i * kStride % rows;
  OperatorDef def;
  def.set_type(update.type);
  for (const char* role = update.inputs; *role != 0; ++role) def.add_input(std::string(1, *role));
  for (const char* role = update.outputs; *role != 0; ++role) def.add_output(std::string(1, *role));
  *def.add_arg() = MakeArgument("momentum", 0.9f);
  const auto op = CreateOperator(def, &ws);
  std::printf("{\"case\": \"%s\", \"unit\": \"us\", \"median\": %.5g}\n", update.type,
              MedianSeconds(op.get()) * 1e6);
}

int Run() {
  for (const Case& update : kDense) Time(update, 0, {FLAGS_elements});
  for (const Case& update : kRows) Time(update, FLAGS_rows, {FLAGS_rows, FLAGS_width});
  return 0;
}

}  // namespace
}  // namespace caffe2::benchmark

int main(int argc, char** argv) {
  return caffe2::RunProgram(&argc, &argv, "Times the update operators of optimizers.",
                            caffe2::benchmark::Run);
}
