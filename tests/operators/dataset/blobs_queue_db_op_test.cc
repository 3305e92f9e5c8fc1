// CreateBlobsQueueDB: input operators that read a queue.
#include <thread>

#include "caffe2/core/net.h"
#include "db/batch_pipeline.h"
#include "db/db_reader.h"
#include "operators/dataset/blobs_queue.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

class BlobsQueueDBTest : public ::testing::Test {
 protected:
  void Create(int num_blobs, const std::vector<Argument>& args = {}) {
    RunOp(&ws_,
          Op("CreateBlobsQueue", {}, {"queue"},
             {MakeArgument("capacity", 100), MakeArgument("num_blobs", num_blobs)}),
          true);
    RunOp(&ws_, Op("CreateBlobsQueueDB", {"queue"}, {"reader"}, args), true);
  }
  // Puts record i in: one tensor with i, as text.
  void Put(int i, bool as_tensor = false) {
    TensorProtos record;
    TensorProto* proto = record.add_protos();
    proto->set_data_type(TensorProto::INT32);
    proto->add_int32_data(i);
    if (as_tensor) {
      Feed<std::string>(&ws_, "record", {1}, {record.SerializeAsString()});
    } else {
      *ws_.CreateBlob("record")->GetMutable<std::string>() = record.SerializeAsString();
    }
    RunOp(&ws_, Op("EnqueueBlobs", {"queue", "record"}, {"record"}), true);
  }
  void Close() { RunOp(&ws_, Op("CloseBlobsQueue", {"queue"}, {}), true); }
  NetBase* InputNet(int batch_size) {
    NetDef net;
    net.set_name("input");
    *net.add_op() =
        Op("TensorProtosDBInput", {"reader"}, {"x"}, {MakeArgument("batch_size", batch_size)});
    return ws_.CreateNet(net, /*overwrite=*/true);
  }
  Fetched<int> Values() { return FetchValues<int>(ws_, "x"); }

  Workspace ws_;
};

TEST_F(BlobsQueueDBTest, ReadsRecordsInOrder) {
  Create(1);
  NetBase* net = InputNet(2);
  for (int i = 0; i < 5; ++i) Put(i, /*as_tensor=*/i % 2 == 0);
  // What is read ahead waits for the sixth record; the net does not.
  ASSERT_TRUE(net->Run());
  EXPECT_EQ(Values(), (std::vector<int>{0, 1}));
  ASSERT_TRUE(net->Run());
  EXPECT_EQ(Values(), (std::vector<int>{2, 3}));
  Put(5);
  ASSERT_TRUE(net->Run());
  EXPECT_EQ(Values(), (std::vector<int>{4, 5}));
  Close();
  EXPECT_THROW(net->Run(), IoError);
}

TEST_F(BlobsQueueDBTest, GivesUpAfterATime) {
  Create(1, {MakeArgument("timeout_secs", 0.05f)});
  NetBase* net = InputNet(1);
  try {
    net->Run();
    FAIL() << "there was no record";
  } catch (const IoError& error) {
    EXPECT_NE(std::string(error.what()).find("gave no record"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("queue"), std::string::npos) << error.what();
  }
}

TEST_F(BlobsQueueDBTest, WaitsNoLongerThanItIsWanted) {
  Create(1);
  Put(7);
  ASSERT_TRUE(InputNet(1)->Run());
  ws_.DeleteNet("input");  // while its reader waits for the next record
  {
    // Two readers: one waits for the record, the other for the first one.
    const auto& reader = *ws_.GetBlob("reader")->Get<std::unique_ptr<db::DBReader>>();
    const auto nothing = [](db::InputBatch*) {};
    const auto decode = [](db::InputBatch*, int) {};
    db::BatchPipeline first({}, nothing, decode), second({}, nothing, decode);
    for (db::BatchPipeline* pipeline : {&first, &second}) {
      pipeline->Attach(reader);
      pipeline->Start();
    }
  }
  NetBase* net = InputNet(1);
  std::thread stopper([this] { ws_.RequestStop(); });
  EXPECT_THROW(net->Run(), Error);
  stopper.join();
}

TEST_F(BlobsQueueDBTest, KeyAndValueAreChosen) {
  Create(3, {MakeArgument("key_blob_index", 2), MakeArgument("value_blob_index", 1)});
  Feed<float>(&ws_, "other", {1}, {0});
  Feed<std::string>(&ws_, "value", {1}, {"v"});
  *ws_.CreateBlob("key")->GetMutable<std::string>() = "k";
  RunOp(&ws_, Op("EnqueueBlobs", {"queue", "other", "value", "key"}, {"other", "value", "key"}),
        true);
  const auto& reader = ws_.GetBlob("reader")->Get<std::unique_ptr<db::DBReader>>();
  db::RecordBatch batch;
  reader->ReadBatch(1, &batch);
  EXPECT_EQ(batch.records[0].key, "k");
  EXPECT_EQ(batch.records[0].value, "v");
  Feed<float>(&ws_, "key", {1}, {0});
  RunOp(&ws_, Op("EnqueueBlobs", {"queue", "other", "value", "key"}, {"other", "value", "key"}),
        true);
  EXPECT_THROW(reader->ReadBatch(1, &batch), EnforceNotMet);
}

TEST_F(BlobsQueueDBTest, RecordsComeOnce) {
  Create(1);
  const auto& reader = ws_.GetBlob("reader")->Get<std::unique_ptr<db::DBReader>>();
  EXPECT_THROW(reader->KeyAtPosition(), EnforceNotMet);
  EXPECT_THROW(reader->Visit([](const std::string&, const std::string&) { return true; }),
               EnforceNotMet);
  ExpectThrows(&ws_,
               Op("CreateBlobsQueueDB", {"queue"}, {"r"}, {MakeArgument("value_blob_index", 1)}),
               "value_blob_index (1) is out of range for records of 1 blobs");
}

}  // namespace
}  // namespace caffe2::testing
