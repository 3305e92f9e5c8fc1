#include "caffe2/graph/training_pipeline.h"

#include <algorithm>
#include <numeric>

#include "caffe2/core/random.h"
#include "caffe2/core/workspace.h"
#include "caffe2/graph/gradient_sum.h"
#include "caffe2/graph/half_gradients.h"
#include "caffe2/graph/unused_gradient.h"
#include "caffe2/model/layers.h"
#include "caffe2/model/model_helper.h"
#include "caffe2/model/optimizer.h"
#include "tests/graph/image_net.h"
#include "tests/operators/bottleneck_net.h"

namespace caffe2 {
namespace {

using testing::CountType;
using testing::ExpectClose;
using testing::ValuesOf;

constexpr int kBatch = 4, kChannels = 3, kSide = 6, kLabels = 5;

TrainingPasses NoPasses() {
  return {.fuse = FusionLevel::kOff, .unused_gradients = false, .memory_plan = false};
}

// A small residual network on the host, from its layers to its updates.
class Model {
 public:
  explicit Model(TensorProto::DataType type = TensorProto::FLOAT)
      : helper_("model", {.order = "NHWC", .compute_type = type}) {
    const std::string data = brew::CastTo(&helper_, "data", "data_cast", type);
    const std::string scores = testing::AddBottlenecks(&helper_, data, kChannels, kLabels);
    brew::SoftmaxWithLoss(&helper_, scores, "label", "softmax", "loss");
  }

  void Prepare(const TrainingPasses& passes) {
    PrepareForward(passes, keep(), &net());
    AddUpdates();
    prepared_ = PrepareTraining(init(), passes, keep(), &net());
  }
  void AddUpdates() {
    helper_.AddGradientOperators({{"loss", ""}});
    AddWeightDecay(&helper_, 1e-2f);
    SgdOptions sgd;
    sgd.learning_rate.base = 0.002f;
    BuildSgd(&helper_, sgd);
    SetRandomSeeds(helper_.param_init_net(), 1);
  }

  // Makes the parameters and the batch, which is the same for all models.
  void Fill(Workspace* ws) {
    ASSERT_TRUE(ws->RunNetOnce(init()));
    Tensor* data = BlobGetMutableTensor(ws->CreateBlob("data"), Device{});
    data->Resize(std::vector<int64_t>{kBatch, kSide, kSide, kChannels});
    RandomGenerator random(7);
    std::generate_n(data->mutable_data<float>(), data->numel(), [&] { return random.Uniform(); });
    Tensor* label = BlobGetMutableTensor(ws->CreateBlob("label"), Device{});
    label->Resize(kBatch);
    std::iota(label->mutable_data<int>(), label->mutable_data<int>() + kBatch, 0);
    plans_ = PlaceTraining(net(), prepared_, keep(), ws);
  }
  // The parameters after some steps, by name.
  std::map<std::string, std::vector<float>> Train() {
    Workspace ws;
    Fill(&ws);
    NetBase* running = ws.CreateNet(net());
    for (int step = 0; step < 3; ++step) EXPECT_TRUE(running->Run());
    std::map<std::string, std::vector<float>> values;
    for (const Parameter& parameter : helper_.parameters()) {
      values[parameter.name] = ValuesOf(ws, parameter.name);
    }
    values["loss"] = ValuesOf(ws, "loss");
    return values;
  }

  static std::set<std::string> keep() { return {"loss"}; }
  NetDef& net() { return *helper_.net(); }
  const NetDef& init() { return *helper_.param_init_net(); }
  int Count(const std::string& type) { return CountType(net(), type); }
  const PreparedTraining& prepared() const { return prepared_; }
  const std::vector<std::pair<Device, MemoryPlan>>& plans() const { return plans_; }

