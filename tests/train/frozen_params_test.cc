#include "train/frozen_params.h"

#include <map>

#include "caffe2/core/exit_code.h"
#include "tests/train/trainer_fixture.h"

namespace caffe2 {
namespace {

using Values = std::map<std::string, std::vector<float>>;

class FrozenParamsTest : public TrainerTest {
 protected:
  TrainOptions Frozen(const std::string& network, const std::vector<std::string>& freeze) const {
    TrainOptions options = Small(network);
    options.model.weight_decay = 0.1f;
    options.model.freeze = freeze;
    return options;
  }

  // Parameters and running statistics by name after the run, and the operators of its net.
  Values After(TrainOptions options, int iterations) {
    if (iterations == 0) options.schedule.num_epochs = 0;
    options.schedule.max_iterations = iterations;
    Trainer trainer(options);
    trainer.Run();
    Values values;
    const TrainNets& nets = trainer.nets();
    for (const auto* names : {&nets.params, &nets.computed_params}) {
      for (const std::string& name : *names) {
        const Tensor& tensor = trainer.workspace()->GetBlob(nets.scope + name)->Get<Tensor>();
        values[name] = {tensor.data<float>(), tensor.data<float>() + tensor.numel()};
      }
    }
    state_ = nets.optimizer_state;
    types_.clear();
    for (const OperatorDef& op : nets.train.op()) ++types_[op.type()];
    return values;
  }

  // Trains with `freeze`. Expects that exactly the parameters and statistics that begin with a
  // prefix keep their values.
  void ExpectKept(const std::string& network, const std::vector<std::string>& freeze) {
    const TrainOptions options = Frozen(network, freeze);
    const Values start = After(options, 0), end = After(options, 3);
    for (const auto& [name, values] : start) {
      const bool frozen = FrozenParams(options)(name);
      EXPECT_EQ(end.at(name) == values, frozen) << name;
    }
    for (const std::string& blob : state_) {
      if (!blob.ends_with("_momentum")) continue;
      const size_t begin = blob.find('/') + 1, end_of_name = blob.rfind("_momentum");
      EXPECT_FALSE(FrozenParams(options)(blob.substr(begin, end_of_name - begin))) << blob;
    }
  }

