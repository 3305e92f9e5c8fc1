// What every operator test uses: run one operator, compare it with a reference, check its gradient
// numerically and its shape inference against the real output.
//
// Each check notes what it covered; the registry test (registry_test.cc) fails for an operator
// type that no test covered.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"

namespace caffe2::testing {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;
using Longs = std::vector<int64_t>;
using Shape = std::vector<int64_t>;
using Strings = std::vector<std::string>;

// An operator definition; outputs and inputs by name, arguments from MakeArgument.
OperatorDef Op(const std::string& type, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs, const std::vector<Argument>& args = {});

// Feeds tensors to a workspace.
template <typename T>
void Feed(Workspace* ws, const std::string& name, const std::vector<int64_t>& dims,
          const std::vector<T>& values) {
  Tensor source(dims, values);
  BlobGetMutableTensor(ws->CreateBlob(name), Device{})->CopyFrom(source);
}
// Uniform float values in [low, high), from a fixed seed; `keep_away` from zero (kinks): values v
// with |v| < keep_away are moved out by sign.
std::vector<float> RandomValues(int64_t n, uint64_t seed, float low = -1.f, float high = 1.f,
                                float keep_away = 0.f);
void FeedRandom(Workspace* ws, const std::string& name, const std::vector<int64_t>& dims,
                uint64_t seed, float low = -1.f, float high = 1.f, float keep_away = 0.f);

// The tensor of a blob. Counts as looking at the result of the operator that RunOp let write it.
const Tensor& Fetch(const Workspace& ws, const std::string& name);
// For tests that read the blob in another way.
void NoteLookedAt(const Workspace& ws, const std::string& name);
template <typename T>
std::vector<T> FetchValues(const Workspace& ws, const std::string& name) {
  const Tensor& tensor = Fetch(ws, name);
  // Parentheses: in braces, two pointers would make a list of two bools.
  return std::vector<T>(tensor.data<T>(), tensor.data<T>() + tensor.numel());
}

// Runs the operator, and compares the shapes and types its schema infers with the real ones
// (outputs the schema leaves unknown are not compared, but the type counts as not covered then,
// unless `inference_optional`). Throws what the operator throws.
constexpr bool kInferenceOptional = true;
void RunOp(Workspace* ws, const OperatorDef& op, bool inference_optional = false);

// For tests that need image files other than JPEG: bundles (scripts/make_bundle.sh) leave their
// decoders out, and scripts/gpu_tests.sh then sets this variable.
#define SKIP_WITHOUT_IMAGE_FILES()                                       \
  if (std::getenv("CAFFE2_TEST_WITHOUT_IMAGE_FILES") != nullptr) {       \
    GTEST_SKIP() << "the decoders of image files are not in this build"; \
  }                                                                      \
  static_assert(true)

// RunOp, then output `name` must have shape and values within rtol * |expected| + atol.
void ExpectTensor(const Workspace& ws, const std::string& name, const std::vector<int64_t>& dims,
                  const std::vector<float>& expected, float rtol = 1e-5f, float atol = 1e-6f);

// Checks analytic gradients of sum(weight * output[out]) with respect to the float inputs
// `inputs_to_check` against central differences. The gradient operators come from the type's
// gradient maker. The weights are random, from a fixed seed. Every input must be fed. Outputs
// named in `outputs_with_gradient` (indices; default {0}) get a gradient.
struct GradientOptions {
  std::vector<int> outputs_with_gradient = {0};
  float step = 1e-2f;
  float threshold = 5e-3f;  // on |analytic - numeric| / max(1, |analytic|, |numeric|)
};
void CheckGradient(Workspace* ws, const OperatorDef& op, const std::vector<int>& inputs_to_check,
                   const GradientOptions& options = {});

// The operator must throw, with `text` in the message.
void ExpectThrows(Workspace* ws, const OperatorDef& op, const std::string& text);

// What tests have done with operators of a type.
struct Coverage {
  bool ran = false;          // by RunOp
  bool has_tensors = false;  // RunOp found a tensor among the outputs
  bool looked_at = false;    // a test has fetched an output that RunOp wrote, or a result of it
  bool gradient = false;
  bool inference = false;
};
const std::map<std::string, Coverage>& CoveredTypes();

}  // namespace caffe2::testing
