#include "caffe2/utils/net_io.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "caffe2/core/logging.h"
#include "tests/core/test_data.h"

namespace caffe2 {
namespace {

// A file that goes with the object.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& suffix, const std::string& content)
      : path_(::testing::TempDir() + "net_io_" + std::to_string(getpid()) + suffix) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string ErrorOf(const std::string& path) {
  try {
    ReadNetDef(path);
  } catch (const IoError& error) {
    return error.what();
  }
  return "no error";
}

constexpr char kOldText[] =
    "name: \"device_type: CUDA\"  # device_type: CUDA\n"
    "device_option { device_type: CUDA cuda_gpu_id: 3 }\n"
    "op { type: 'Relu' input: \"x\" output: \"y\" device_option { device_type : HIP } }\n";

TEST(NetIoTest, ReadsTheOldSpellingsOfText) {
  const TemporaryFile file(".pbtxt", kOldText);
  const NetDef net = ReadNetDef(file.path());
  EXPECT_EQ(net.name(), "device_type: CUDA");
  EXPECT_EQ(net.device_option().device_type(), CUDA);
  EXPECT_EQ(net.device_option().device_id(), 3);
  EXPECT_EQ(net.op(0).device_option().device_type(), HIP);
}

TEST(NetIoTest, FindsTheFormWhateverTheName) {
  const NetDef net = ParseNetDefText(kOldText, "text");
  const TemporaryFile binary(".pbtxt", net.SerializeAsString());
  EXPECT_EQ(ReadNetDef(binary.path()).SerializeAsString(), net.SerializeAsString());
  const TemporaryFile text(".pb", kOldText);
  EXPECT_EQ(ReadNetDef(text.path()).SerializeAsString(), net.SerializeAsString());
}

TEST(NetIoTest, ErrorsNameThePathAndWhatIsWrong) {
  EXPECT_NE(ErrorOf("/no/such/file.pb").find("/no/such/file.pb: No such file"), std::string::npos);
  const TemporaryFile empty(".pb", "");
  EXPECT_NE(ErrorOf(empty.path()).find("is empty"), std::string::npos);
  const TemporaryFile text(".pbtxt", "name: \"n\"\nop { typ: \"Relu\" }\n");
  EXPECT_NE(ErrorOf(text.path()).find("line 2"), std::string::npos) << ErrorOf(text.path());
  const std::string whole = ParseNetDefText(kOldText, "text").SerializeAsString();
  const TemporaryFile truncated(".pb", whole.substr(0, whole.size() - 3));
  EXPECT_NE(ErrorOf(truncated.path()).find("truncated"), std::string::npos);
  const TemporaryFile quote(".pbtxt", "name: \"n\\");
  EXPECT_NE(ErrorOf(quote.path()).find("line 1"), std::string::npos);
  EXPECT_THROW(ReadNetDef("/"), IoError);
}

TEST(NetIoTest, ReadsPlans) {
  REQUIRE_TEST_DATA();
  for (const std::string name : {"mnist_train_plan", "mnist_test_plan"}) {
    const PlanDef plan = ReadPlanDef(testing::DataPath("caffe2_models/pbtxt/" + name + ".pbtxt"));
    EXPECT_GT(plan.network_size(), 0);
    EXPECT_GT(plan.execution_step_size(), 0);
  }
}

}  // namespace
}  // namespace caffe2
