// The trainer on GPUs.
#include <cstdlib>

#include "caffe2/core/device_backend.h"
#include "tests/core/log_lines.h"
#include "tests/operators/test_device.h"
#include "tests/train/trainer_fixture.h"

namespace caffe2 {
namespace {

// On GPUs, which may be emulated (CAFFE2_TEST_DEVICE=cuda). A network without batch norm learns the
// same however its batch is divided.
class DeviceTrainerTest : public TrainerTest {
 protected:
  void SetUp() override {
    const char* wanted = std::getenv("CAFFE2_TEST_DEVICE");
    if (wanted == nullptr || std::string(wanted) != "cuda") {
      GTEST_SKIP() << "CAFFE2_TEST_DEVICE is not cuda";
    }
    if (NumDevices(CUDA) == 0) GTEST_SKIP() << DeviceProblem(CUDA);
    options_ = Small("mlp");
    options_.data.test_data = database_;
    expected_ = Run(options_)[0].log;
    options_.devices = {{CUDA, 0}};
  }

  // The last device; the emulated ones between have little memory.
  static int LastDevice() { return NumDevices(CUDA) - 1; }

  // Losses may differ by 2e-5 at first, and by `growth` more after each iteration.
  void ExpectSameLosses(const std::vector<ShardResult>& shards, double growth = 2e-5) {
    for (const ShardResult& shard : shards) {
      ASSERT_EQ(shard.log->iterations.size(), expected_->iterations.size());
      for (size_t i = 0; i < expected_->iterations.size(); ++i) {
        EXPECT_NEAR(shard.log->iterations[i].loss, expected_->iterations[i].loss,
                    2e-5 + growth * i);
      }
      EXPECT_NEAR(shard.log->tests.at(0).loss, expected_->tests.at(0).loss, 1e-3);
    }
  }

