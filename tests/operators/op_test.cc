#include "tests/operators/op_test.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/operator_gradient.h"
#include "caffe2/core/random.h"
#include "caffe2/core/tensor_int8.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

constexpr uint64_t kWeightSeed = 4242;

std::map<std::string, Coverage>& MutableCoverage() {
  static std::map<std::string, Coverage> coverage;
  return coverage;
}

// The origins of the blobs of a test: the next may have a workspace at the same address.
std::map<std::pair<const Workspace*, std::string>, Origin>& Origins() {
  static std::map<std::pair<const Workspace*, std::string>, Origin> origins;
  static const ::testing::TestInfo* test = nullptr;
  const ::testing::TestInfo* current = ::testing::UnitTest::GetInstance()->current_test_info();
  if (test != current) origins.clear();
  test = current;
  return origins;
}

void NoteOutputs(const Outputs& outputs, const Outputs& except = {}) {
  for (const auto& [type, output] : outputs) {
    if (!except.count({type, output})) MutableCoverage()[type].compared.insert(output);
  }
}

const Tensor& TensorOf(const Workspace& ws, const std::string& name) {
  const Blob* blob = ws.GetBlob(name);
  CAFFE_ENFORCE(blob != nullptr, "no blob ", name);
  return blob->Get<Tensor>();
}

bool HasCudaVersion(const std::string& type) {
  const auto* registry = DeviceOperatorRegistry(CUDA);
  return registry->Has(type) || registry->Has(type + "_ENGINE_CUDNN");
}

// Without a device: skips the test, which is a failure where REQUIRE_GPU=1 says that there is one.
void SkipWithoutDevice() {
  const char* required = std::getenv("REQUIRE_GPU");
  if (required != nullptr && std::string(required) == "1") {
    FAIL() << "REQUIRE_GPU=1, but: " << DeviceProblem(CUDA);
  }
  GTEST_SKIP() << "no CUDA device: " << DeviceProblem(CUDA);
}
void SkipWithoutVersion(const std::string& type) { GTEST_SKIP() << type << " has no CUDA version"; }
void SkipForNet(const std::string& type) { GTEST_SKIP() << type << " is tested in a net there"; }

// Operators that keep workspaces for nets, which refer to the workspace around them: they and their
// gradients share one, so that tests of nets run them on devices.
bool NeedsNet(const std::string& type) { return type.rfind("RecurrentNetwork", 0) == 0; }

// A copy of the blob's tensor on the device; text stays on the host.
void CopyToDevice(const Tensor* tensor, Blob* destination) {
  const bool plain = !tensor->dtype() || tensor->dtype().copy() == nullptr;
  const Device device = plain ? Device{CUDA, 0} : Device{};
  BlobGetMutableTensor(destination, device)->CopyFrom(*tensor);
}

// Copies an output back; one that shares storage with an input there does so here.
void CopyToHost(const Tensor& tensor, const std::string& name, const OperatorDef& op,
                const Workspace& device_ws, Workspace* ws) {
  Tensor* host = BlobGetMutableTensor(ws->CreateBlob(name), Device{});
  for (const std::string& input : op.input()) {
    const Tensor* source = BlobTensor(*device_ws.GetBlob(input));
    if (input != name && source != nullptr && source->shares_storage_with(tensor) &&
        source->numel() == tensor.numel()) {
      host->ShareData(ws->GetBlob(input)->Get<Tensor>());
      return;
    }
  }
  host->CopyFrom(tensor);
}

