// Nets and operators on CUDA devices, beyond what single operators' tests see. Runs where a device
// is, which may be the emulated one (CAFFE2_TEST_DEVICE=cuda).
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/net.h"
#include "caffe2/core/random.h"
#include "caffe2/graph/inference.h"
#include "caffe2/graph/training_pipeline.h"
#include "caffe2/model/layers.h"
#include "caffe2/model/loss_scale.h"
#include "caffe2/model/networks.h"
#include "caffe2/model/optimizer.h"
#include "tests/core/log_lines.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

std::string ErrorOf(Workspace* ws, const OperatorDef& op) {
  try {
    ws->RunOperatorOnce(op);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CudaBackendTest, NamesWhatIsMissing) {
  if (NumDevices(CUDA) > 0) GTEST_SKIP() << "a CUDA device is here";
  Workspace ws;
  const std::string error = ErrorOf(&ws, OnCuda(Op("ConstantFill", {}, {"y"})));
  EXPECT_NE(error.find("no device of type cuda is available: "), std::string::npos) << error;
  EXPECT_FALSE(DeviceProblem(CUDA).empty());
  EXPECT_EQ(error.find('\n'), std::string::npos) << "more than one line: " << error;
}

TEST(CudaBackendTest, RefusesDevicesThatAreNotThere) {
  NEED_CUDA();
  Workspace ws;
  const std::string error = ErrorOf(&ws, OnCuda(Op("ConstantFill", {}, {"y"}), 99));
  EXPECT_NE(error.find("there is no device cuda:99"), std::string::npos) << error;
}

TEST(CudaBackendTest, CopiesBetweenHostAndDeviceAreOperators) {
  NEED_CUDA();
  Workspace ws;
  FeedRandom(&ws, "X", {3, 4}, 1);
  const std::vector<float> values = FetchValues<float>(ws, "X");
  for (const char* type : {"CopyCPUToGPU", "CopyGPUToCPU"}) {
    RunOp(&ws, Op(type, {"X"}, {"Y"}));
    ExpectTensor(ws, "Y", {3, 4}, values);
  }
}

TEST(CudaBackendTest, ValuesSurviveTheTripToTheDevice) {
  NEED_CUDA();
  Workspace ws;
  const std::vector<float> values = RandomValues(1000, 1);
  Feed(&ws, "x", {10, 100}, values);
  ws.RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {"x"}, {"on_device"})));
  EXPECT_EQ(Fetch(ws, "on_device").GetDeviceType(), CUDA);
  ws.RunOperatorOnce(OnCuda(Op("CopyGPUToCPU", {"on_device"}, {"back"})));
  EXPECT_EQ(FetchValues<float>(ws, "back"), values);
}

TEST(CudaBackendTest, OperatorsOfTheHostRefuseDeviceTensors) {
  NEED_CUDA();
  Workspace ws;
  ws.RunOperatorOnce(
      OnCuda(Op("ConstantFill", {}, {"x"}, {MakeArgument("shape", std::vector<int64_t>{4})})));
  const std::string error = ErrorOf(&ws, Op("Relu", {"x"}, {"y"}));
  EXPECT_NE(error.find("blob x, lies on cuda:0, but operator Relu runs on the host"),
            std::string::npos)
      << error;
}

TEST(CudaBackendTest, OperatorsOfTheDeviceRefuseHostTensors) {
  NEED_CUDA();
  Workspace ws;
  FeedRandom(&ws, "x", {4}, 1);
  const std::string error = ErrorOf(&ws, OnCuda(Op("Relu", {"x"}, {"y"})));
  EXPECT_NE(error.find("blob x, lies on cpu, but operator Relu runs on cuda:0"), std::string::npos)
      << error;
}