  std::vector<std::string> state_;
  std::map<std::string, int> types_;
};

TEST_F(FrozenParamsTest, KeepTheirValuesAndStatistics) {
  ExpectKept("lenet", {"conv2"});
  ExpectKept("lenet", {"conv1", "fc3_b"});
  ExpectKept("lenet", {kAllButLast});
  ExpectKept("resnet20_cifar", {kAllButLast});
  ExpectKept("resnet20_cifar", {"conv1", "comp_0"});
}

TEST_F(FrozenParamsTest, ANumberAtTheEndOfAPrefixIsWhole) {
  const auto frozen = FrozenParams(Frozen("lenet", {"comp_1", "conv"}));
  EXPECT_TRUE(frozen("comp_1_conv_1_w"));
  EXPECT_TRUE(frozen("comp_1"));
  EXPECT_FALSE(frozen("comp_10_conv_1_w"));
  EXPECT_TRUE(frozen("conv1_w"));
}

// Without normalizations the other parameters have the same gradients as in the whole network.
TEST_F(FrozenParamsTest, OthersStepAsWithoutThem) {
  const Values whole = After(Frozen("lenet", {}), 1);
  for (const std::string prefix : {"conv1", "conv2", "fc3", "pred"}) {
    const Values values = After(Frozen("lenet", {prefix}), 1);
    for (const auto& [name, expected] : whole) {
      EXPECT_EQ(values.at(name) == expected, !name.starts_with(prefix)) << prefix << " " << name;
    }
  }
}

// The backward pass ends at the lowest layer that is trained.
TEST_F(FrozenParamsTest, TheirLayersNeedNoGradients) {
  const auto gradients = [this](const std::vector<std::string>& freeze) {
    After(Frozen("lenet", freeze), 1);
    return std::pair(types_["ConvGradient"], types_["FCGradient"]);
  };
  EXPECT_EQ(gradients({}), std::pair(2, 2));
  EXPECT_EQ(gradients({"conv1"}), std::pair(1, 2));
  EXPECT_EQ(gradients({"conv2"}), std::pair(2, 2));  // the way to conv1
  EXPECT_EQ(gradients({"conv"}), std::pair(0, 2));
  EXPECT_EQ(gradients({kAllButLast}), std::pair(0, 1));
}

// A loss over the running statistics: the test net has the first one, on the same images.
TEST_F(FrozenParamsTest, NormalizationsUseSavedStatistics) {
  TrainOptions options = Frozen("resnet20_cifar", {kAllButLast});
  options.data.test_data = database_;
  options.schedule.test_epoch_size = 8;
  options.model.base_learning_rate = 1e-9f;
  options.model.weight_decay = 0;
  options.schedule.epoch_size = 8;
  const auto result = Run(options);
  EXPECT_NEAR(result[0].log->iterations.at(0).loss, result[0].log->tests.at(0).loss, 1e-5);
}

TEST_F(FrozenParamsTest, ShardsAndReplicasLearnAsOne) {
  TrainOptions options = Frozen("resnet20_cifar", {kAllButLast});
  const auto one = Run(options)[0].params;
  options.devices = {{}, {}};
  options.schedule.batch_size = 4;
  const auto shards = Run(options, 2);
  ASSERT_EQ(shards[0].params.size(), one.size());
  for (size_t i = 0; i < one.size(); ++i) ASSERT_NEAR(shards[0].params[i], one[i], 1e-6) << i;
  EXPECT_EQ(shards[1].state, shards[0].state);
}

// Averages over three shards would change the last bits of equal values.
TEST_F(FrozenParamsTest, LocalSgdDoesNotAverageThem) {
  TrainOptions options = Frozen("lenet", {"conv"});
  const Values start = After(options, 0);
  options.schedule.sync_every = 2;
  on_iteration_ = [&](Trainer* trainer, int) {
    for (const char* name : {"conv1_w", "conv2_w"}) {
      const Blob* blob = trainer->workspace()->GetBlob(trainer->nets().scope + name);
      const Tensor& tensor = blob->Get<Tensor>();
      const std::vector<float> now(tensor.data<float>(), tensor.data<float>() + tensor.numel());
      EXPECT_EQ(now, start.at(name)) << name;
    }
  };
  EXPECT_EQ(Run(options, 3).size(), 3u);
}

TEST_F(FrozenParamsTest, ContinuesToTheBit) {
  for (const int shards : {1, 2}) {
    TrainOptions options = Frozen("resnet20_cifar", {"conv1", "comp_0", "comp_1"});
    options.model.ema_decay = 0.5;
    options.schedule.batch_size = 8 / shards;
    options.schedule.max_iterations = 5;
    const auto whole = Run(options, shards);
    options.output.checkpoint_path = directory_.Path("middle" + std::to_string(shards));
    options.output.checkpoint_every = 100;  // and at the end
    options.schedule.max_iterations = 3;
    Run(options, shards);
    options.output.resume = true;
    options.schedule.max_iterations = 5;
    EXPECT_EQ(Run(options, shards)[0].state, whole[0].state);
    errors_expected_ = true;
    options.model.freeze = {"conv1"};
    EXPECT_NE(Run(options, shards)[0].error.find("freeze"), std::string::npos);
    errors_expected_ = false;
  }
}

TEST_F(FrozenParamsTest, NamesMustFit) {
  errors_expected_ = true;
  const auto unknown = Run(Frozen("lenet", {"conv1", "layer4"}))[0];
  EXPECT_NE(
      unknown.error.find("--freeze has layer4, but no parameter of the network begins with it: "
                         "conv1_w, conv1_b, conv2_w, conv2_b, fc3_w, fc3_b, pred_w, pred_b"),
      std::string::npos)
      << unknown.error;
  EXPECT_EQ(unknown.exit_code, static_cast<int>(ExitCode::kUsage));
  const auto all = Run(Frozen("lenet", {"conv", "fc", "pred"}))[0];
  EXPECT_NE(all.error.find("--freeze leaves no parameter to train: all 8 are frozen"),
            std::string::npos)
      << all.error;
}

}  // namespace
}  // namespace caffe2