void RunOnCuda(Workspace* ws, OperatorDef op) {
  Workspace device_ws(ws);  // objects that are no tensors stay where they are
  for (const std::string& name : op.input()) {
    const Blob* blob = ws->GetBlob(name);
    const Tensor* tensor = blob != nullptr ? BlobTensor(*blob) : nullptr;
    if (tensor != nullptr) CopyToDevice(tensor, device_ws.CreateLocalBlob(name));
  }
  for (const std::string& name : op.output()) device_ws.CreateLocalBlob(name);
  op.mutable_device_option()->set_device_type(CUDA);
  CAFFE_ENFORCE(device_ws.RunOperatorOnce(op), op.type(), " returned false");
  for (const std::string& name : op.output()) {
    Blob* blob = device_ws.GetBlob(name);
    if (const Tensor* tensor = BlobTensor(*blob)) {
      CopyToHost(*tensor, name, op, device_ws, ws);
    } else {
      ws->CreateBlob(name)->swap(*blob);
    }
  }
}

// Text exists in host memory only.
bool IsAboutText(const Workspace& ws, const OperatorDef& op) {
  for (const std::string& name : op.input()) {
    const Blob* blob = ws.GetBlob(name);
    const Tensor* tensor = blob != nullptr ? BlobTensor(*blob) : nullptr;
    if (tensor != nullptr && tensor->IsType<std::string>()) return true;
  }
  for (const Argument& argument : op.arg()) {
    if (argument.name() == "dtype" && argument.i() == TensorProto::STRING) return true;
  }
  return false;
}

// Runs the operator on the device under test, or else on the host; false if it was to run on a
// device and did not.
bool RunOnTestDevice(Workspace* ws, const OperatorDef& op) {
  if (TestsCuda() && !IsAboutText(*ws, op)) {
    if (NumDevices(CUDA) == 0) {
      SkipWithoutDevice();
    } else if (!HasCudaVersion(op.type())) {
      SkipWithoutVersion(op.type());
    } else if (NeedsNet(op.type())) {
      SkipForNet(op.type());
    } else {
      RunOnCuda(ws, op);
      return true;
    }
  }
  CAFFE_ENFORCE(ws->RunOperatorOnce(op), op.type(), " returned false");
  return !TestsCuda();
}

// What the schema says the outputs will be; empty if there is none.
std::vector<TensorShape> InferOutputs(const Workspace& ws, const OperatorDef& op) {
  const OpSchema* schema = OpSchemaRegistry::Schema(op.type());
  if (schema == nullptr) return {};
  std::vector<TensorShape> inputs;
  for (const std::string& name : op.input()) {
    const Blob* blob = ws.GetBlob(name);
    inputs.push_back(blob != nullptr ? GetTensorShapeOfBlob(*blob) : UnknownTensorShape());
  }
  std::vector<TensorShape> outputs = schema->InferTensor(op, inputs);
  EXPECT_EQ(static_cast<int>(outputs.size()), op.output_size())
      << op.type() << " infers another number of outputs than it has";
  return outputs;
}

// True if every output was inferred. Wrong shapes and types are test failures.
bool CompareWithInferred(const Workspace& ws, const OperatorDef& op,
                         const std::vector<TensorShape>& inferred) {
  if (static_cast<int>(inferred.size()) != op.output_size()) return false;
  bool complete = true;
  for (int i = 0; i < op.output_size(); ++i) {
    const Tensor* output = BlobPlainOrInt8Tensor(*ws.GetBlob(op.output(i)));
    if (!OpSchemaRegistry::Schema(op.type())->is_tensor_output(i)) {
      EXPECT_EQ(output, nullptr) << op.type() << ": output " << i << " is a tensor after all";
      continue;
    }
    if (inferred[i].unknown_shape() || output == nullptr) {
      complete = false;
      continue;
    }
    EXPECT_EQ(GetDimsVector(inferred[i]), output->sizes())
        << op.type() << ": inferred and real shape of output " << i << " (" << op.output(i) << ")";
    if (inferred[i].data_type() == TensorProto::UNDEFINED) continue;
    EXPECT_EQ(TensorProto::DataType_Name(inferred[i].data_type()),
              TensorProto::DataType_Name(TypeMetaToDataType(output->dtype())))
        << op.type() << ": inferred and real type of output " << i << " (" << op.output(i) << ")";
  }
  return complete;
}