// As converters write it: rows that are flattened but for the first dimension, by a shape that is
// taken apart and put together on the device.
TEST(CudaBackendTest, ShapesThatLieOnTheHostAreComputedWithOnTheDevice) {
  NEED_CUDA();
  Workspace ws;
  const std::vector<float> values = RandomValues(24, 1);
  Feed(&ws, "host", {2, 3, 4}, values);
  NetDef net;
  *net.add_op() = Op("CopyCPUToGPU", {"host"}, {"x"});
  *net.add_op() = Op("Shape", {"x"}, {"shape"});
  *net.add_op() =
      Op("Slice", {"shape"}, {"first"},
         {MakeArgument("starts", std::vector<int>{0}), MakeArgument("ends", std::vector<int>{1})});
  *net.add_op() = Op("GivenTensorInt64Fill", {}, {"rest"},
                     {MakeArgument("shape", std::vector<int64_t>{1}),
                      MakeArgument("values", std::vector<int64_t>{-1})});
  *net.add_op() = Op("Concat", {"first", "rest"}, {"wanted", "parts"}, {MakeArgument("axis", 0)});
  *net.add_op() = Op("Reshape", {"x", "wanted"}, {"rows", "old_shape"});
  *net.add_op() = Op("Mul", {"shape", "shape"}, {"squares"});
  for (OperatorDef& op : *net.mutable_op()) op = OnCuda(op);
  net.set_name("shapes");
  for (const char* type : {"simple", "cuda_graph"}) {
    net.set_type(type);
    NetBase* made = ws.CreateNet(net, /*overwrite=*/true);
    for (int64_t n : {2, 4, 2, 2, 2, 2}) {
      Feed(&ws, "host", {n, 24 / n / 2, 2}, values);
      ASSERT_TRUE(made->Run());
      ws.RunOperatorOnce(OnCuda(Op("CopyGPUToCPU", {"rows"}, {"back"})));
      ExpectTensor(ws, "back", {n, 24 / n}, values);
      ws.RunOperatorOnce(OnCuda(Op("CopyGPUToCPU", {"squares"}, {"back"})));
      EXPECT_EQ(FetchValues<int64_t>(ws, "back"), (std::vector<int64_t>{n * n, 144 / n / n, 4}));
    }
  }
  // What is larger is data, and its copy missing.
  ws.CreateBlob("many")->GetMutable<Tensor>()->Resize(65);
  ws.GetBlob("many")->GetMutable<Tensor>()->mutable_data<int64_t>();
  EXPECT_NE(ErrorOf(&ws, OnCuda(Op("Mul", {"many", "many"}, {"y"}))).find("a copy between"),
            std::string::npos);
}

TEST(CudaBackendTest, OutOfMemoryNamesOperatorBlobAndBytes) {
  NEED_CUDA();
  if (!IsEmulated()) GTEST_SKIP() << "the emulated device 1 has little memory";
  Workspace ws;
  const std::string error =
      ErrorOf(&ws, OnCuda(Op("ConstantFill", {}, {"huge"},
                             {MakeArgument("shape", std::vector<int64_t>{1024, 1024})}),
                          1));
  EXPECT_EQ(error,
            "out of memory on cuda:1: cannot allocate 4194304 bytes; 1048576 of 1048576 are free "
            "(for blob huge [1024, 1024] of operator ConstantFill)");
}

// Work on one device that follows work on another: copies there and back, and sums over both.
TEST(CudaBackendTest, DevicesExchangeTensors) {
  NEED_CUDA();
  const int last = NumDevices(CUDA) - 1;
  if (last == 0) GTEST_SKIP() << "two devices are needed";
  Workspace ws;
  Feed(&ws, "host", {3}, std::vector<float>{1, 2, 3});
  ws.RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {"host"}, {"a"}), 0));
  ws.RunOperatorOnce(OnCuda(Op("Copy", {"a"}, {"b"}), last));
  ws.RunOperatorOnce(OnCuda(Op("Scale", {"b"}, {"b"}, {MakeArgument("scale", 10.f)}), last));
  EXPECT_EQ(Fetch(ws, "b").device(), (Device{CUDA, last}));
  ws.RunOperatorOnce(OnCuda(Op("NCCLAllreduce", {"a", "b"}, {"a", "b"}), 0));
  for (const auto& [name, id] : {std::pair{"a", 0}, {"b", last}}) {
    EXPECT_EQ(Fetch(ws, name).device(), (Device{CUDA, id}));
    ws.RunOperatorOnce(OnCuda(Op("CopyGPUToCPU", {name}, {"back"}), id));
    ExpectTensor(ws, "back", {3}, {11, 22, 33});
  }
}

