// Times a NetDef from a file, as a whole and operator by operator.
#include <gflags/gflags.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <sstream>

#include "caffe2/core/logging.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/core/workspace.h"
#include "caffe2/graph/inference.h"
#include "caffe2/utils/net_io.h"
#include "caffe2/utils/program.h"
#include "train/model_file.h"
#include "train/predictor.h"

DEFINE_string(net, "",
              "the NetDef to time (required): binary, or text if the name ends in .pbtxt; or an "
              "exported model (.mdl), whose inputs are zeros unless --input names them");
DEFINE_string(init_net, "", "the NetDef that makes the parameters");
DEFINE_string(input, "", "comma-separated names of input blobs to fill");
DEFINE_string(input_dims, "", "shapes of the input blobs, for example 1,3,224,224;1,10");
DEFINE_string(input_type, "float", "element type of the input blobs: float or uint8_t");
DEFINE_int32(iter, 10, "number of timed runs");
DEFINE_int32(warmup, 0, "number of runs before the timed ones");
DEFINE_bool(run_individual, false, "also time each operator");
DEFINE_bool(
    optimize, false,
    "time the net as predict and workspace.Predictor run it: batch normalization folded into "
    "filters, operators fused, images in NHWC between convolutions, filters converted once");

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

double Milliseconds(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

int64_t ParseDim(const std::string& text) {
  const bool number = !text.empty() && text.size() < 10 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  CheckUsage(number, "--input_dims: \"", text, "\" is not a size");
  return std::stoll(text);
}

void FeedInputs(Workspace* ws) {
  const std::vector<std::string> names = Split(FLAGS_input, ',');
  const std::vector<std::string> shapes = Split(FLAGS_input_dims, ';');
  CheckUsage(names.size() == shapes.size(),
             "--input and --input_dims must have the same number of items");
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<int64_t> dims;
    for (const std::string& dim : Split(shapes[i], ',')) dims.push_back(ParseDim(dim));
    Tensor* tensor = BlobGetMutableTensor(ws->CreateBlob(names[i]), Device{});
    tensor->Resize(dims);
    if (FLAGS_input_type == "float") {
      std::fill_n(tensor->mutable_data<float>(), tensor->numel(), 1.f);
    } else {
      CheckUsage(FLAGS_input_type == "uint8_t", "--input_type is \"", FLAGS_input_type,
                 "\", must be float or uint8_t");
      std::fill_n(tensor->mutable_data<uint8_t>(), tensor->numel(), uint8_t{1});
    }
  }
}

void TimeOperators(NetBase* net) {
  std::map<std::string, double> by_type;
  const auto& ops = net->operators();
  for (size_t i = 0; i < ops.size(); ++i) {
    const auto start = Clock::now();
    for (int n = 0; n < FLAGS_iter; ++n) ops[i]->Run();
    const double ms = Milliseconds(start) / FLAGS_iter;
    by_type[ops[i]->type()] += ms;
    std::printf("Operator #%zu (%s, %s) %.4f ms/iter\n", i, ops[i]->debug_def().name().c_str(),
                ops[i]->type().c_str(), ms);
  }
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [type, ms] : by_type) sorted.emplace_back(ms, type);
  std::sort(sorted.rbegin(), sorted.rend());
  for (const auto& [ms, type] : sorted) std::printf("%12.4f ms  %s\n", ms, type.c_str());
}

int Main() {
  CheckUsage(!FLAGS_net.empty(), "--net is needed");
  CheckUsage(FLAGS_iter > 0 && FLAGS_warmup >= 0, "--iter is ", FLAGS_iter, " and --warmup ",
             FLAGS_warmup, "; --iter must be positive and --warmup not negative");
  Workspace ws;
  if (!FLAGS_init_net.empty()) {
    CAFFE_ENFORCE(ws.RunNetOnce(ReadNetDef(FLAGS_init_net)), "the init net failed");
  }
  NetDef net_def =
      IsModelFile(FLAGS_net) ? LoadPredictor(FLAGS_net, &ws).net : ReadNetDef(FLAGS_net);
  FeedInputs(&ws);
  if (net_def.name().empty()) net_def.set_name("benchmark");
  if (FLAGS_optimize) {
    OptimizeForInference(&net_def, &ws);
  } else {
    LOG(INFO) << "the net is timed as it is; with --optimize it is timed as predict and "
                 "workspace.Predictor run it: batch normalization folded into filters, operators "
                 "fused, images in NHWC between convolutions, filters converted once";
  }
  NetBase* net = ws.CreateNet(net_def);
  for (int n = 0; n < FLAGS_warmup; ++n) CAFFE_ENFORCE(net->Run(), "the net failed");
  const auto start = Clock::now();
  for (int n = 0; n < FLAGS_iter; ++n) CAFFE_ENFORCE(net->Run(), "the net failed");
  const double ms = Milliseconds(start) / FLAGS_iter;
  std::printf("Main runs finished. Milliseconds per iter: %.4f. Iters per second: %.4f\n", ms,
              1e3 / ms);
  if (FLAGS_run_individual) TimeOperators(net);
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(
      &argc, &argv, "times a net (--net FILE [--init_net FILE --input NAMES --input_dims SHAPES])",
      caffe2::Main);
}
