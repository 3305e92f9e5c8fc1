// Small image nets with random weights, for tests of passes that rewrite nets.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "caffe2/core/operator.h"
#include "caffe2/core/operator_gradient.h"
#include "caffe2/core/workspace.h"

namespace caffe2::testing {

// Builds a net layer by layer and makes its parameters in a workspace.
class ImageNetBuilder {
 public:
  ImageNetBuilder(Workspace* ws, const std::string& order, bool is_test);

  // The input blob, N x C x H x W in the builder's order, with random values.
  std::string Input(const std::string& blob, int batch, int channels, int size);
  // Each appends one operator and returns its output.
  std::string Conv(const std::string& x, const std::string& y, int in, int out, int kernel,
                   int stride = 1, bool bias = false);
  std::string Norm(const std::string& x, const std::string& y, int channels);
  std::string Relu(const std::string& x, const std::string& y);
  std::string Sum(const std::string& a, const std::string& b, const std::string& y);
  std::string AveragePool(const std::string& x, const std::string& y);
  std::string Fc(const std::string& x, const std::string& y, int in, int out);
  // conv-norm-relu-conv-norm with a shortcut (projected where the channels change), Sum and Relu.
  std::string ResidualBlock(const std::string& x, const std::string& prefix, int in, int out);

  NetDef& net() { return net_; }
  OperatorDef* Add(const std::string& type, const std::vector<std::string>& inputs,
                   const std::string& output);
  void Parameter(const std::string& blob, const std::vector<int64_t>& dims, float low, float high);

 private:
  Workspace* ws_;
  const std::string order_;
  const bool is_test_;
  uint64_t seed_ = 1;
  NetDef net_;
};

// Two residual blocks, the second with a projection, and a loss, in a workspace of its own.
struct ResidualNet {
  ResidualNet(const std::string& order, bool is_test);

  Workspace ws;
  ImageNetBuilder builder;
};

std::vector<std::string> TypesOf(const NetDef& net);
int CountType(const NetDef& net, const std::string& type);
// The blob's values as float, whatever its type.
std::vector<float> ValuesOf(const Workspace& ws, const std::string& blob);
using Gradients = std::map<std::string, GradientWrapper>;
// Compares the gradients of the external inputs of `net`, the expected ones in `expected_ws`, as
// ExpectClose does; returns how many there are.
int ExpectSameGradients(const NetDef& net, const Workspace& expected_ws, const Gradients& expected,
                        const Workspace& found_ws, const Gradients& found, float tolerance);
// |a - b| <= tolerance * max(1, max |b|), element by element.
void ExpectClose(const std::vector<float>& a, const std::vector<float>& b, float tolerance,
                 const std::string& what);

}  // namespace caffe2::testing