// A run that fails is waited for on all devices, even if one has something to say there.
TEST(CudaBackendTest, AFailedRunIsOverOnAllDevices) {
  NEED_CUDA();
  const int last = NumDevices(CUDA) - 1;
  if (last == 0) GTEST_SKIP() << "two devices are needed";
  Workspace ws;
  NetDef net;
  net.set_name("net");
  FeedRandom(&ws, "table", {2, 3}, 1);
  Feed<int64_t>(&ws, "index", {1}, {7});
  for (const int id : {0, last}) {
    const std::string d = std::to_string(id);
    for (const char* name : {"table", "index"}) {
      ws.RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {name}, {name + d}), id));
    }
    *net.add_op() = OnCuda(Op("Gather", {"table" + d, "index" + d}, {"rows" + d}), id);
  }
  *net.add_op() = Op("Sum", {"table", "index"}, {"bad"});
  ws.CreateNet(net);
  EXPECT_THROW(ws.RunNet("net"), Error);
  for (const int id : {0, last}) {
    const std::string d = std::to_string(id);
    EXPECT_EQ(ErrorOf(&ws, OnCuda(Op("Copy", {"table" + d}, {"copy" + d}), id)), "");
  }
}

// Collectives among two different devices, which NCCL joins, and among two tensors of one, which
// are copies and additions: the same results. (The list of devices is one that no other test has,
// so that the group is made, and said to be made, here.)
TEST(CudaBackendTest, LocalCollectivesAgreeWithCopies) {
  NEED_CUDA();
  const int last = NumDevices(CUDA) - 1;
  if (last == 0) GTEST_SKIP() << "two devices are needed";
  const LogLines log;
  std::vector<std::vector<float>> results[2];
  for (const bool apart : {false, true}) {
    Workspace ws;
    const auto feed = [&](const std::string& name, const std::vector<float>& values, int id) {
      Feed(&ws, "values", {static_cast<int64_t>(values.size())}, values);
      ws.RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {"values"}, {name}), apart ? id : last));
    };
    const auto run = [&](const std::string& type, const std::vector<std::string>& outputs,
                         int root = -1) {
      feed("a", {1, 2, 3, 4}, last);
      feed("b", {10, 20, 30, 40}, 0);
      std::vector<Argument> args;
      if (root >= 0) args.push_back(MakeArgument("root", root));
      ws.RunOperatorOnce(OnCuda(Op(type, {"a", "b"}, outputs, args), last));
      for (const std::string& name : outputs) {
        results[apart].push_back(OnHost<float>(ws, name));
        const int owner = name == "b" || name == "y" ? 0 : last;
        EXPECT_EQ(Fetch(ws, name).device(), (Device{CUDA, apart ? owner : last})) << type;
      }
    };
    run("NCCLAllreduce", {"a", "b"});
    run("NCCLAllreduce", {"x", "y"});
    run("NCCLReduce", {"b"}, 1);
    run("NCCLReduce", {"x"}, 0);
    run("NCCLBroadcast", {"a", "b"}, 1);
    run("NCCLBroadcast", {"x", "y"}, 0);
    run("NCCLAllGather", {"x", "y"});
    run("NCCLReduceScatter", {"x", "y"});
    run("NCCLReduceScatter", {"a", "b"});
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[1][0], (std::vector<float>{11, 22, 33, 44}));
  EXPECT_EQ(results[1].back(), (std::vector<float>{33, 44}));
  const std::string devices = MakeString("cuda:", last, ", cuda:");
  EXPECT_TRUE(log.Contain("among " + devices + "0 go through NCCL"));
  EXPECT_TRUE(log.Contain("among " + devices + std::to_string(last) + " are copies"));
}

// A net of every executor, with host and device operators that follow each other.
class CudaNetTest : public ::testing::TestWithParam<const char*> {};

