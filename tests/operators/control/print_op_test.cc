#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include "caffe2/core/net.h"
#include "tests/core/test_operators.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

class PrintOpTest : public ::testing::Test {
 protected:
  PrintOpTest() {
    char pattern[] = "/tmp/print_op_test_XXXXXX";
    folder_ = mkdtemp(pattern);
  }
  ~PrintOpTest() override {
    for (const std::string& file : files_) unlink(file.c_str());
    rmdir(folder_.c_str());
  }
  std::string Read(const std::string& name) {
    files_.push_back(folder_ + "/" + name);
    std::ifstream file(files_.back());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string folder_;
  std::vector<std::string> files_;
};

TEST_F(PrintOpTest, WritesFiles) {
  Workspace ws(folder_);
  const auto to_file = MakeArgument("to_file", 1);
  Feed<float>(&ws, "gpu_0/X", {2, 2}, {1, 2.5f, -3, 4});
  RunOp(&ws, Op("Print", {"gpu_0/X"}, {}, {to_file}));
  EXPECT_EQ(Read("gpu_0#X.log"), "Tensor gpu_0/X of type float. Dims: (2,2,): 1,2.5,-3,4\n");
  Feed<uint8_t>(&ws, "bytes", {3}, {65, 66, 67});
  RunOp(&ws, Op("Print", {"bytes"}, {}, {to_file, MakeArgument("limit", 2)}));
  EXPECT_EQ(Read("bytes.log"), "Tensor bytes of type uint8_t. Dims: (3,): 65,66\n");
  RunOp(&ws, Op("Summarize", {"gpu_0/X"}, {"Y"}, {to_file}));
  // Deviation: sqrt((0.125^2 + 1.375^2 + 4.125^2 + 2.875^2) / 3).
  ExpectTensor(ws, "Y", {4}, {-3, 4, 1.125f, 3.0103986f});
  EXPECT_EQ(Read("gpu_0#X.summary"), "-3 4 1.125 3.0104\n");
}

TEST_F(PrintOpTest, EveryNthRunAndOtherBlobs) {
  Workspace ws(folder_);
  Feed<int64_t>(&ws, "i", {1}, {7});
  *ws.CreateBlob("text")->GetMutable<std::string>() = "abc";
  NetDef net = Net(
      "printing", {Op("Print", {"i"}, {}, {MakeArgument("to_file", 1), MakeArgument("every_n", 2)}),
                   Op("Print", {"text"}, {}, {MakeArgument("to_file", 1)})});
  net.add_external_input("i");
  net.add_external_input("text");
  ws.CreateNet(net);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ws.RunNet("printing"));
  const std::string line = "Tensor i of type int64_t. Dims: (1,): 7\n";
  EXPECT_EQ(Read("i.log"), line + line);
  EXPECT_EQ(Read("text.log").substr(0, 29), "Blob text of type std::string");
  ws.DeleteNet("printing");
}

TEST_F(PrintOpTest, BadInput) {
  Workspace nowhere(folder_ + "/missing");
  Feed<float>(&nowhere, "X", {1}, {1});
  EXPECT_THROW(nowhere.RunOperatorOnce(Op("Print", {"X"}, {}, {MakeArgument("to_file", 1)})),
               IoError);
  Feed<float>(&nowhere, "none", {0}, {});
  ExpectThrows(&nowhere, Op("Summarize", {"none"}, {"Y"}), "an empty tensor has no summary");
  ExpectThrows(&nowhere, Op("Print", {"X"}, {}, {MakeArgument("every_n", 0)}), "positive");
}

}  // namespace
}  // namespace caffe2::testing