// True if the operator reads of input i the shape alone, or not even that. Its outputs then say
// nothing about the values of the input.
bool IgnoresValues(const OperatorDef& op, int i) {
  static const std::set<std::pair<std::string, int>> ignored = {
      {"Shape", 0},      {"Size", 0},          {"HasElements", 0},      {"IsEmpty", 0},
      {"ResizeLike", 1}, {"SumReduceLike", 1}, {"CopyOnDeviceLike", 1}, {"ZeroGradient", 0},
  };
  if (ignored.count({op.type(), i})) return true;
  const std::string fill = "Fill";
  const bool fills = op.type().size() > fill.size() &&
                     op.type().compare(op.type().size() - fill.size(), fill.size(), fill) == 0;
  return fills && op.type() != "LengthsRangeFill" &&
         !ArgumentHelper(op).GetSingleArgument<bool>("input_as_shape", false);
}

// Notes which outputs `op` has written, as far as tensors go.
void NoteOrigins(const Workspace& ws, const OperatorDef& op, bool ran) {
  Outputs made_from;
  for (int i = 0; i < op.input_size(); ++i) {
    if (IgnoresValues(op, i)) continue;
    const Origin origin = OriginOf(ws, op.input(i));
    made_from.insert(origin.own.begin(), origin.own.end());
    made_from.insert(origin.made_from.begin(), origin.made_from.end());
  }
  for (int i = 0; i < op.output_size(); ++i) {
    Origins()[{&ws, op.output(i)}] = {{{op.type(), i}}, made_from};
    if (ran && BlobPlainOrInt8Tensor(*ws.GetBlob(op.output(i))) != nullptr) {
      MutableCoverage()[op.type()].tensors.insert(i);
    }
  }
}

void FeedTensor(Workspace* ws, const std::string& name, const Tensor& tensor) {
  BlobGetMutableTensor(ws->CreateBlob(name), Device{})->CopyFrom(tensor);
}

double WeightedSum(const Tensor& values, const std::vector<float>& weights) {
  const float* data = values.data<float>();
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) sum += static_cast<double>(data[i]) * weights[i];
  return sum;
}

// The blob will be compared with a numeric gradient, which says nothing about the blobs that it was
// made from.
void NoteOwnCompared(const Workspace& ws, const std::string& name) {
  NoteOutputs(OriginOf(ws, name).own);
}

// The gradient of an input as a dense array, whichever form the maker gave it.
std::vector<float> DenseGradient(const Workspace& ws, const GradientWrapper& gradient,
                                 const Tensor& input) {
  if (gradient.IsDense()) {
    NoteOwnCompared(ws, gradient.dense);
    EXPECT_EQ(Fetch(ws, gradient.dense).sizes(), input.sizes()) << gradient.dense;
    return FetchValues<float>(ws, gradient.dense);
  }
  NoteOwnCompared(ws, gradient.indices);
  NoteOwnCompared(ws, gradient.values);
  std::vector<float> dense(input.numel(), 0.f);
  const Tensor& indices = Fetch(ws, gradient.indices);
  const std::vector<float> values = FetchValues<float>(ws, gradient.values);
  const int64_t row = input.size_from_dim(1);
  for (int64_t i = 0; i < indices.numel(); ++i) {
    const int64_t index =
        indices.IsType<int>() ? indices.data<int>()[i] : indices.data<int64_t>()[i];
    for (int64_t j = 0; j < row; ++j) dense.at(index * row + j) += values.at(i * row + j);
  }
  return dense;
}

// Runs one operator many times from the same inputs, for numeric gradients.
class Differentiator {
 public:
  Differentiator(Workspace* ws, const OperatorDef& op, const GradientOptions& options)
      : ws_(ws), op_(op), options_(options) {
    for (const std::string& name : op.input()) {
      if (const Tensor* tensor = BlobTensor(*ws->GetBlob(name))) {
        saved_.emplace(name, Tensor(CPU)).first->second.CopyFrom(*tensor);
      }
    }
    RunOp(ws_, op_, true);
    for (int i : options.outputs_with_gradient) {
      const int64_t n = TensorOf(*ws, op.output(i)).numel();
      weights_.push_back(RandomValues(n, kWeightSeed + i, 0.2f, 1.f));
    }
  }

