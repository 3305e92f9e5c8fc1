// Every registered CPU operator must be documented and tested. The check runs after all other
// tests of this program, and only if none was filtered out: it looks at what they covered.

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/operator.h"
#include "caffe2/core/operator_gradient.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

// More inputs or outputs than this means any number.
constexpr int kMaxNamed = 64;

// Operator types whose output shapes cannot be known before they run, and why.
const std::map<std::string, std::string>& InferenceExempt() {
  static const std::map<std::string, std::string> exempt = {
      {"DequeueBlobs", "the shapes are in the records"},
      {"DequeueRebatchingQueue", "the shapes are in the records"},
      {"EnqueueBlobs", "it moves its inputs away"},
      {"FusedRandRowwiseQuantizedToFloat", "the width is in the bytes"},
      {"GetAllBlobNames", "the shape is the number of blobs"},
      {"Load", "the shapes are those in the file"},
      {"RecurrentNetworkGradient",
       "its last input is no tensor, and shapes are inferred from tensors only"},
      {"SafeDequeueBlobs", "the shapes are in the records"},
      {"SafeEnqueueBlobs", "it moves its inputs away"},
      {"TensorProtosDBInput", "the shapes are in the records"},
      {"WeightedSampleDequeueBlobs", "the shapes are in the records"},
  };
  return exempt;
}

// Operator types whose gradient cannot be checked numerically, and why. Their tests look at the
// gradient operators instead.
const std::map<std::string, std::string>& GradientExempt() {
  static const std::map<std::string, std::string> exempt = {
      {"FloatToHalf", "the output is no float"},
      {"HalfToFloat", "the input is no float"},
      {"LambdaRankNdcg", "as in Caffe2 the loss counts every pair twice, the gradient once"},
      {"NegateGradient", "the gradient is not that of the output"},
      {"SpatialBNFinalize", "its output stands for the normalized input; see norm_conv_op_test"},
      {"ZeroGradient", "it has no output"},
  };
  return exempt;
}

// Outputs that no test can compare with a value, and why. An entry whose output is compared after
// all fails the check.
const std::map<std::pair<std::string, int>, std::string>& NotCompared() {
  static const std::map<std::pair<std::string, int>, std::string> outputs = {
      {{"SafeEnqueueBlobs", 0}, "the record is moved into the queue"},
  };
  return outputs;
}

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool IsGradientType(const std::string& type) {
  return EndsWith(type, "Gradient") || EndsWith(type, "Grad");
}

// True if the gradient maker of `type` makes operators.
bool HasGradientOperators(const std::string& type) {
  const OperatorDef def;
  const std::vector<GradientWrapper> g_output;
  const auto maker = GradientRegistry()->Create(type, def, g_output);
  return maker != nullptr && dynamic_cast<NoGradient*>(maker.get()) == nullptr &&
         dynamic_cast<ThrowInTheTowel*>(maker.get()) == nullptr;
}

void CheckNames(const std::vector<OpSchema::Parameter>& parameters, int max, const char* what,
                std::vector<std::string>* complaints) {
  const int needed = max > kMaxNamed ? 1 : max;
  if (static_cast<int>(parameters.size()) < needed) {
    complaints->emplace_back(MakeString("names ", parameters.size(), " of ", needed, " ", what));
    return;
  }
  for (const OpSchema::Parameter& parameter : parameters) {
    if (parameter.name.empty() || parameter.description.empty()) {
      complaints->emplace_back(MakeString("has a nameless or undocumented entry in its ", what));
      return;
    }
  }
}

// Operators that never succeed; fail_op_test runs them.
bool FailsOnPurpose(const std::string& type) { return type == "Fail" || type == "ThrowException"; }

Coverage CoverageOf(const std::string& type) {
  const auto found = CoveredTypes().find(type);
  return found == CoveredTypes().end() ? Coverage() : found->second;
}

void CheckCoverage(const std::string& type, std::vector<std::string>* complaints) {
  if (FailsOnPurpose(type)) return;
  const Coverage coverage = CoverageOf(type);
  if (!coverage.ran) complaints->emplace_back("was run by no test (RunOp)");
  for (const int output : coverage.tensors) {
    if (coverage.compared.count(output) || NotCompared().count({type, output})) continue;
    complaints->emplace_back(MakeString("has output ", output,
                                        ", which no test compared with a value of its own "
                                        "(ExpectTensor, EXPECT_EQ of FetchValues, ExpectEach)"));
  }
  if (HasGradientOperators(type) && !coverage.gradient && GradientExempt().count(type) == 0) {
    complaints->emplace_back("has an unchecked gradient (CheckGradient)");
  }
  if (!coverage.inference && InferenceExempt().count(type) == 0) {
    complaints->emplace_back("has no, or unchecked, shape inference");
  }
}