TEST_P(CudaNetTest, TrainsAsTheHostDoes) {
  NEED_CUDA();
  NetDef net;
  net.set_name("train");
  net.set_type(GetParam());
  *net.add_op() = Op("FC", {"x", "w", "b"}, {"fc"});
  *net.add_op() = Op("SoftmaxWithLoss", {"fc", "label"}, {"softmax", "loss"});
  *net.add_op() = Op("ConstantFill", {"loss"}, {"loss_grad"}, {MakeArgument("value", 1.f)});
  *net.add_op() =
      Op("SoftmaxWithLossGradient", {"fc", "label", "softmax", "loss_grad"}, {"fc_grad"});
  *net.add_op() = Op("FCGradient", {"x", "w", "fc_grad"}, {"w_grad", "b_grad"});
  *net.add_op() = Op("MomentumSGDUpdate", {"w_grad", "m", "lr", "w"}, {"w_grad", "m", "w"},
                     {MakeArgument("momentum", 0.9f)});
  std::vector<float> losses[2];
  for (const bool on_device : {false, true}) {
    Workspace ws;
    FeedRandom(&ws, "x", {8, 5}, 1);
    FeedRandom(&ws, "w", {3, 5}, 2);
    FeedRandom(&ws, "b", {3}, 3);
    Feed(&ws, "label", {8}, std::vector<int>{0, 1, 2, 0, 1, 2, 0, 1});
    Feed(&ws, "m", {3, 5}, std::vector<float>(15, 0.f));
    Feed(&ws, "lr", {1}, std::vector<float>{0.1f});
    NetDef placed = net;
    if (on_device) {
      placed.mutable_device_option()->set_device_type(CUDA);
      for (const char* name : {"x", "w", "b", "label", "m"}) {
        ws.RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {name}, {std::string(name) + "_device"})));
        ws.GetBlob(name)->swap(*ws.GetBlob(std::string(name) + "_device"));
      }
    }
    NetBase* runnable = ws.CreateNet(placed);
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(runnable->Run());
      Tensor loss(CPU);
      loss.CopyFrom(Fetch(ws, "loss"));
      losses[on_device].push_back(*loss.data<float>());
    }
  }
  EXPECT_LT(losses[0].back(), losses[0].front());
  for (size_t i = 0; i < losses[0].size(); ++i) {
    EXPECT_NEAR(losses[0][i], losses[1][i], 1e-5f) << "iteration " << i;
  }
}
INSTANTIATE_TEST_SUITE_P(Executors, CudaNetTest, ::testing::Values("simple", "dag", "cuda_graph"));

// Scores of a residual net in test mode, as it is on the host and made fast for inference on the
// device: there batch normalization is folded into filters on the device, too.
TEST(InferenceTest, FoldedNetsOnADeviceGiveTheSameScores) {
  NEED_CUDA();
  std::vector<std::vector<float>> scores;
  for (const bool on_device : {false, true}) {
    const Device device = on_device ? Device{CUDA, 0} : Device{};
    ModelHelper model("m", {.order = "NHWC", .is_test = true, .device = ToDeviceOption(device)});
    NetworkOptions shape;
    shape.image_size = 8;
    shape.num_labels = 10;
    const std::string output = AddNetwork(&model, "resnet20_cifar", "data", shape);
    model.net()->add_external_output(output);
    SetRandomSeeds(model.param_init_net(), 1);
    Workspace ws;
    ws.RunNetOnce(*model.param_init_net());
    FeedRandom(&ws, "data", {2, 8, 8, 3}, 5);
    if (on_device) {
      ws.RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {"data"}, {"moved"})));
      ws.GetBlob("data")->swap(*ws.GetBlob("moved"));
      OptimizeForInference(model.net(), &ws);
      for (const OperatorDef& op : model.net()->op()) {
        EXPECT_EQ(op.type().find("SpatialBN"), std::string::npos) << op.type();
      }
    }
    NetBase* net = ws.CreateNet(*model.net());
    for (int run = 0; run < 2; ++run) EXPECT_TRUE(net->Run());  // the second one keeps filters
    scores.push_back(OnHost<float>(ws, output));
  }
  ASSERT_EQ(scores[0].size(), scores[1].size());
  for (size_t i = 0; i < scores[0].size(); ++i) EXPECT_NEAR(scores[0][i], scores[1][i], 1e-3f);
}

enum class Updates { kApart, kFlat, kFlatWithCopies, kHalfGradients };
struct Training {
  std::string network;
  int64_t batch, channels, image_size;
  float learning_rate;
  Updates updates = Updates::kApart;
};
constexpr int kLabels = 10;

