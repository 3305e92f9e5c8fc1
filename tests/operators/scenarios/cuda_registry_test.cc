// Every operator has a CUDA version or a reason why not (OpSchema::CpuOnly).
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/operator.h"
#include "caffe2/graph/conv_norm_fusion.h"
#include "caffe2/graph/fusion.h"
#include "caffe2/model/layers.h"
#include "caffe2/model/networks.h"
#include "caffe2/model/optimizer.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// What the training nets of LeNet and of the ResNets are made of, with all fusions.
std::set<std::string> TypesOfTrainers() {
  std::set<std::string> types;
  for (const std::string network : {"lenet", "resnet20_cifar", "resnet50"}) {
    ModelHelper model("m", {});
    NetworkOptions shape;
    shape.image_size = network == "lenet" ? 28 : network == "resnet50" ? 224 : 32;
    const std::string scores = AddNetwork(&model, network, "data", shape);
    const auto [softmax, loss] = brew::SoftmaxWithLoss(&model, scores, "label", "softmax", "loss");
    brew::Accuracy(&model, softmax, "label", "accuracy");
    FuseOperators(model.net(), {});
    FuseConvolutionsWithNorms(model.net(), ConvNormFusion::kResidual);
    model.AddGradientOperators({{loss, ""}});
    AddWeightDecay(&model, 1e-4f);
    if (network == "lenet") {
      BuildAdam(&model, {});
    } else {
      BuildSgd(&model, {});
    }
    for (const NetDef* net : {model.net(), model.param_init_net()}) {
      for (const OperatorDef& op : net->op()) types.insert(op.type());
    }
  }
  return types;
}

std::set<std::string> TypesOf(DeviceType device) {
  std::set<std::string> types;
  for (const std::string& key : DeviceOperatorRegistry(device)->Keys()) {
    types.insert(key.substr(0, key.find("_ENGINE_")));
  }
  return types;
}

TEST(CudaRegistryTest, AnOperatorHasACudaVersionOrAReasonWhyNot) {
  if (!LoadDeviceBackend(CUDA)) GTEST_SKIP() << DeviceProblem(CUDA);
  const std::set<std::string> cuda = TypesOf(CUDA);
  for (const std::string& type : TypesOf(CPU)) {
    const OpSchema* schema = OpSchemaRegistry::Schema(type);
    ASSERT_NE(schema, nullptr) << type;
    EXPECT_NE(cuda.count(type) != 0, !schema->cpu_only().empty())
        << type
        << (cuda.count(type) != 0 ? " has a CUDA version, and says that it is for the CPU only"
                                  : " has neither a CUDA version nor a reason");
  }
}

TEST(CudaRegistryTest, OperatorsForTheCpuOnlyExistThere) {
  const std::set<std::string> cpu = TypesOf(CPU);
  int cpu_only = 0;
  for (const auto& [type, schema] : OpSchemaRegistry::All()) {
    if (schema.cpu_only().empty()) continue;
    EXPECT_TRUE(cpu.count(type)) << type << " does not exist";
    ++cpu_only;
  }
  EXPECT_GT(cpu_only, 200);
}

// Of what an iteration of a trainer runs only the counter and the rate stay on the host.
TEST(CudaRegistryTest, OperatorsOfTheTrainersHaveCudaVersions) {
  if (!LoadDeviceBackend(CUDA)) GTEST_SKIP() << DeviceProblem(CUDA);
  const std::set<std::string> cuda = TypesOf(CUDA);
  std::set<std::string> on_host;
  for (const std::string& type : TypesOfTrainers()) {
    if (!cuda.count(type)) on_host.insert(type);
  }
  EXPECT_EQ(on_host, (std::set<std::string>{"AtomicIter", "CreateMutex"}));
}

TEST(CudaRegistryTest, CudaOperatorsHaveSchemas) {
  if (!LoadDeviceBackend(CUDA)) GTEST_SKIP() << DeviceProblem(CUDA);
  for (const std::string& type : TypesOf(CUDA)) {
    if (type == "HostFallback") continue;  // it stands for others
    EXPECT_NE(OpSchemaRegistry::Schema(type), nullptr) << type;
  }
}

}  // namespace
}  // namespace caffe2::testing
