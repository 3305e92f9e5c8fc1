#include <gtest/gtest.h>

#include "caffe2/core/blob_serialization.h"
#include "db/db_reader.h"
#include "db/record_writer.h"
#include "tests/db/temporary_directory.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

class DBInputTest : public ::testing::Test {
 protected:
  void Write(const std::string& db_type, const std::vector<std::string>& values) {
    path_ = directory_.Path(db_type);
    db::RecordWriter writer(db_type, path_);
    for (const std::string& value : values) writer.Add(value);
    writer.Finish();
    db_type_ = db_type;
  }
  // 2x3x1 images whose bytes are i, i+1, ..., with label 1000 * i.
  static std::vector<std::string> Images(int n) {
    std::vector<std::string> values;
    for (int i = 0; i < n; ++i) {
      std::string pixels;
      for (int k = 0; k < 6; ++k) pixels.push_back(static_cast<char>(i + k));
      values.push_back(db::MakeTensorProtos(2, 3, 1, pixels, 1000 * i));
    }
    return values;
  }
  void CreateReader(std::vector<Argument> args = {}) {
    args.push_back(MakeArgument<std::string>("db", path_));
    args.push_back(MakeArgument<std::string>("db_type", db_type_));
    RunOp(&ws_, Op("CreateDB", {}, {"reader"}, args), kInferenceOptional);
  }
  db::DBReader& reader() {
    return **ws_.GetBlob("reader")->GetMutable<std::unique_ptr<db::DBReader>>();
  }
  void CreateNet(int batch_size) {
    NetDef net;
    net.set_name("input");
    net.add_external_input("reader");
    *net.add_op() = Op("TensorProtosDBInput", {"reader"}, {"data", "label"},
                       {MakeArgument<int>("batch_size", batch_size)});
    ws_.CreateNet(net, true);
  }
  std::vector<int> Labels() {
    CAFFE_ENFORCE(ws_.RunNet("input"));
    return FetchValues<int>(ws_, "label");
  }

  TemporaryDirectory directory_;
  std::string path_, db_type_;
  Workspace ws_;
};

