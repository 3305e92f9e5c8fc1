// Compares the input operators of CUDA devices with the host's.
#include "tests/operators/io/db_input_cuda_fixture.h"

namespace caffe2::testing {
namespace {

// (order, output type, crop, whether the device finishes)
using Format = std::tuple<std::string, std::string, int, bool>;
class CudaImageFormatTest : public CudaInputTest, public ::testing::WithParamInterface<Format> {
 protected:
  std::vector<Argument> FormatArgs() const {
    return {MakeArgument<std::string>("order", std::get<0>(GetParam())),
            MakeArgument<std::string>("output_type", std::get<1>(GetParam())),
            MakeArgument<int>("use_gpu_transform", std::get<3>(GetParam()))};
  }
  OperatorDef With(std::vector<Argument> args) const {
    for (const Argument& arg : FormatArgs()) args.push_back(arg);
    return InputOp(4, std::get<2>(GetParam()), args);
  }
  float Units() const {
    const std::string& type = std::get<1>(GetParam());
    return type == "float" ? 3e-6f : type == "float16" ? 0x1p-10f : 0x1p-7f;
  }
};

TEST_P(CudaImageFormatTest, NormalisesAndMirrorsToTheBit) {
  const std::string path = Write(Datums(10));
  ExpectSame(path, With({MakeArgument<int>("mirror", 1)}), 0.f);
  ExpectSame(path, With({MakeArgument<int>("is_test", 1)}), 0.f);
  ExpectSame(path,
             With({MakeArgument<int>("mirror", 1),
                   MakeArgument<std::vector<float>>("mean_per_channel", {1, 20, 300}),
                   MakeArgument<std::vector<float>>("std_per_channel", {1, 20, -3})}),
             0.f);
  ExpectSame(path, With({MakeArgument<int>("color", 0), MakeArgument<int>("mirror", 1)}), 0.f);
}

TEST_P(CudaImageFormatTest, ErasesBoxesToTheBit) {
  const std::string path = Write(Datums(10));
  for (const int color : {0, 1}) {
    ExpectSame(path,
               With({MakeArgument<int>("color", color), MakeArgument<int>("mirror", 1),
                     MakeArgument<float>("random_erasing", 1.f)}),
               0.f);
  }
}

TEST_P(CudaImageFormatTest, ChangesColours) {
  const std::string path = Write(Datums(10));
  const Argument jitter = MakeArgument<int>("color_jitter", 1),
                 lighting = MakeArgument<int>("color_lighting", 1),
                 mirror = MakeArgument<int>("mirror", 1);
  ExpectSame(path, With({jitter}), Units());
  ExpectSame(path, With({lighting, mirror}), Units());
  ExpectSame(path, With({jitter, lighting, mirror}), Units());
}

TEST_P(CudaImageFormatTest, ScalesEncodedImagesAndTakesFloats) {
  SKIP_WITHOUT_IMAGE_FILES();
  ExpectSame(Write(EncodedDatums(7)),
             With({MakeArgument<int>("scale", 20), MakeArgument<int>("mirror", 1),
                   MakeArgument<int>("scale_jitter_type", 1)}),
             0.f);
  ExpectSame(Write(FloatDatums(7)), With({MakeArgument<int>("mirror", 1)}), 0.f);
  ExpectSame(Write(FloatDatums(7)), With({MakeArgument<int>("color_jitter", 1)}), Units());
}

INSTANTIATE_TEST_SUITE_P(Formats, CudaImageFormatTest,
                         ::testing::Combine(::testing::Values("NHWC", "NCHW"),
                                            ::testing::Values("float", "float16", "bfloat16"),
                                            ::testing::Values(15, 16),
                                            ::testing::Values(false, true)));

TEST_F(CudaInputTest, TheDefaultOrderIsThatOfCaffe2) {
  const std::string path = Write(Datums(4));
  for (const bool transform : {false, true}) {
    OperatorDef op = InputOp(2, 8, {MakeArgument<int>("use_gpu_transform", transform)});
    InputNet net(path, op, true);
    net.Run();
    const std::vector<int64_t> dims =
        transform ? std::vector<int64_t>{2, 3, 8, 8} : std::vector<int64_t>{2, 8, 8, 3};
    EXPECT_EQ(Fetch(net.ws(), "data").sizes(), dims);
    op = OnCuda(op);
    EXPECT_EQ(GetDimsVector(OpSchemaRegistry::Schema("ImageInput")->InferTensor(op, {})[0]), dims);
  }
}

TEST_F(CudaInputTest, SameBitsWhateverThreadsAndShards) {
  const std::string path = Write(Datums(11));
  const auto images = [&](int shards, int shard, int threads) {
    InputNet net(path,
                 InputOp(3, 12,
                         {MakeArgument<int>("mirror", 1), MakeArgument<int>("color_jitter", 1),
                          MakeArgument<int>("use_gpu_transform", 1),
                          MakeArgument<int>("decode_threads", threads)}),
                 true,
                 {MakeArgument<int>("num_shards", shards), MakeArgument<int>("shard_id", shard),
                  MakeArgument<bool>("shuffle", true)});
    std::vector<std::vector<float>> result;
    for (int batch = 0; batch < 10; ++batch) {
      net.Run();
      const std::vector<float> data = net.Data();
      for (int i = 0; i < 3; ++i) {
        result.emplace_back(data.begin() + i * 432, data.begin() + (i + 1) * 432);
      }
    }
    return result;
  };
  const auto whole = images(1, 0, 1);
  EXPECT_EQ(images(1, 0, 4), whole);
  for (int shard = 0; shard < 2; ++shard) {
    const auto part = images(2, shard, 3);
    for (int i = 0; i < 15; ++i) EXPECT_EQ(part[i], whole[2 * i + shard]) << i;
  }
}

TEST_F(CudaInputTest, ReplicasOnTwoDevicesTakeTurns) {
  const int last = NumDevices(CUDA) - 1;
  if (last == 0) GTEST_SKIP() << "two devices are needed";
  const std::string path = Write(Datums(20));
  Workspace ws;
  CAFFE_ENFORCE(ws.RunOperatorOnce(
      Op("CreateDB", {}, {"reader"},
         {MakeArgument<std::string>("db", path), MakeArgument<std::string>("db_type", "minidb")})));
  NetDef net;
  net.set_name("replicas");
  net.set_type("dag");
  net.add_external_input("reader");
  for (const int id : {0, last}) {
    OperatorDef op = OnCuda(InputOp(2, 8, {MakeArgument<int>("use_gpu_transform", 1)}), id);
    op.set_output(0, "data" + std::to_string(id));
    op.set_output(1, "label" + std::to_string(id));
    *net.add_op() = op;
  }
  ws.CreateNet(net);
  for (int i = 0; i < 20; i += 4) {
    ASSERT_TRUE(ws.RunNet("replicas"));
    EXPECT_EQ(OnHost<int>(ws, "label0"), std::vector<int>({i, i + 1}));
    EXPECT_EQ(OnHost<int>(ws, "label" + std::to_string(last)), std::vector<int>({i + 2, i + 3}));
    EXPECT_EQ(Fetch(ws, "data" + std::to_string(last)).device(), (Device{CUDA, last}));
  }
}

TEST_F(CudaInputTest, OutputsStayWhereTheyAre) {
  const std::string path = Write(Datums(10));
  for (const bool transform : {false, true}) {
    InputNet net(path, InputOp(4, 8, {MakeArgument<int>("use_gpu_transform", transform)}), true);
    std::set<const void*> data, labels;
    for (int batch = 0; batch < 8; ++batch) {
      net.Run();
      data.insert(Fetch(net.ws(), "data").raw_data());
      labels.insert(Fetch(net.ws(), "label").raw_data());
    }
    EXPECT_EQ(data.size(), 1u);
    EXPECT_EQ(labels.size(), 1u);
  }
}

// The input runs between the recordings, with an input of the net or without.
TEST_F(CudaInputTest, RecordedNetsGetEachBatch) {
  const std::string path = Write(Datums(10));
  for (const bool own_reader : {false, true}) {
    OperatorDef op =
        InputOp(4, 8,
                {MakeArgument<int>("mirror", 1), MakeArgument<int>("use_gpu_transform", 1),
                 MakeArgument<std::string>("order", "NHWC"), MakeArgument<std::string>("db", path),
                 MakeArgument<std::string>("db_type", "minidb")});
    if (own_reader) op.clear_input();
    InputNet host(path, op, false), device(path, op, true);
    NetDef net;
    net.set_name("recorded");
    net.set_type("cuda_graph");
    net.add_external_input("reader");
    *net.add_op() = OnCuda(op);
    *net.add_op() = OnCuda(Op("Scale", {"data"}, {"scaled"}, {MakeArgument<float>("scale", 2.f)}));
    *net.add_op() = OnCuda(Op("Sum", {"scaled", "data"}, {"sum"}));
    device.ws().DeleteNet("input");
    device.ws().CreateNet(net);
    for (int batch = 0; batch < 9; ++batch) {
      host.Run();
      ASSERT_TRUE(device.ws().RunNet("recorded"));
      EXPECT_EQ(device.Labels(), host.Labels()) << batch;
      const std::vector<float> data = host.Data(), sum = OnHost<float>(device.ws(), "sum");
      ASSERT_EQ(sum.size(), data.size());
      for (size_t i = 0; i < sum.size(); ++i) EXPECT_FLOAT_EQ(sum[i], 3 * data[i]);
    }
  }
}

TEST_F(CudaInputTest, ABadImageSpoilsItsBatchOnlyAndIsNamed) {
  SKIP_WITHOUT_IMAGE_FILES();
  for (const bool transform : {false, true}) {
    auto values = EncodedDatums(8);
    values[3].resize(values[3].size() / 2);
    const std::string path = Write(values);
    InputNet net(path,
                 InputOp(2, 16,
                         {MakeArgument<int>("scale", 20),
                          MakeArgument<int>("use_gpu_transform", transform)}),
                 true);
    net.Run();
    const std::string error = net.ErrorOfRun();
    EXPECT_NE(error.find("00000003"), std::string::npos) << error;
    EXPECT_NE(error.find(path), std::string::npos) << error;
    net.Run();
    EXPECT_EQ(net.Labels(), std::vector<int>({4, 5}));
  }
}

// A batch is of floats as soon as one of its images is, wherever that stands.
TEST_F(CudaInputTest, ImagesOfBytesAndOfFloatsInOneBatch) {
  for (const int at : {0, 1}) {
    auto values = Datums(3);
    values[at] = FloatDatums(1)[0];
    const std::string path = Write(values);
    InputNet host(path, InputOp(3, 16, {MakeArgument<std::string>("order", "NHWC")}), false);
    InputNet device(path,
                    InputOp(3, 16,
                            {MakeArgument<int>("use_gpu_transform", 1),
                             MakeArgument<std::string>("order", "NHWC")}),
                    true);
    host.Run();
    device.Run();
    const std::vector<float> expected = host.Data(), found = device.Data();
    ASSERT_EQ(expected.size(), found.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_FLOAT_EQ(found[i], expected[i]) << i;
  }
}

TEST_F(CudaInputTest, RefusesCropsThatAKernelCannotCount) {
  const std::string path = Write(Datums(1));
  EXPECT_THROW(InputNet(path, InputOp(1, 40000, {MakeArgument<int>("use_gpu_transform", 1)}), true),
               EnforceNotMet);
}

TEST_F(CudaInputTest, OutOfMemoryTellsTheBytes) {
  if (!IsEmulated()) GTEST_SKIP() << "the emulated device 1 has little memory";
  const std::string path = Write(EncodedDatums(2));
  OperatorDef op = OnCuda(
      InputOp(2, 400, {MakeArgument<int>("scale", 400), MakeArgument<int>("use_gpu_transform", 0)}),
      1);
  InputNet net(path, op, false);
  const std::string error = net.ErrorOfRun();
  EXPECT_NE(error.find("out of memory on cuda:1: cannot allocate 3840000 bytes for a batch of "
                       "input; 1048576 of 1048576 are free"),
            std::string::npos)
      << error;
}

// Nets go, and readers jump, while batches are decoded and copied ahead.
TEST_F(CudaInputTest, StopsAndRestoresWhileBatchesAreUnderWay) {
  const std::string path = Write(Datums(12));
  for (int batches = 0; batches < 4; ++batches) {
    InputNet net(path, InputOp(3, 12, {MakeArgument<int>("use_gpu_transform", 1)}), true);
    for (int batch = 0; batch < batches; ++batch) net.Run();
    net.ws().DeleteNet("input");
    EXPECT_EQ(net.reader().Committed(), 3 * batches) << "what was read ahead does not count";
  }
  InputNet net(path, InputOp(3, 12, {MakeArgument<int>("use_gpu_transform", 1)}), true);
  std::vector<std::vector<float>> seen;
  for (int batch = 0; batch < 8; ++batch) {
    net.Run();
    seen.push_back(net.Data());
  }
  for (const int start : {5, 0, 7}) {
    net.reader().Restore(3 * start);
    for (int batch = start; batch < 8; ++batch) {
      net.Run();
      EXPECT_EQ(net.Data(), seen[batch]) << batch;
    }
  }
}

TEST_F(CudaInputTest, WaitingForACopyCounts) {
  if (!IsEmulated()) GTEST_SKIP() << "emulated copies are done when they are waited for";
  InputNet net(Write(Datums(4)), InputOp(2, 8), true);
  net.Run();
  const double before = net.reader().WaitedSeconds();
  // A thread that decodes may have done some of the copies, for want of room: not all of them.
  for (int batch = 0; batch < 30; ++batch) net.Run();
  EXPECT_GT(net.reader().WaitedSeconds(), before);
}

TEST_F(CudaInputTest, TensorProtosComeByTheCopyStreamToo) {
  std::vector<std::string> values;
  RandomGenerator random(6);
  for (int i = 0; i < 7; ++i) {
    TensorProtos protos;
    protos.ParseFromString(
        db::MakeTensorProtos(2, 5 + i % 2, 1, RandomBytes(10 + 2 * (i % 2), &random), i));
    TensorProto* text = protos.add_protos();
    text->set_data_type(TensorProto::STRING);
    text->add_dims(1);
    text->add_string_data("text " + std::to_string(i));
    values.push_back(protos.SerializeAsString());
  }
  // With batch_size 0, records of different shapes.
  const OperatorDef op = Op("TensorProtosDBInput", {"reader"}, {"data", "label", "text"});
  const std::string path = Write(values);
  InputNet host(path, op, false), device(path, op, true);
  for (int i = 0; i < 20; ++i) {
    host.Run();
    device.Run();
    EXPECT_EQ(Fetch(device.ws(), "data").device(), (Device{CUDA, 0}));
    EXPECT_EQ(Fetch(device.ws(), "data").sizes(), Fetch(host.ws(), "data").sizes());
    EXPECT_EQ(OnHost<uint8_t>(device.ws(), "data"), OnHost<uint8_t>(host.ws(), "data"));
    EXPECT_EQ(device.Labels(), host.Labels());
    EXPECT_EQ(FetchValues<std::string>(device.ws(), "text"),
              FetchValues<std::string>(host.ws(), "text"));
  }
}

}  // namespace
}  // namespace caffe2::testing