  const Tensor& input(int i) const { return saved_.at(op_.input(i)); }

  // Runs the gradient operators on the outputs that are in the workspace now.
  GradientOpsMeta RunGradient() {
    std::vector<GradientWrapper> g_output(op_.output_size());
    for (size_t k = 0; k < weights_.size(); ++k) {
      const int i = options_.outputs_with_gradient[k];
      g_output[i].dense = op_.output(i) + "_grad";
      Feed(ws_, g_output[i].dense, TensorOf(*ws_, op_.output(i)).sizes(), weights_[k]);
    }
    GradientOpsMeta meta = GetGradientForOp(op_, g_output);
    for (const OperatorDef& gradient_op : meta.ops) RunOp(ws_, gradient_op);
    return meta;
  }

  void RestoreInputs() {
    for (const auto& [name, tensor] : saved_) FeedTensor(ws_, name, tensor);
  }

  // The loss with element `index` of input `i` moved by `delta`.
  double LossAt(int i, int64_t index, float delta) {
    RestoreInputs();
    const std::string& name = op_.input(i);
    BlobGetMutableTensor(ws_->GetBlob(name), Device{})->mutable_data<float>()[index] += delta;
    CAFFE_ENFORCE(ws_->RunOperatorOnce(op_), op_.type(), " returned false");
    double loss = 0;
    for (size_t k = 0; k < weights_.size(); ++k) {
      loss +=
          WeightedSum(TensorOf(*ws_, op_.output(options_.outputs_with_gradient[k])), weights_[k]);
    }
    return loss;
  }

 private:
  Workspace* ws_;
  const OperatorDef& op_;
  const GradientOptions& options_;
  std::map<std::string, Tensor> saved_;
  std::vector<std::vector<float>> weights_;
};

}  // namespace

bool TestsCuda() {
  static const bool cuda = [] {
    const char* device = std::getenv("CAFFE2_TEST_DEVICE");
    return device != nullptr && std::string(device) == "cuda";
  }();
  return cuda;
}

OperatorDef Op(const std::string& type, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs, const std::vector<Argument>& args) {
  return GradientMakerBase::CreateOperatorDef(type, "", inputs, outputs, args);
}

std::vector<float> RandomValues(int64_t n, uint64_t seed, float low, float high, float keep_away) {
  RandomGenerator random(seed);
  std::vector<float> values(n);
  for (float& value : values) {
    value = low + (high - low) * random.Uniform();
    if (std::abs(value) < keep_away) value = std::copysign(keep_away, value);
  }
  return values;
}

void FeedRandom(Workspace* ws, const std::string& name, const std::vector<int64_t>& dims,
                uint64_t seed, float low, float high, float keep_away) {
  Feed(ws, name, dims, RandomValues(CheckedNumel(dims), seed, low, high, keep_away));
}

void ForgetOrigin(const Workspace& ws, const std::string& name) { Origins().erase({&ws, name}); }

Origin OriginOf(const Workspace& ws, const std::string& name) {
  const auto found = Origins().find({&ws, name});
  return found == Origins().end() ? Origin() : found->second;
}

void NoteCompared(const Origin& origin) {
  NoteOutputs(origin.own);
  NoteOutputs(origin.made_from);
}

void NoteCompared(const Workspace& ws, const std::string& name) {
  if (BlobPlainOrInt8Tensor(*ws.GetBlob(name))->numel() > 0) NoteCompared(OriginOf(ws, name));
}

void NoteCompared(const Origin& a, const Origin& b) {
  NoteOutputs(a.own, b.own);
  NoteOutputs(b.own, a.own);
}

const Tensor& Fetch(const Workspace& ws, const std::string& name) { return TensorOf(ws, name); }

