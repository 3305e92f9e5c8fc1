// What the executors cost: nets of one-element operators.
//
//   net_overhead [--operators 1000] [--runs 2000] [--workers 2]
//
// Prints nanoseconds per operator, median over runs: a chain of in-place Relu operators in a
// simple net, and independent operators in a parallel one.

#include <gflags/gflags.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "caffe2/core/workspace.h"

DEFINE_int32(operators, 1000, "operators in the net");
DEFINE_int32(runs, 2000, "timed runs");
DEFINE_int32(workers, 2, "workers of the parallel net");

namespace caffe2 {
namespace {

double MedianNanoseconds(const NetDef& def, Workspace* ws) {
  NetBase* net = ws->CreateNet(def, /*overwrite=*/true);
  std::vector<double> times;
  for (int i = 0; i < FLAGS_runs + 10; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    CAFFE_ENFORCE(net->Run());
    const std::chrono::duration<double, std::nano> elapsed =
        std::chrono::steady_clock::now() - begin;
    if (i >= 10) times.push_back(elapsed.count() / def.op_size());
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

void Feed(Workspace* ws, const std::string& name) {
  Tensor* tensor = BlobGetMutableTensor(ws->CreateBlob(name), Device{});
  tensor->Resize(1);
  *tensor->mutable_data<float>() = 1.f;
}

NetDef ReluNet(const std::string& type, bool independent, Workspace* ws) {
  NetDef net;
  net.set_name(type);
  net.set_type(type);
  net.set_num_workers(FLAGS_workers);
  for (int i = 0; i < FLAGS_operators; ++i) {
    const std::string blob = independent ? "x" + std::to_string(i) : "x";
    Feed(ws, blob);
    *net.add_op() = GradientMakerBase::CreateOperatorDef("Relu", "", {blob}, {blob});
  }
  return net;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  using namespace caffe2;
  Workspace ws;
  std::printf("simple, chain:         %6.1f ns/operator\n",
              MedianNanoseconds(ReluNet("simple", false, &ws), &ws));
  std::printf("dag, independent:      %6.1f ns/operator\n",
              MedianNanoseconds(ReluNet("dag", true, &ws), &ws));
  return 0;
}
