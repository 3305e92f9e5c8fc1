// What every operator test uses: run one operator, compare it with a reference, check its gradient
// numerically and its shape inference against the real output.
//
// Each check notes what it covered. The registry test (registry_test.cc) fails for an operator type
// that no test covered, or one of whose outputs no test compared with a value that another operator
// or the test itself has computed.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "caffe2/core/half.h"
#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"

namespace caffe2::testing {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;
using Longs = std::vector<int64_t>;
using Flags = std::vector<bool>;
using Shape = std::vector<int64_t>;
using Strings = std::vector<std::string>;

// An operator definition; outputs and inputs by name, arguments from MakeArgument.
OperatorDef Op(const std::string& type, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs, const std::vector<Argument>& args = {});

// Feeds tensors to a workspace.
void ForgetOrigin(const Workspace& ws, const std::string& name);  // no operator has written it
template <typename T>
void Feed(Workspace* ws, const std::string& name, const std::vector<int64_t>& dims,
          const std::vector<T>& values) {
  ForgetOrigin(*ws, name);
  Tensor source(dims, values);
  BlobGetMutableTensor(ws->CreateBlob(name), Device{})->CopyFrom(source);
}
// Uniform float values in [low, high), from a fixed seed; `keep_away` from zero (kinks): values v
// with |v| < keep_away are moved out by sign.
std::vector<float> RandomValues(int64_t n, uint64_t seed, float low = -1.f, float high = 1.f,
                                float keep_away = 0.f);
void FeedRandom(Workspace* ws, const std::string& name, const std::vector<int64_t>& dims,
                uint64_t seed, float low = -1.f, float high = 1.f, float keep_away = 0.f);

// The tensor of a blob.
const Tensor& Fetch(const Workspace& ws, const std::string& name);

// The outputs whose values a blob holds, as far as RunOp wrote it in this test: the one that was
// written there, and the ones from which it was made. An output is an operator type and an index.
using Outputs = std::set<std::pair<std::string, int>>;
struct Origin {
  Outputs own, made_from;
};
Origin OriginOf(const Workspace& ws, const std::string& name);
// Notes that a test has compared the values with something that the operators which made them have
// not computed. The functions below call this; a test that compares in another way does.
void NoteCompared(const Origin& origin);
void NoteCompared(const Workspace& ws, const std::string& name);  // an empty blob does not count
// The same for values that were compared with each other: notes nothing for an output that both
// have from the same type of operator.
void NoteCompared(const Origin& a, const Origin& b);

// The values of a blob. Comparing them with == (EXPECT_EQ) calls NoteCompared, unless there are
// none; that they differ from others (EXPECT_NE) says nothing about what they are.
template <typename T>
struct Fetched : std::vector<T> {
  Fetched(std::vector<T> values, const Workspace& ws, const std::string& blob)
      : std::vector<T>(std::move(values)), name(blob), origin(OriginOf(ws, blob)) {}
  std::string name;
  Origin origin;
};
template <typename T>
bool operator==(const Fetched<T>& a, const std::vector<T>& b) {
  if (!a.empty()) NoteCompared(a.origin);
  return static_cast<const std::vector<T>&>(a) == b;
}
template <typename T>
bool operator==(const Fetched<T>& a, const Fetched<T>& b) {
  if (!a.empty()) NoteCompared(a.origin, b.origin);
  return static_cast<const std::vector<T>&>(a) == static_cast<const std::vector<T>&>(b);
}
template <typename T>
bool operator==(const std::vector<T>& a, const Fetched<T>& b) {
  return b == a;
}
template <typename T>
bool operator!=(const Fetched<T>& a, const std::vector<T>& b) {
  return static_cast<const std::vector<T>&>(a) != b;
}
template <typename T>
bool operator!=(const Fetched<T>& a, const Fetched<T>& b) {
  return a != static_cast<const std::vector<T>&>(b);
}
template <typename T>
Fetched<T> FetchValues(const Workspace& ws, const std::string& name) {
  const Tensor& tensor = Fetch(ws, name);
  // Parentheses: in braces, two pointers would make a list of two bools.
  return {std::vector<T>(tensor.data<T>(), tensor.data<T>() + tensor.numel()), ws, name};
}

// holds(value, index) must be true for each element of the blob.
template <typename T, class Predicate>
void ExpectEach(const Workspace& ws, const std::string& name, const Predicate& holds) {
  const Fetched<T> values = FetchValues<T>(ws, name);
  if (!values.empty()) NoteCompared(values.origin);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_TRUE(holds(values[i], static_cast<int64_t>(i)))
        << name << "[" << i << "] is " << ::testing::PrintToString(T(values[i]));
  }
}

// Each value must lie within rtol * |expected| + atol. For types other than float and for tests
// that check the shape elsewhere; see ExpectTensor.
template <typename T, typename E = double>
void ExpectNear(const Fetched<T>& found, const std::vector<E>& expected, double atol,
                double rtol = 0) {
  if (!found.empty()) NoteCompared(found.origin);
  ASSERT_EQ(found.size(), expected.size()) << "size of " << found.name;
  for (size_t i = 0; i < expected.size(); ++i) {
    double value;
    if constexpr (std::is_arithmetic_v<T>) {
      value = static_cast<double>(found[i]);
    } else {
      value = ToFloat(found[i]);
    }
    ASSERT_NEAR(value, expected[i], rtol * std::abs(expected[i]) + atol)
        << found.name << "[" << i << "]";
  }
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
// The same for values of a blob, which count as compared with each other.
void ExpectTensor(const Workspace& ws, const std::string& name, const std::vector<int64_t>& dims,
                  const Fetched<float>& expected, float rtol = 1e-5f, float atol = 1e-6f);

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
  bool ran = false;                 // by RunOp
  std::set<int> tensors, compared;  // outputs: RunOp has found a tensor, a test has compared it
  bool gradient = false;
  bool inference = false;
};
const std::map<std::string, Coverage>& CoveredTypes();

}  // namespace caffe2::testing