 private:
  ModelHelper helper_;
  PreparedTraining prepared_;
  std::vector<std::pair<Device, MemoryPlan>> plans_;
};

Model Prepared(const TrainingPasses& passes, TensorProto::DataType type = TensorProto::FLOAT) {
  Model model(type);
  model.Prepare(passes);
  return model;
}

TEST(TrainingPipelineTest, EachOptionRunsItsPass) {
  TrainingPasses passes = NoPasses();
  Model plain = Prepared(passes);
  EXPECT_GT(plain.Count("Conv"), 0);
  EXPECT_EQ(plain.Count("SpatialBNRelu"), 0);
  EXPECT_TRUE(plain.prepared().arenas.empty());
  EXPECT_EQ(plain.prepared().half_gradients, 0);

  passes.fuse = FusionLevel::kBatchNorm;
  EXPECT_GT(Prepared(passes).Count("SpatialBNRelu"), 0);
  EXPECT_EQ(Prepared(passes).Count("ConvStats"), 0);
  passes.fuse_conv = ConvNormFusion::kStats;
  EXPECT_GT(Prepared(passes).Count("ConvStats"), 0);

  // Of the data in float: the gradient of the cast.
  const auto writes_data_gradient = [](Model model) {
    for (const OperatorDef& op : model.net().op()) {
      if (std::count(op.output().begin(), op.output().end(), "data_cast_grad") != 0) return true;
    }
    return false;
  };
  EXPECT_TRUE(writes_data_gradient(Prepared(passes, TensorProto::BFLOAT16)));
  passes.unused_gradients = true;
  EXPECT_FALSE(writes_data_gradient(Prepared(passes, TensorProto::BFLOAT16)));

  const int sums = Prepared(passes).Count("Sum");
  passes.gradient_sums = true;
  EXPECT_LT(Prepared(passes).Count("Sum"), sums);

  EXPECT_GT(Prepared(passes).Count("MomentumSGDUpdate"), 1);
  passes.fused_updates = true;
  Model fused = Prepared(passes);
  EXPECT_EQ(fused.Count("MomentumSGDUpdate"), 0);
  EXPECT_EQ(fused.Count("MultiMomentumSGDUpdate"), 1);
  ASSERT_EQ(fused.prepared().arenas.size(), 1u);
  EXPECT_EQ(fused.prepared().filter_copies, 0);

  const auto type = TensorProto::BFLOAT16;
  passes.filter_copies = type;
  EXPECT_GT(Prepared(passes, type).prepared().filter_copies, 0);
  EXPECT_EQ(Prepared(passes, type).prepared().half_gradients, 0);
  passes.half_gradients = true;
  EXPECT_GT(Prepared(passes, type).prepared().half_gradients, 0);
}

// The order that the header promises, with all passes after the backward pass at work.
TEST(TrainingPipelineTest, PassesRunInTheDocumentedOrder) {
  TrainingPasses passes{.fuse_conv = ConvNormFusion::kPrologue,
                        .gradient_sums = true,
                        .fused_updates = true,
                        .filter_copies = TensorProto::BFLOAT16,
                        .half_gradients = true};
  Model expected(TensorProto::BFLOAT16), found(TensorProto::BFLOAT16);
  FuseOperators(&expected.net(), {FusionLevel::kAll, Model::keep()});
  FuseConvolutionsWithNorms(&expected.net(), ConvNormFusion::kPrologue, Model::keep());
  PrepareForward(passes, Model::keep(), &found.net());
  for (Model* model : {&expected, &found}) {
    model->AddUpdates();
    model->net().set_type("dag");
  }
  EXPECT_GT(RemoveUnusedGradients(&expected.net(), Model::keep()), 0);
  EXPECT_GT(FuseGradientSums(&expected.net(), Model::keep()), 0);
  std::vector<ParameterArena> arenas = FuseUpdates(expected.init(), &expected.net());
  EXPECT_GT(AddFilterCopies(TensorProto::BFLOAT16, &expected.net(), &arenas), 0);
  const int half = KeepFilterGradientsIn16Bit(&expected.net(), &arenas);
  *expected.net().add_arg() = MakeArgument("in_order", 1);

  const PreparedTraining prepared =
      PrepareTraining(found.init(), passes, Model::keep(), &found.net());
  EXPECT_EQ(found.net().DebugString(), expected.net().DebugString());
  EXPECT_GT(half, 0);
  EXPECT_EQ(prepared.half_gradients, half);
  ASSERT_EQ(prepared.arenas.size(), arenas.size());
  for (size_t g = 0; g < arenas.size(); ++g) {
    EXPECT_EQ(prepared.arenas[g].gradients, arenas[g].gradients);
    EXPECT_EQ(prepared.arenas[g].copies, arenas[g].copies);
  }
}

TEST(TrainingPipelineTest, PreparedNetsLearnTheSame) {
  const auto plain = Prepared(NoPasses()).Train();
  EXPECT_NE(plain.at("loss"), Model().Train().at("loss")) << "three updates change nothing";
  TrainingPasses planned = NoPasses();
  planned.memory_plan = true;
  EXPECT_EQ(Prepared(planned).Train(), plain) << "memory has no influence on bits";
  for (const ConvNormFusion fusion : {ConvNormFusion::kNone, ConvNormFusion::kResidual}) {
    const auto found =
        Prepared({.fuse_conv = fusion, .gradient_sums = true, .fused_updates = true}).Train();
    ASSERT_EQ(found.size(), plain.size());
    for (const auto& [name, values] : plain) ExpectClose(found.at(name), values, 1e-4f, name);
  }
}

// Operators that share memory must keep their order.
TEST(TrainingPipelineTest, MemoryIsNotPlannedForAnotherExecutor) {
  Model model(TensorProto::FLOAT);
  NetDef& net = model.net();
  const PreparedTraining prepared =
      PrepareTraining(model.init(), {.memory_plan = true}, Model::keep(), &net);
  Workspace ws;
  EXPECT_NO_THROW(PlaceTraining(net, prepared, Model::keep(), &ws));
  net.set_type("dag");
  EXPECT_THROW(PlaceTraining(net, prepared, Model::keep(), &ws), EnforceNotMet);
}

TEST(TrainingPipelineTest, PlannedMemoryLeavesOutWhatIsReadElsewhere) {
  Model model = Prepared({.fused_updates = true});
  Workspace ws;
  model.Fill(&ws);
  ASSERT_EQ(model.plans().size(), 1u);
  const auto& [device, plan] = model.plans()[0];
  EXPECT_EQ(device, Device{});
  EXPECT_LT(plan.arena_bytes, plan.unplanned_bytes);
  EXPECT_EQ(plan.slots.count("a1_conv"), 1u);
  EXPECT_EQ(plan.slots.count("loss"), 0u);
  ASSERT_EQ(model.prepared().arenas.size(), 1u);
  for (const std::string& gradient : model.prepared().arenas[0].gradients) {
    EXPECT_EQ(plan.slots.count(gradient), 0u) << gradient;
  }
  // Once more, as after a change of the batch: what the net wrote before does not count.
  BlobGetMutableTensor(ws.GetBlob("a1_conv"), Device{})->Resize(1);
  model.Fill(&ws);
  EXPECT_EQ(model.plans()[0].second.arena_bytes, plan.arena_bytes);
}

TEST(TrainingPipelineTest, PlannedMemoryNeedsTheOrderOfTheDefinition) {
  for (const std::string type : {"", "simple", "cuda_graph", "dag", "async_scheduling"}) {
    for (const bool plans : {false, true}) {
      NetDef net;
      net.set_type(type);
      TrainingPasses passes = NoPasses();
      passes.memory_plan = plans;
      PrepareTraining({}, passes, {}, &net);
      const bool may_reorder = type == "dag" || type == "async_scheduling";
      EXPECT_EQ(net.arg_size(), plans && may_reorder ? 1 : 0) << type;
    }
  }
}

TEST(TrainingPipelineTest, DevicesGetThePassesThatAreAGain) {
  const TrainingPasses host = ChooseTrainingPasses(CPU, "NHWC", TensorProto::BFLOAT16);
  EXPECT_EQ(host.fuse, FusionLevel::kAll);
  EXPECT_TRUE(host.memory_plan);
  EXPECT_TRUE(host.unused_gradients && host.fused_updates && host.gradient_sums);
  EXPECT_FALSE(host.half_gradients);
  EXPECT_EQ(host.filter_copies, TensorProto::FLOAT);
  const TrainingPasses gpu = ChooseTrainingPasses(CUDA, "NHWC", TensorProto::FLOAT16);
  EXPECT_TRUE(gpu.memory_plan && gpu.gradient_sums && gpu.fused_updates);
  EXPECT_EQ(gpu.fuse_conv, ConvNormFusion::kResidual);
  EXPECT_EQ(gpu.filter_copies, TensorProto::FLOAT16);
  EXPECT_FALSE(gpu.half_gradients) << "it rounds sums over replicas";
}

}  // namespace
}  // namespace caffe2
