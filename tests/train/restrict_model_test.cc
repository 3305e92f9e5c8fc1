#include "train/restrict_model.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>

#include "caffe2/core/half.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/operator.h"
#include "caffe2/core/operator_gradient.h"

namespace caffe2 {
namespace {

NetDef NetOf(const std::vector<OperatorDef>& ops) {
  NetDef net;
  for (const OperatorDef& op : ops) *net.add_op() = op;
  return net;
}

OperatorDef Op(const std::string& type, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs, const std::vector<Argument>& args = {}) {
  return GradientMakerBase::CreateOperatorDef(type, "", inputs, outputs, args);
}

std::string ErrorOf(NetDef net, const ModelLimits& limits = {}) {
  try {
    RestrictModel("the net", limits, &net);
  } catch (const EnforceNotMet& error) {
    return error.what();
  }
  return "";
}

// The text of the source file of a schema, and of the header of its stem.
std::string SourceOf(const OpSchema& schema) {
  const std::filesystem::path root(CAFFE2_SOURCE_DIR);
  std::filesystem::path path = root / schema.file().substr(schema.file().rfind("operators/"));
  std::string text;
  for (const char* extension : {".cc", ".h"}) {
    std::ifstream file(path.replace_extension(extension));
    text.append(std::istreambuf_iterator<char>(file), {});
  }
  return text;
}

// So that an operator that is added to a family does not slip through.
TEST(RestrictModelTest, ModelOperatorsOpenNothing) {
  static const std::regex opens(
      "<fstream>|fopen|<filesystem>|<fcntl|<sys/socket|<dlfcn|<thread>|system\\(|popen|getenv|"
      "\"db/db|\"distributed/|\"python/|DBReader");
  size_t checked = 0;
  for (const auto& [type, schema] : OpSchemaRegistry::All()) {
    if (!IsModelOperator(type)) continue;
    const std::string text = SourceOf(schema);
    ASSERT_FALSE(text.empty()) << "no source of " << type << " at " << schema.file();
    std::smatch match;
    EXPECT_FALSE(std::regex_search(text, match, opens))
        << type << " is a model operator, and " << schema.file() << " has " << match.str();
    ++checked;
  }
  EXPECT_GT(checked, 400u);
}

TEST(RestrictModelTest, OperatorsThatReachOutsideAreNoModelOperators) {
  for (const char* type : {"Save",
                           "Load",
                           "Checkpoint",
                           "Snapshot",
                           "CreateDB",
                           "DBExists",
                           "TensorProtosDBInput",
                           "ImageInput",
                           "Print",
                           "CreateTextFileReader",
                           "TextFileReaderRead",
                           "CreateBlobsQueue",
                           "DequeueBlobs",
                           "CreateBlobsQueueDB",
                           "FileStoreHandlerCreate",
                           "RedisStoreHandlerCreate",
                           "StoreSet",
                           "StoreGet",
                           "CreateCommonWorld",
                           "Allreduce",
                           "Python",
                           "GetAllBlobNames",
                           "StatRegistryExport",
                           "UnsafeCoalesce",
                           "NoSuchOperator",
                           ""}) {
    EXPECT_FALSE(IsModelOperator(type)) << type;
  }
  for (const char* type : {"Conv", "FC", "Relu", "Softmax", "SpatialBN", "MaxPool", "If", "While",
                           "GivenTensorFill", "ConstantFill", "Reshape", "RecurrentNetwork",
                           "GenerateProposals", "Int8Conv", "LSTMUnit", "Gather"}) {
    EXPECT_TRUE(IsModelOperator(type)) << type;
  }
}

TEST(RestrictModelTest, LoadsOnlyFromAReader) {
  EXPECT_EQ(ErrorOf(NetOf({Op("Load", {"reader"}, {"w"})})), "");
  const Argument path = MakeArgument("db", std::string("/etc/passwd"));
  EXPECT_NE(ErrorOf(NetOf({Op("Load", {}, {"w"}, {path})})).find("Load"), std::string::npos);
}

TEST(RestrictModelTest, ChecksNestedNetsAlsoAsText) {
  const NetDef bad = NetOf({Op("Save", {"x"}, {})});
  EXPECT_NE(ErrorOf(NetOf({Op("If", {"c"}, {}, {MakeArgument("then_net", bad)})})).find("Save"),
            std::string::npos);
  const Argument text = MakeArgument("step_net", std::string("op { type: \"Save\" input: \"x\" }"));
  EXPECT_NE(ErrorOf(NetOf({Op("RecurrentNetwork", {"x"}, {"y"}, {text})})).find("Save"),
            std::string::npos);
}

TEST(RestrictModelTest, LimitsLoops) {
  const NetDef body = NetOf({Op("Copy", {"x"}, {"y"})});
  NetDef net = NetOf({Op("While", {"c"}, {}, {MakeArgument("loop_net", body)})});
  RestrictModel("the net", {.max_loop_iterations = 7}, &net);
  EXPECT_EQ(ArgumentHelper(net.op(0)).GetSingleArgument<int>("max_iterations", 0), 7);
}

TEST(RestrictModelTest, NamesTheLimit) {
  const NetDef net = NetOf({Op("Copy", {"x"}, {"y"}), Op("Copy", {"y"}, {"z"})});
  EXPECT_EQ(ErrorOf(net, {.max_operators = 2}), "");
  EXPECT_NE(ErrorOf(net, {.max_operators = 1}).find("more than 1 operators"), std::string::npos);
  EXPECT_NE(ErrorOf(net, {.max_name_bytes = 3}).find("Copy"), std::string::npos);
  const std::vector<int64_t> shape = {1000, 1000};
  const NetDef fill = NetOf({Op("ConstantFill", {}, {"big"}, {MakeArgument("shape", shape)})});
  EXPECT_EQ(ErrorOf(fill, {.max_bytes = 4'000'000}), "");
  EXPECT_NE(ErrorOf(fill, {.max_bytes = 3'999'999}).find("big"), std::string::npos);
}

TEST(RestrictModelTest, AdvisesWhatTheProgramHas) {
  const NetDef net = NetOf({Op("CreateDB", {}, {"db"})});
  EXPECT_EQ(ErrorOf(net).find("trust whoever"), std::string::npos);
  EXPECT_NE(ErrorOf(net, {.trust_setting = "--trust_model"})
                .find("if you trust whoever made the model, allow everything with --trust_model"),
            std::string::npos);
}

template <typename T>
std::string FiniteErrorOf(T value) {
  Workspace ws;
  Tensor* tensor = BlobGetMutableTensor(ws.CreateBlob("w"), Device{});
  tensor->Resize(2);
  tensor->mutable_data<T>()[0] = T{};
  tensor->mutable_data<T>()[1] = value;
  try {
    CheckFinite(ws, {"absent", "w"}, "--trust_model");
  } catch (const EnforceNotMet& error) {
    return error.what();
  }
  return "";
}

TEST(CheckFiniteTest, NamesBlobAndElement) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(FiniteErrorOf(1.f), "");
  EXPECT_EQ(FiniteErrorOf(int32_t{1}), "");
  for (const std::string& text :
       {FiniteErrorOf(nan), FiniteErrorOf(double{nan}), FiniteErrorOf(ToFloat16(nan)),
        FiniteErrorOf(ToBFloat16(nan)), FiniteErrorOf(-std::numeric_limits<float>::infinity())}) {
    EXPECT_NE(text.find("element 1 of blob w"), std::string::npos) << text;
    EXPECT_NE(text.find("allow everything with --trust_model"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace caffe2