// Trains on a fixed batch: on the host in float, on the device in 16 bits. Returns the losses.
std::vector<float> Train(const Training& training, TensorProto::DataType type,
                         const LossScaleOptions& scale, ConvNormFusion fusion, int iterations,
                         Workspace* ws) {
  const bool on_device = type != TensorProto::FLOAT;
  ModelHelper model(training.network,
                    {.order = "NHWC",
                     .compute_type = type,
                     .device = ToDeviceOption(on_device ? Device{CUDA, 0} : Device{})});
  NetworkOptions shape;
  shape.image_size = training.image_size;
  shape.num_channels = training.channels;
  shape.num_labels = kLabels;
  const std::string data = brew::CastTo(&model, "data", "data_cast", type);
  const std::string scores = AddNetwork(&model, training.network, data, shape);
  const auto [softmax, loss] = brew::SoftmaxWithLoss(&model, scores, "label", "softmax", "loss");
  const TrainingPasses passes{
      .fuse_conv = fusion,
      .fused_updates = training.updates != Updates::kApart,
      .filter_copies = training.updates >= Updates::kFlatWithCopies ? type : TensorProto::FLOAT,
      .half_gradients = training.updates == Updates::kHalfGradients,
      .memory_plan = false};
  PrepareForward(passes, {loss}, model.net());
  model.AddGradientOperators(
      {{loss, type == TensorProto::FLOAT16 ? AddLossScale(&model, scale) : ""}});
  AddGradientUnscaling(&model, scale);
  AddWeightDecay(&model, 1e-3f);
  SgdOptions sgd;
  sgd.learning_rate.base = training.learning_rate;
  BuildSgd(&model, sgd);
  SetRandomSeeds(model.param_init_net(), 1);
  const PreparedTraining prepared =
      PrepareTraining(*model.param_init_net(), passes, {loss}, model.net());
  if (training.updates >= Updates::kFlatWithCopies) {
    EXPECT_GT(prepared.filter_copies, 1);
  }
  if (training.updates == Updates::kHalfGradients) {
    EXPECT_GT(prepared.half_gradients, 0);
  }
  ws->RunNetOnce(*model.param_init_net());
  PlaceTraining(*model.net(), prepared, {loss}, ws);
  const int64_t size = training.image_size;
  FeedRandom(ws, "data", {training.batch, size, size, training.channels}, 5);
  std::vector<int> labels(training.batch);
  std::iota(labels.begin(), labels.end(), 0);
  Feed(ws, "label", {training.batch}, labels);
  if (on_device) {
    for (const char* name : {"data", "label"}) {
      ws->RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {name}, {"moved"})));
      ws->GetBlob(name)->swap(*ws->GetBlob("moved"));
    }
  }
  NetBase* net = ws->CreateNet(*model.net());
  std::vector<float> losses;
  for (int i = 0; i < iterations; ++i) {
    EXPECT_TRUE(net->Run());
    losses.push_back(OnHost<float>(*ws, loss)[0]);
  }
  return losses;
}

const Training kLenet{"lenet", 10, 1, 16, 0.02f};

TEST(MixedPrecisionTest, LossesFollowThoseOfFloat) {
  NEED_CUDA();
  constexpr int kIterations = 6;
  Workspace host;
  const std::vector<float> expected =
      Train(kLenet, TensorProto::FLOAT, {}, ConvNormFusion::kNone, kIterations, &host);
  EXPECT_LT(expected.back(), 0.97f * expected.front());
  for (const auto& [type, tolerance] :
       {std::pair{TensorProto::FLOAT16, 5e-3f}, std::pair{TensorProto::BFLOAT16, 4e-2f}}) {
    for (const bool dynamic : {true, false}) {
      Workspace ws;
      const std::vector<float> losses = Train(kLenet, type, {.scale = 1024.f, .dynamic = dynamic},
                                              ConvNormFusion::kNone, kIterations, &ws);
      for (int i = 0; i < kIterations; ++i) {
        EXPECT_NEAR(losses[i], expected[i], tolerance * expected[i])
            << TensorProto::DataType_Name(type) << " iteration " << i;
      }
    }
  }
}

// Filters that the update has rounded, or that every convolution rounds: the same bits.
TEST(MixedPrecisionTest, FilterCopiesChangeNothing) {
  NEED_CUDA();
  for (const auto& [type, fusion] : {std::pair{TensorProto::FLOAT16, ConvNormFusion::kPrologue},
                                     {TensorProto::BFLOAT16, ConvNormFusion::kNone}}) {
    std::vector<float> losses[2];
    Training training{"resnet20_cifar", 2, 3, 8, 3e-3f};
    for (const bool copies : {false, true}) {
      training.updates = copies ? Updates::kFlatWithCopies : Updates::kFlat;
      Workspace ws;
      losses[copies] = Train(training, type, {.scale = 256.f}, fusion, 3, &ws);
      if (!copies) continue;
      Tensor master(CPU), copy(CPU);
      master.CopyFrom(Fetch(ws, "conv1_w"));
      const bool half = type == TensorProto::FLOAT16;
      copy.CopyFrom(Fetch(ws, half ? "conv1_w_float16" : "conv1_w_bfloat16"));
      for (int64_t i = 0; i < master.numel(); ++i) {
        const float value = master.data<float>()[i];
        const uint16_t expected = half ? ToFloat16(value).x : ToBFloat16(value).x;
        EXPECT_EQ(static_cast<const uint16_t*>(copy.raw_data())[i], expected) << i;
      }
    }
    EXPECT_EQ(losses[0], losses[1]) << TensorProto::DataType_Name(type);
  }
}

