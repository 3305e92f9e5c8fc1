#include <unistd.h>

#include <fstream>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

class TextFileReaderTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) { std::ofstream(path) << text; }
  ~TextFileReaderTest() override { unlink(path.c_str()); }
  OperatorDef Create(int passes) const {
    return Op("CreateTextFileReader", {}, {"r"},
              {MakeArgument("filename", path), MakeArgument("num_passes", passes),
               MakeArgument("field_types",
                            Ints{TensorProto::STRING, TensorProto::FLOAT, TensorProto::INT64})});
  }
  const std::string path = ::testing::TempDir() + "text_file_reader_" + std::to_string(getpid());
  Workspace ws;
};

TEST_F(TextFileReaderTest, ReadsLines) {
  Write("a\t1.5\t1\nb\\\tc\t-2\t22\nd\t3e2\t-3");
  RunOp(&ws, Create(2), true);
  const OperatorDef read =
      Op("TextFileReaderRead", {"r"}, {"s", "f", "i"}, {MakeArgument("batch_size", 4)});
  RunOp(&ws, read, true);
  EXPECT_EQ(FetchValues<std::string>(ws, "s"), (Strings{"a", "b\tc", "d", "a"}));
  ExpectTensor(ws, "f", {4}, {1.5f, -2, 300, 1.5f});
  EXPECT_EQ(FetchValues<int64_t>(ws, "i"), (Longs{1, 22, -3, 1}));
  RunOp(&ws, read, true);
  EXPECT_EQ(FetchValues<std::string>(ws, "s"), (Strings{"b\tc", "d"}));
  RunOp(&ws, read, true);
  EXPECT_EQ(Fetch(ws, "f").sizes(), Longs{0});
}

TEST_F(TextFileReaderTest, RejectsBadFiles) {
  EXPECT_THROW(ws.RunOperatorOnce(Create(1)), IoError);
  Write("a\t1\t2\nb\t3\n");
  const OperatorDef read = Op("TextFileReaderRead", {"r"}, {"s", "f", "i"});
  RunOp(&ws, Create(1), true);
  RunOp(&ws, read, true);
  ExpectThrows(&ws, read, "line 2 of ");
  Write("a\tone\t2\n");
  RunOp(&ws, Create(1), true);
  ExpectThrows(&ws, read, "\"one\" is not a float");
  Write("");
  RunOp(&ws, Create(0), true);
  ExpectThrows(&ws, read, "is empty");
  RunOp(&ws, Create(1), true);
  ExpectThrows(&ws, Op("TextFileReaderRead", {"r"}, {"s"}),
               "there must be one output for each of the 3 fields of");
}

TEST_F(TextFileReaderTest, AReadErrorIsNotTheEnd) {
  RunOp(&ws,
        Op("CreateTextFileReader", {}, {"r"},
           {MakeArgument("filename", ::testing::TempDir()),  // opens, but cannot be read
            MakeArgument("field_types", Ints{TensorProto::STRING})}),
        true);
  EXPECT_THROW(ws.RunOperatorOnce(Op("TextFileReaderRead", {"r"}, {"s"})), IoError);
}

}  // namespace
}  // namespace caffe2::testing
