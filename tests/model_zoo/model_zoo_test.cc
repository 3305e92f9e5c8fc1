// Models trained and saved by Caffe2 must give here what they gave there.
#include <cmath>
#include <ostream>

#include "caffe2/core/operator.h"
#include "caffe2/utils/net_io.h"
#include "tests/model_zoo/model_data.h"

namespace caffe2::testing {
namespace {

TEST(ModelZooTest, SqueezeNetRecognizesPhotographs) {
  REQUIRE_TEST_DATA();
  Model model("squeezenet/init_net.pb", "squeezenet/predict_net.pb");
  const LabelledImages images = ReadImageNetSample(227, {104, 117, 123});
  ASSERT_EQ(images.size(), 300);
  EXPECT_NEAR(model.CountCorrect(images, "data", 50), 193, 4);
}

TEST(ModelZooTest, ResNet32RecognizesCifar10) {
  REQUIRE_TEST_DATA();
  Model model("resnet32_cifar10/init_net.pb", "resnet32_cifar10/predict_net.pb");
  const LabelledImages images =
      ReadCifarTest({113.865f, 122.95f, 125.307f}, {66.7048f, 62.0887f, 62.9932f});
  ASSERT_EQ(images.size(), 1000);
  EXPECT_NEAR(model.CountCorrect(images, "data", 100), 917, 2);
}

TEST(ModelZooTest, LeNetRecognizesMnist) {
  REQUIRE_TEST_DATA();
  Model model("lenet_mnist/init_net.pb", "lenet_mnist/predict_net.pb");
  EXPECT_NEAR(model.CountCorrect(ReadMnistTest(1 / 256.f), "data", 500), 9570, 3);
}

TEST(ModelZooTest, PredictorExportLoadsByName) {
  REQUIRE_TEST_DATA();
  Model model("lenet_mnist/init_net.pb", "lenet_mnist/predict_net.pb");
  // The parameters must come from the database: zeros overwrite what the init net made.
  const std::vector<std::string> parameters(model.net().external_input().begin(),
                                            model.net().external_input().end());
  OperatorDef load;
  load.set_type("Load");
  for (const std::string& name : parameters) {
    if (name == "data") continue;
    std::fill_n(model.ws().GetBlob(name)->GetMutable<Tensor>()->mutable_data<float>(),
                model.ws().GetBlob(name)->Get<Tensor>().numel(), 0.f);
    load.add_output(name);
  }
  SetArgument(&load, "db", DataPath("caffe2_models/lenet_mnist/mnist_model.minidb"));
  SetArgument(&load, "db_type", std::string("minidb"));
  SetArgument(&load, "absolute_path", 1);
  if (DevicesOf("Load").empty()) GTEST_SKIP() << "there is no Load operator";
  ASSERT_TRUE(model.ws().RunOperatorOnce(load));
  EXPECT_NEAR(model.CountCorrect(ReadMnistTest(1 / 256.f), "data", 500), 9570, 3);
}

TEST(ModelZooTest, OnnxLeNetRecognizesMnist) {
  REQUIRE_TEST_DATA();
  Model model("lenet_mnist_onnx/init_net.pb", "lenet_mnist_onnx/predict_net.pb");
  EXPECT_NEAR(model.CountCorrect(ReadMnistTest(1 / 255.f), "1", 500), 9904, 3);
}

// What the operators of a model need and this build lacks.
std::set<std::string> MissingOperators(const NetDef& net) {
  std::set<std::string> missing;
  for (const OperatorDef& op : net.op()) {
    if (DevicesOf(op.type()).empty()) missing.insert(op.type());
  }
  return missing;
}

std::string Join(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Nets without labelled data: the output must have its shape, be finite and depend on the input.
struct Sample {
  friend void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.name; }
  std::string name, init, predict, input;
  std::vector<int64_t> input_shape, output_shape;
};

class SampleModelTest : public ::testing::TestWithParam<Sample> {};

Tensor Ramp(const std::vector<int64_t>& shape, float scale) {
  Tensor tensor(shape, CPU);
  float* data = tensor.mutable_data<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    data[i] = scale * std::sin(static_cast<float>(i % 9973));
  }
  return tensor;
}

TEST_P(SampleModelTest, Runs) {
  REQUIRE_TEST_DATA();
  const Sample& sample = GetParam();
  Model model(sample.init, sample.predict);
  const std::set<std::string> missing = MissingOperators(model.net());
  if (!missing.empty()) GTEST_SKIP() << "not implemented: " << Join(missing);
  model.Create(sample.input, Ramp(sample.input_shape, 1.f));
  const Tensor& output = model.Run(Ramp(sample.input_shape, 1.f));
  EXPECT_EQ(output.sizes(), sample.output_shape);
  const std::vector<float> first(output.data<float>(), output.data<float>() + output.numel());
  double difference = 0;
  const float* second = model.Run(Ramp(sample.input_shape, 0.5f)).data<float>();
  for (size_t i = 0; i < first.size(); ++i) {
    ASSERT_TRUE(std::isfinite(first[i])) << i;
    difference += std::fabs(first[i] - second[i]);
  }
  EXPECT_GT(difference, 0);
}

INSTANTIATE_TEST_SUITE_P(Models, SampleModelTest,
                         ::testing::Values(Sample{"Mtcnn",
                                                  "mtcnn_pnet/init_net.pb",
                                                  "mtcnn_pnet/predict_net.pb",
                                                  "data",
                                                  {1, 3, 12, 12},
                                                  {1, 2, 1, 1}},
                                           Sample{"Segmentation",
                                                  "segmentation_mobilenet/mobileNetInit.pb",
                                                  "segmentation_mobilenet/mobileNetPredict.pb",
                                                  "data",
                                                  {1, 3, 224, 224},
                                                  {1, 2, 29, 29}},
                                           Sample{"SuperResolution",
                                                  "super_resolution_onnx/init_net.pb",
                                                  "super_resolution_onnx/predict_net.pb",
                                                  "1",
                                                  {1, 1, 224, 224},
                                                  {1, 1, 672, 672}}),
                         [](const auto& info) { return info.param.name; });

// Its running statistics were saved with one element instead of one a channel.
TEST(ModelZooTest, IncompleteStatisticsAreNamed) {
  REQUIRE_TEST_DATA();
  Model model("perception_cnn/init_net.pb", "perception_cnn/predict_net.pb");
  const Tensor input = Ramp({2, 9, 64, 64}, 1.f);
  model.Create("in", input);
  try {
    model.Run(input);
    FAIL() << "statistics of one element were taken for five channels";
  } catch (const EnforceNotMet& error) {
    EXPECT_NE(std::string(error.what()).find("conv1_rm"), std::string::npos) << error.what();
  }
}

// Shape inference over every net file that is there. Operators that are not implemented leave
// unknown shapes and are listed.
class ShapeInferenceTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ShapeInferenceTest, KnowsEveryBlob) {
  REQUIRE_TEST_DATA();
  const NetDef net = ReadNetDef(DataPath("caffe2_models/" + GetParam()));
  ASSERT_GT(net.op_size(), 0);
  const std::set<std::string> missing = MissingOperators(net);
  if (!missing.empty()) std::printf("not implemented: %s\n", Join(missing).c_str());
  EXPECT_NO_THROW(InferBlobShapesAndTypes({}, {&net}));
}

INSTANTIATE_TEST_SUITE_P(
    Files, ShapeInferenceTest,
    ::testing::Values("predict_only/alexnet_predict.pb", "predict_only/shufflenet_predict.pb",
                      "predict_only/squeezenet_no_dropout_predict.pb",
                      "predict_only/squeezenet_onnx_predict.pb",
                      "predict_only/tiny_darknet_predict.pb", "predict_only/tiny_yolo_predict.pb",
                      "predict_only/crowd_counting_onnx_predict.pb",
                      "squeezenet/predict_net_named.pb", "pbtxt/bvlc_alexnet.predict_net.pbtxt",
                      "pbtxt/densenet121.predict_net.pbtxt", "pbtxt/inception_v1.predict_net.pbtxt",
                      "pbtxt/inception_v2.predict_net.pbtxt", "pbtxt/resnet50.predict_net.pbtxt",
                      "pbtxt/vgg19.predict_net.pbtxt", "pbtxt/zfnet512.predict_net.pbtxt",
                      "pbtxt/mnist_deploy_predict_net.pbtxt"));

}  // namespace
}  // namespace caffe2::testing