// Operators of other folders are run by the tests of those folders.
bool IsTestedHere(const OpSchema& schema) {
  return schema.file().find("operators/") != std::string::npos;
}

std::vector<std::string> Complaints(const std::string& type) {
  const OpSchema* schema = OpSchemaRegistry::Schema(type);
  if (schema == nullptr) return {"has no schema"};
  std::vector<std::string> complaints;
  if (schema->doc().empty()) complaints.emplace_back("has no doc");
  CheckNames(schema->input_desc(), schema->max_input(), "inputs", &complaints);
  CheckNames(schema->output_desc(), schema->max_output(), "outputs", &complaints);
  if (!IsGradientType(type) && !GradientRegistry()->Has(type)) {
    complaints.emplace_back("has no gradient maker, NO_GRADIENT or SHOULD_NOT_DO_GRADIENT");
  }
  if (IsTestedHere(*schema)) CheckCoverage(type, &complaints);
  return complaints;
}

std::set<std::string> TypesOf(DeviceType device) {
  std::set<std::string> types;
  for (const std::string& key : DeviceOperatorRegistry(device)->Keys()) {
    types.insert(key.substr(0, key.find("_ENGINE_")));
  }
  return types;
}

// Why an output must not be exempt; "" if it may be.
std::string WhyStale(const std::string& type, int output) {
  const Coverage coverage = CoverageOf(type);
  if (coverage.tensors.count(output) && !coverage.compared.count(output)) return "";
  return MakeString("  ", type, " has output ", output,
                    " in NotCompared(), but it was compared, or never written\n");
}

// Exemptions that are needed no more.
std::string StaleExemptions() {
  std::string report;
  for (const auto& [output, reason] : NotCompared()) {
    report += WhyStale(output.first, output.second);
  }
  return report;
}

// With operators under test on a device: what has a version there must have run there.
std::string NotRunOnCuda() {
  std::string report;
  if (NumDevices(CUDA) == 0) return report;
  for (const std::string& type : TypesOf(CUDA)) {
    const OpSchema* schema = OpSchemaRegistry::Schema(type);
    if (schema == nullptr || !IsTestedHere(*schema)) continue;  // HostFallback stands for others
    const auto found = CoveredTypes().find(type);
    if (found == CoveredTypes().end() || !found->second.ran) report += "  " + type + "\n";
  }
  return report;
}

class RegistryCheck : public ::testing::Environment {
 public:
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*" || std::getenv("GTEST_TOTAL_SHARDS") != nullptr) return;
    if (TestsCuda()) {
      const std::string missing = NotRunOnCuda();
      EXPECT_TRUE(missing.empty()) << "CUDA operators that no test ran:\n" << missing;
      return;
    }
    std::string report = StaleExemptions();
    for (const std::string& type : TypesOf(CPU)) {
      for (const std::string& complaint : Complaints(type)) {
        report += "  " + type + " " + complaint + "\n";
      }
    }
    EXPECT_TRUE(report.empty()) << "Operators that lack something:\n" << report;
  }
};

TEST(RegistryTest, OperatorsThatReadOnlyAShapeSayNothingOfValues) {
  Workspace ws;
  RunOp(&ws, Op("ConstantFill", {}, {"X"}, {MakeArgument("shape", std::vector<int>{2})}));
  RunOp(&ws, Op("Relu", {"X"}, {"Y"}));
  RunOp(&ws, Op("Shape", {"Y"}, {"S"}));
  RunOp(&ws, Op("ConstantFill", {"Y"}, {"Z"}));
  RunOp(&ws, Op("ResizeLike", {"X", "Y"}, {"R"}));
  const std::pair<std::string, int> fill{"ConstantFill", 0};
  EXPECT_EQ(OriginOf(ws, "Y").made_from, Outputs{fill});
  EXPECT_EQ(OriginOf(ws, "S").made_from, Outputs{});
  EXPECT_EQ(OriginOf(ws, "Z").made_from, Outputs{});
  EXPECT_EQ(OriginOf(ws, "R").made_from, Outputs{fill});
  EXPECT_EQ(OriginOf(ws, "S").own, (Outputs{{"Shape", 0}}));
}

const auto* const kRegistryCheck = ::testing::AddGlobalTestEnvironment(new RegistryCheck);

}  // namespace
}  // namespace caffe2::testing