TEST_F(DBInputTest, ReadsBatches) {
  for (const std::string db_type : {"lmdb", "leveldb", "minidb"}) {
    Write(db_type, Images(5));
    ws_.DeleteNet("input");
    CreateReader();
    RunOp(&ws_,
          Op("TensorProtosDBInput", {"reader"}, {"data", "label"},
             {MakeArgument<int>("batch_size", 3)}),
          kInferenceOptional);
    EXPECT_EQ(Fetch(ws_, "data").sizes(), std::vector<int64_t>({3, 2, 3, 1}));
    EXPECT_EQ(FetchValues<uint8_t>(ws_, "data"),
              std::vector<uint8_t>({0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(Fetch(ws_, "label").sizes(), std::vector<int64_t>({3}));
    EXPECT_EQ(FetchValues<int>(ws_, "label"), std::vector<int>({0, 1000, 2000}));
    CreateNet(3);
    EXPECT_EQ(Labels(), std::vector<int>({3000, 4000, 0})) << "the next batch, over the end";
    ws_.DeleteNet("input");
    ws_.RemoveBlob("reader");
  }
}

TEST_F(DBInputTest, BatchSizeZeroIsOneRecordAsItIs) {
  Write("minidb", Images(3));
  CreateReader();
  CreateNet(0);
  EXPECT_EQ(Labels(), std::vector<int>({0}));
  EXPECT_EQ(Fetch(ws_, "data").sizes(), std::vector<int64_t>({2, 3, 1}));
  EXPECT_EQ(Fetch(ws_, "label").dim(), 0);
  EXPECT_EQ(Labels(), std::vector<int>({1000}));
}

TEST_F(DBInputTest, PositionCountsBatchesOfTheNetAndRestores) {
  Write("lmdb", Images(40));
  CreateReader({MakeArgument<bool>("shuffle", true), MakeArgument<int>("seed", 3),
                MakeArgument<int>("num_shards", 3), MakeArgument<int>("shard_id", 1)});
  CreateNet(4);
  EXPECT_EQ(reader().Committed(), 0);
  std::vector<std::vector<int>> seen;
  for (int i = 0; i < 20; ++i) seen.push_back(Labels());
  EXPECT_EQ(reader().Committed(), 80);
  for (const int batch : {3, 17, 0}) {
    reader().Restore(4 * batch);
    for (int i = batch; i < 20; ++i) EXPECT_EQ(Labels(), seen[i]) << i;
  }
}

TEST_F(DBInputTest, TwoOperatorsOfOneNetTakeTurns) {
  Write("lmdb", Images(100));
  CreateReader();
  NetDef net;
  net.set_name("replicas");
  net.set_type("dag");
  net.add_external_input("reader");
  for (const std::string replica : {"cpu_0/", "cpu_1/"}) {
    *net.add_op() = Op("TensorProtosDBInput", {"reader"}, {replica + "data", replica + "label"},
                       {MakeArgument<int>("batch_size", 2)});
  }
  ws_.CreateNet(net);
  for (int i = 0; i < 100; i += 4) {
    ASSERT_TRUE(ws_.RunNet("replicas"));
    EXPECT_EQ(FetchValues<int>(ws_, "cpu_0/label"), std::vector<int>({1000 * i, 1000 * (i + 1)}));
    EXPECT_EQ(FetchValues<int>(ws_, "cpu_1/label"),
              std::vector<int>({1000 * (i + 2), 1000 * (i + 3)}));
  }
}

TEST_F(DBInputTest, OtherElementTypesAndEncodings) {
  TensorProtos protos;
  const auto add = [&protos](const Tensor& tensor) {
    SerializeTensor(tensor, "", 0, tensor.numel(), protos.add_protos());
  };
  add(Tensor({2}, std::vector<float>{1.5f, -2.f}));
  add(Tensor({1, 2}, std::vector<int64_t>{-1, int64_t{1} << 40}));
  add(Tensor({1}, std::vector<std::string>{"text"}));
  add(Tensor({3}, std::vector<uint8_t>{1, 200, 255}));  // in int32_data
  add(Tensor({2}, std::vector<int32_t>{-5, 7}));
  protos.mutable_protos(0)->clear_segment();
  Write("minidb", {protos.SerializeAsString(), protos.SerializeAsString()});
  CreateReader();
  RunOp(&ws_,
        Op("TensorProtosDBInput", {"reader"}, {"f", "l", "s", "b", "i"},
           {MakeArgument<int>("batch_size", 2)}),
        kInferenceOptional);
  EXPECT_EQ(FetchValues<float>(ws_, "f"), std::vector<float>({1.5f, -2.f, 1.5f, -2.f}));
  EXPECT_EQ(FetchValues<int64_t>(ws_, "l"),
            std::vector<int64_t>({-1, int64_t{1} << 40, -1, int64_t{1} << 40}));
  EXPECT_EQ(FetchValues<std::string>(ws_, "s"), std::vector<std::string>({"text", "text"}));
  EXPECT_EQ(FetchValues<uint8_t>(ws_, "b"), std::vector<uint8_t>({1, 200, 255, 1, 200, 255}));
  EXPECT_EQ(FetchValues<int32_t>(ws_, "i"), std::vector<int32_t>({-5, 7, -5, 7}));
}

TEST_F(DBInputTest, BadRecordsAreErrorsWithKeyAndPath) {
  std::vector<std::string> values = Images(6);
  const auto message_of_second_batch = [&](const std::string& bad) {
    values[4] = bad;
    ws_.DeleteNet("input");
    Write("minidb", values);
    CreateReader();
    CreateNet(3);
    Labels();
    std::string message;
    try {
      Labels();
    } catch (const EnforceNotMet& error) {
      message = error.what();
    }
    EXPECT_NE(message.find("00000004"), std::string::npos) << message;
    EXPECT_NE(message.find(path_), std::string::npos) << message;
    std::filesystem::remove_all(path_);
    return message;
  };
  const auto has = [](const std::string& message, const std::string& text) {
    EXPECT_NE(message.find(text), std::string::npos) << message;
  };
  has(message_of_second_batch("junk"), "not a TensorProtos");
  has(message_of_second_batch(db::MakeDatum(1, 1, 1, "x", 1)), "Datum");
  has(message_of_second_batch(db::MakeTensorProtos(3, 2, 1, "123456", 1)), "[3, 2, 3, 1]");
  TensorProtos three;
  three.ParseFromString(values[0]);
  *three.add_protos() = three.protos(0);
  has(message_of_second_batch(three.SerializeAsString()),
      "one tensor for each of the 2 outputs, found 3");
  TensorProtos few;
  few.ParseFromString(values[0]);
  few.mutable_protos(0)->set_byte_data("12345");
  has(message_of_second_batch(few.SerializeAsString()), "must have");
}

TEST_F(DBInputTest, HugeShapeIsRefused) {
  TensorProtos protos;
  protos.ParseFromString(Images(1)[0]);
  protos.mutable_protos(0)->set_dims(0, int64_t{1} << 40);
  Write("minidb", {protos.SerializeAsString()});
  CreateReader();
  ExpectThrows(&ws_, Op("TensorProtosDBInput", {"reader"}, {"data", "label"}), "00000000");
}

TEST_F(DBInputTest, BadArguments) {
  Write("minidb", Images(3));
  ExpectThrows(&ws_, Op("CreateDB", {}, {"r"}, {MakeArgument<std::string>("db", "nowhere")}),
               "nowhere");
  CreateReader();
  ExpectThrows(&ws_,
               Op("TensorProtosDBInput", {"reader"}, {"data", "label"},
                  {MakeArgument<int>("batch_size", -1)}),
               "batch_size");
}

}  // namespace
}  // namespace caffe2::testing