  TrainOptions options_;
  std::shared_ptr<Recorder> expected_;
};

TEST_F(DeviceTrainerTest, OneDeviceLearnsAsTheHost) { ExpectSameLosses(Run(options_)); }

TEST_F(DeviceTrainerTest, RecordedIterationsLearnTheSame) {
  options_.cuda_graph = true;
  ExpectSameLosses(Run(options_));
}

// Every optimizer is one operator over flat blocks there, and part of the recorded iteration.
TEST_F(DeviceTrainerTest, EveryOptimizerLearnsTheSame) {
  for (const char* optimizer : {"adam", "adamw", "adagrad", "rmsprop", "lars"}) {
    SCOPED_TRACE(optimizer);
    options_.model.optimizer = optimizer;
    options_.model.base_learning_rate = 0.01f;
    options_.devices = {{}};
    options_.cuda_graph = false;
    expected_ = Run(options_)[0].log;
    options_.devices = {{CUDA, 0}};
    options_.cuda_graph = true;
    ExpectSameLosses(Run(options_));
  }
}

// The fused forms of normalizations keep to their statistics, too. Rounding changes the signs of
// some inputs of Relu, and one of them changes gradients by 1e-3.
TEST_F(DeviceTrainerTest, FrozenLayersLearnTheSame) {
  options_ = Small("resnet20_cifar");
  if (!testing::IsEmulated()) options_.model.base_learning_rate = 0.001f;
  options_.data.test_data = database_;
  options_.schedule.max_iterations = 4;
  for (const std::vector<std::string>& freeze :
       {std::vector<std::string>{"all_but_last"}, {"conv1", "comp_0", "comp_4"}}) {
    options_.model.freeze = freeze;
    options_.devices = {{}};
    options_.cuda_graph = false;
    expected_ = Run(options_)[0].log;
    options_.devices = {{CUDA, 0}};
    options_.cuda_graph = true;
    ExpectSameLosses(Run(options_), testing::IsEmulated() ? 2e-5 : 1e-3);
  }
}

// The norm is summed in another order there.
TEST_F(DeviceTrainerTest, ClippedGradientsLearnTheSame) {
  options_.model.clip_gradients = 0.3f;
  options_.devices = {{}};
  expected_ = Run(options_)[0].log;
  options_.devices = {{CUDA, 0}};
  options_.cuda_graph = true;
  ExpectSameLosses(Run(options_));
  options_.model.dtype = "float16";  // clipped after the division by the loss scale
  options_.model.loss_scale = 1024;
  const std::vector<ShardResult> shards = Run(options_);
  for (size_t i = 0; i < expected_->iterations.size(); ++i) {
    const double loss = expected_->iterations[i].loss;
    EXPECT_NEAR(shards[0].log->iterations[i].loss, loss, 2e-2 * loss) << "iteration " << i;
  }
}

// The gradients of a scaled loss are divided in the update; 11 bits make the losses coarser.
TEST_F(DeviceTrainerTest, ScaledLossesInFloat16LearnNearlyTheSame) {
  options_.model.dtype = "float16";
  options_.cuda_graph = true;
  const std::vector<ShardResult> shards = Run(options_);
  ASSERT_EQ(shards[0].log->iterations.size(), expected_->iterations.size());
  for (size_t i = 0; i < expected_->iterations.size(); ++i) {
    const double loss = expected_->iterations[i].loss;
    EXPECT_NEAR(shards[0].log->iterations[i].loss, loss, 2e-2 * loss) << "iteration " << i;
  }
}

TEST_F(DeviceTrainerTest, TheHostMayTransformImagesAndOrdersMayDiffer) {
  for (const bool transform : {false, true}) {
    options_.data.use_gpu_transform = transform;
    options_.model.order = transform ? "NCHW" : "NHWC";
    ExpectSameLosses(Run(options_));
  }
}

TEST_F(DeviceTrainerTest, ImagesInTheMemoryOfTheDeviceAreTheSame) {
  options_.data.shuffle = options_.data.mirror = true;
  options_.data.image_pad = 2;
  options_.data.random_erasing = 0.5f;
  options_.cuda_graph = true;
  const auto streamed = Run(options_)[0].log;
  options_.data.resident_data = true;
  const testing::LogLines lines;
  const auto resident = Run(options_)[0].log;
  EXPECT_EQ(lines.Count("are in the memory of cuda:0"), 2);  // for training and for tests
  ASSERT_EQ(resident->iterations.size(), streamed->iterations.size());
  for (size_t i = 0; i < streamed->iterations.size(); ++i) {
    EXPECT_EQ(resident->iterations[i].loss, streamed->iterations[i].loss) << i;
  }
  EXPECT_EQ(resident->tests.at(0).loss, streamed->tests.at(0).loss);
}

// A choice is made on the host for each launch of the recorded iteration.
TEST_F(DeviceTrainerTest, MixedImagesAreTheSame) {
  options_.model.mixup = 0.4f;
  options_.model.cutmix = 1;
  options_.model.label_smoothing = 0.1f;
  options_.devices = {{}};
  const auto plain = expected_;
  expected_ = Run(options_)[0].log;
  EXPECT_NE(expected_->iterations[5].loss, plain->iterations[5].loss);
  options_.devices = {{CUDA, 0}};
  for (const bool graph : {false, true}) {
    options_.cuda_graph = graph;
    ExpectSameLosses(Run(options_));
  }
}

TEST_F(DeviceTrainerTest, WeightsOfClassesAreTheSame) {
  options_.model.class_weights.resize(static_cast<size_t>(options_.model.shape.num_labels));
  for (size_t i = 0; i < options_.model.class_weights.size(); ++i) {
    options_.model.class_weights[i] = 0.5f + static_cast<float>(i);
  }
  options_.devices = {{}};
  const auto plain = expected_;
  for (const float smoothing : {0.f, 0.1f}) {
    options_.model.label_smoothing = smoothing;
    options_.cuda_graph = false;
    options_.devices = {{}};
    expected_ = Run(options_)[0].log;
    EXPECT_NE(expected_->iterations[5].loss, plain->iterations[5].loss);
    options_.cuda_graph = true;
    options_.devices = {{CUDA, 0}};
    ExpectSameLosses(Run(options_));
  }
}

// The average over one device and over two, which the tests use.
TEST_F(DeviceTrainerTest, MovingAveragesAreTheSame) {
  options_.model.ema_decay = 0.9;
  options_.model.ema_every = 3;
  options_.devices = {{}};
  expected_ = Run(options_)[0].log;
  options_.devices = {{CUDA, 0}};
  options_.cuda_graph = true;
  ExpectSameLosses(Run(options_));
  options_.devices.push_back({CUDA, LastDevice()});
  if (LastDevice() > 0) ExpectSameLosses(Run(options_));
}

// Shuffled, cropped and mirrored images, of which some were copied ahead when the run ended.
TEST_F(DeviceTrainerTest, ContinuesToTheBit) {
  TrainOptions options = options_;
  options.data.test_data.clear();
  options.data.shuffle = options.data.mirror = true;
  options.data.image_scale = kSide + 3;
  options.data.decode_threads = 2;
  options.schedule.num_epochs = 10;
  const auto losses_of = [this](const TrainOptions& run) {
    std::vector<double> losses;
    const std::vector<ShardResult> results = Run(run);
    for (const IterationReport& report : results[0].log->iterations) {
      EXPECT_GE(report.input_wait, 0);
      EXPECT_LE(report.input_wait, 1);
      losses.push_back(report.loss);
    }
    return losses;
  };
  options.schedule.max_iterations = 25;
  const std::vector<double> whole = losses_of(options);
  options.output.checkpoint_path = directory_.Path("checkpoint");
  options.output.checkpoint_every = 100;  // and at the end
  options.schedule.max_iterations = 13;
  std::vector<double> parts = losses_of(options);
  options.output.resume = true;
  options.schedule.max_iterations = 25;
  for (const double loss : losses_of(options)) parts.push_back(loss);
  EXPECT_EQ(parts, whole);
}

TEST_F(DeviceTrainerTest, StopsWhileBatchesAreUnderWay) {
  const auto results = Run(options_, 2, [](size_t finished) { return finished < 2 ? 0 : 2; });
  for (const ShardResult& shard : results) {
    EXPECT_EQ(shard.signal, 2);
    EXPECT_EQ(shard.log->iterations.size(), 3u);
  }
}

TEST_F(DeviceTrainerTest, ABadImageEndsTheRunByName) {
  errors_expected_ = true;
  options_.model.shape.num_labels = 2;  // of 4
  const std::string error = Run(options_)[0].error;
  EXPECT_NE(error.find("is out of range for num_labels 2"), std::string::npos) << error;
  EXPECT_NE(error.find("record \"000000"), std::string::npos) << error;
  EXPECT_NE(error.find(database_), std::string::npos) << error;
}

TEST_F(DeviceTrainerTest, ReplicasOnTwoDevicesLearnAsOne) {
  if (NumDevices(CUDA) < 2) GTEST_SKIP() << "two devices are needed";
  options_.devices.push_back({CUDA, LastDevice()});
  ExpectSameLosses(Run(options_));
}

TEST_F(DeviceTrainerTest, ShardsShareADeviceThroughGloo) {
  options_.schedule.batch_size = 4;
  ExpectSameLosses(Run(options_, 2));
}

TEST_F(DeviceTrainerTest, ShardsExchangeByNccl) {
  if (NumDevices(CUDA) < 2) GTEST_SKIP() << "two devices are needed";
  options_.schedule.batch_size = 4;
  options_.shards.use_nccl = true;
  adjust_ = [](TrainOptions* own) {
    own->devices = {{CUDA, own->shards.shard_id == 0 ? 0 : LastDevice()}};
  };
  // Recorded, the sums are branches of the graph of an iteration.
  for (const bool record : {false, true}) {
    const testing::LogLines log;
    options_.cuda_graph = record;
    ExpectSameLosses(Run(options_, 2));
    EXPECT_EQ(log.Count(" operators recorded in "), record ? 2 : 0) << "once by each shard";
    EXPECT_FALSE(log.Contain("AllreduceBucket")) << "not recorded";
    EXPECT_FALSE(log.Contain("AwaitCollectives")) << "not recorded";
  }
}

// What one shard records, the others must.
TEST_F(DeviceTrainerTest, ShardsOfNcclRecordAlike) {
  errors_expected_ = true;
  options_.shards.use_nccl = true;
  adjust_ = [](TrainOptions* own) { own->cuda_graph = own->shards.shard_id == 1; };
  for (const ShardResult& shard : Run(options_, 2)) {
    EXPECT_NE(shard.error.find("use_nccl with cuda_graph differs: "), std::string::npos)
        << shard.error;
    EXPECT_NE(shard.error.find("1 on shard 1"), std::string::npos) << shard.error;
    EXPECT_EQ(shard.error.find('\n'), std::string::npos) << shard.error;
  }
  options_.shards.use_nccl = false;
  adjust_ = [](TrainOptions* own) { own->shards.use_nccl = own->shards.shard_id == 1; };
  for (const ShardResult& shard : Run(options_, 2)) {
    EXPECT_NE(shard.error.find("use_nccl differs: "), std::string::npos) << shard.error;
  }
}

// Between shards sums are rounded to 16 bits.
TEST_F(DeviceTrainerTest, HalfGradientsLearnNearlyTheSame) {
  options_.model.network = "resnet20_cifar";
  options_.model.base_learning_rate = 3e-3f;
  options_.model.dtype = "float16";
  options_.model.loss_scale = 256;
  options_.schedule.batch_size = 2;
  options_.schedule.max_iterations = 2;
  options_.data.test_data.clear();
  std::vector<double> losses[2];
  for (const bool half : {false, true}) {
    options_.model.half_gradients = half;
    const std::vector<ShardResult> shards = Run(options_, 2);
    for (const IterationReport& report : shards[0].log->iterations) {
      losses[half].push_back(report.loss);
    }
  }
  ASSERT_EQ(losses[0].size(), losses[1].size());
  for (size_t i = 0; i < losses[0].size(); ++i) {
    EXPECT_NEAR(losses[1][i], losses[0][i], 2e-2 * losses[0][i]) << "iteration " << i;
  }
  EXPECT_NE(losses[1].back(), losses[0].back());
}

TEST_F(DeviceTrainerTest, ShardsOfSeveralDevicesLearnAsOne) {
  if (NumDevices(CUDA) < 2) GTEST_SKIP() << "two devices are needed";
  options_.schedule.batch_size = 4;
  options_.devices.push_back({CUDA, LastDevice()});
  ExpectSameLosses(Run(options_, 2));
}

TEST_F(DeviceTrainerTest, RefusesDevicesThatMakeNoSense) {
  errors_expected_ = true;
  const auto error_of = [this](const std::vector<Device>& devices) {
    options_.devices = devices;
    return Run(options_)[0].error;
  };
  EXPECT_NE(error_of({{CUDA, 99}}).find("there is no device cuda:99"), std::string::npos);
  EXPECT_NE(error_of({{CUDA, 0}, {CUDA, 0}}).find("cuda:0 is named twice"), std::string::npos);
  EXPECT_NE(error_of({{CUDA, 0}, {}}).find("all devices must have the same type"),
            std::string::npos);
  if (LastDevice() == 0) GTEST_SKIP() << "two devices are needed for the rest";
  options_.schedule.batch_size = 7;
  EXPECT_NE(error_of({{CUDA, 0}, {CUDA, LastDevice()}}).find("--batch_size 7 is not a multiple of"),
            std::string::npos);
}

}  // namespace
}  // namespace caffe2