// Gradients that the update widens, or the convolutions: the same bits on one device.
TEST(MixedPrecisionTest, HalfGradientsChangeNothing) {
  NEED_CUDA();
  for (const TensorProto::DataType type : {TensorProto::FLOAT16, TensorProto::BFLOAT16}) {
    std::vector<float> losses[2];
    Training training{"resnet20_cifar", 2, 3, 8, 3e-3f};
    for (const bool half : {false, true}) {
      training.updates = half ? Updates::kHalfGradients : Updates::kFlatWithCopies;
      Workspace ws;
      losses[half] = Train(training, type, {.scale = 256.f}, ConvNormFusion::kPrologue, 3, &ws);
      EXPECT_EQ(Fetch(ws, "conv1_w_grad").IsType<float>(), !half);
      EXPECT_TRUE(Fetch(ws, "conv1_spatbn_relu_s_grad").IsType<float>());
    }
    EXPECT_EQ(losses[0], losses[1]) << TensorProto::DataType_Name(type);
  }
}

// With normalization inside the convolutions, by engines for it or in parts.
TEST(MixedPrecisionTest, ResidualNetsWithFusedNormsFollowFloat) {
  NEED_CUDA();
  constexpr int kIterations = 3;
  const Training training{"resnet20_cifar", 4, 3, 8, 3e-4f};
  Workspace host;
  const std::vector<float> expected =
      Train(training, TensorProto::FLOAT, {}, ConvNormFusion::kNone, kIterations, &host);
  EXPECT_LT(expected.back(), expected.front());
  for (const auto& [type, tolerance] :
       {std::pair{TensorProto::FLOAT16, 1e-2f}, std::pair{TensorProto::BFLOAT16, 5e-2f}}) {
    Workspace ws;
    const std::vector<float> losses = Train(training, type, {.scale = 1024.f, .dynamic = false},
                                            ConvNormFusion::kPrologue, kIterations, &ws);
    for (int i = 0; i < kIterations; ++i) {
      EXPECT_NEAR(losses[i], expected[i], tolerance * expected[i])
          << TensorProto::DataType_Name(type) << " iteration " << i;
    }
  }
}

TEST(MixedPrecisionTest, StepsThatOverflowAreSkippedAndLowerTheScale) {
  NEED_CUDA();
  Workspace ws;
  constexpr float kTooLarge = 0x1p24f;
  const std::vector<float> losses =
      Train(kLenet, TensorProto::FLOAT16, {.scale = kTooLarge}, ConvNormFusion::kNone, 3, &ws);
  EXPECT_EQ(losses[0], losses[1]) << "a skipped step changes no parameter";
  EXPECT_EQ(losses[1], losses[2]);
  EXPECT_EQ(OnHost<float>(ws, "loss_scale")[0], kTooLarge / 8);
  EXPECT_EQ(OnHost<float>(ws, "found_inf")[0], 1.f);
  for (const float value : OnHost<float>(ws, "conv1_w_momentum")) EXPECT_EQ(value, 0.f);
}

// An overflow that only 16-bit gradients have is found as well.
TEST(MixedPrecisionTest, HalfGradientsThatOverflowSkipTheStep) {
  NEED_CUDA();
  Workspace ws;
  constexpr float kTooLarge = 0x1p24f;
  Training training{"resnet20_cifar", 2, 3, 8, 3e-3f, Updates::kHalfGradients};
  const std::vector<float> losses =
      Train(training, TensorProto::FLOAT16, {.scale = kTooLarge}, ConvNormFusion::kNone, 2, &ws);
  EXPECT_EQ(losses[0], losses[1]) << "a skipped step changes no parameter";
  EXPECT_EQ(OnHost<float>(ws, "loss_scale")[0], kTooLarge / 4);
}

TEST(MixedPrecisionTest, TheScaleGrowsWhileNothingOverflows) {
  NEED_CUDA();
  Workspace ws;
  Train(kLenet, TensorProto::FLOAT16, {.scale = 64.f, .growth_interval = 2}, ConvNormFusion::kNone,
        4, &ws);
  EXPECT_EQ(OnHost<float>(ws, "loss_scale")[0], 256.f);
  EXPECT_EQ(OnHost<int>(ws, "loss_scale_good_steps")[0], 0);
}

}  // namespace
}  // namespace caffe2::testing