void RunOp(Workspace* ws, const OperatorDef& op, bool inference_optional) {
  const std::vector<TensorShape> inferred = InferOutputs(*ws, op);
  const bool ran = RunOnTestDevice(ws, op);
  Coverage& coverage = MutableCoverage()[op.type()];
  coverage.ran = coverage.ran || ran;
  if (CompareWithInferred(*ws, op, inferred) || inference_optional) coverage.inference = true;
  NoteOrigins(*ws, op, ran);
}

namespace {

void CompareTensor(const Workspace& ws, const std::string& name, const std::vector<int64_t>& dims,
                   const std::vector<float>& expected, float rtol, float atol) {
  const Tensor& tensor = Fetch(ws, name);
  EXPECT_EQ(tensor.sizes(), dims) << "shape of " << name;
  ASSERT_EQ(tensor.numel(), static_cast<int64_t>(expected.size())) << "size of " << name;
  const float* actual = tensor.data<float>();
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << name << "[" << i << "] is " << actual[i];
    } else if (actual[i] != expected[i]) {  // equal infinities have no difference
      EXPECT_NEAR(actual[i], expected[i], rtol * std::abs(expected[i]) + atol)
          << name << "[" << i << "]";
    }
  }
}

}  // namespace

void ExpectTensor(const Workspace& ws, const std::string& name, const std::vector<int64_t>& dims,
                  const std::vector<float>& expected, float rtol, float atol) {
  NoteCompared(ws, name);
  CompareTensor(ws, name, dims, expected, rtol, atol);
}

void ExpectTensor(const Workspace& ws, const std::string& name, const std::vector<int64_t>& dims,
                  const Fetched<float>& expected, float rtol, float atol) {
  if (!expected.empty()) NoteCompared(OriginOf(ws, name), expected.origin);
  CompareTensor(ws, name, dims, expected, rtol, atol);
}

void CheckGradient(Workspace* ws, const OperatorDef& op, const std::vector<int>& inputs_to_check,
                   const GradientOptions& options) {
  Differentiator differentiator(ws, op, options);
  const GradientOpsMeta meta = differentiator.RunGradient();
  // All analytic gradients first: an in-place operator reuses their blobs.
  std::vector<std::vector<float>> analytic;
  for (int i : inputs_to_check) {
    ASSERT_LT(i, static_cast<int>(meta.g_input.size()));
    ASSERT_FALSE(meta.g_input[i].IsEmpty()) << op.type() << ": no gradient for input " << i;
    analytic.push_back(DenseGradient(*ws, meta.g_input[i], differentiator.input(i)));
  }
  for (size_t k = 0; k < inputs_to_check.size(); ++k) {
    const int i = inputs_to_check[k];
    ASSERT_EQ(static_cast<int64_t>(analytic[k].size()), differentiator.input(i).numel());
    for (size_t j = 0; j < analytic[k].size(); ++j) {
      const double up = differentiator.LossAt(i, j, options.step);
      const double down = differentiator.LossAt(i, j, -options.step);
      const double numeric = (up - down) / (2.0 * options.step);
      const double scale = std::max({1.0, std::abs(numeric), std::abs(double{analytic[k][j]})});
      EXPECT_LE(std::abs(numeric - analytic[k][j]) / scale, options.threshold)
          << op.type() << ": gradient of input " << i << " (" << op.input(i) << ") at " << j
          << ": analytic " << analytic[k][j] << ", numeric " << numeric;
    }
  }
  differentiator.RestoreInputs();
  MutableCoverage()[op.type()].gradient = true;
}

void ExpectThrows(Workspace* ws, const OperatorDef& op, const std::string& text) {
  try {
    RunOnTestDevice(ws, op);
    ADD_FAILURE() << op.type() << " did not throw; expected \"" << text << "\"";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos)
        << "expected \"" << text << "\" in: " << error.what();
  }
}

void NoteRan(const std::string& type) { MutableCoverage()[type].ran = true; }

const std::map<std::string, Coverage>& CoveredTypes() { return MutableCoverage(); }

}  // namespace caffe2::testing
