// Input operators on CUDA devices, against those of the host.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "caffe2/core/half.h"
#include "caffe2/core/random.h"
#include "caffe2/proto/caffe_datum.pb.h"
#include "db/db_reader.h"
#include "db/image/image_codec.h"
#include "db/record_writer.h"
#include "tests/db/temporary_directory.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

constexpr int kHeight = 18, kWidth = 21;

std::string RandomBytes(int n, RandomGenerator* random) {
  std::string bytes;
  for (int i = 0; i < n; ++i) bytes.push_back(static_cast<char>(random->UniformInt(256)));
  return bytes;
}

// Colour images of noise; label i.
std::vector<std::string> Datums(int n, int height = kHeight, int width = kWidth) {
  RandomGenerator random(3);
  std::vector<std::string> values;
  for (int i = 0; i < n; ++i) {
    values.push_back(db::MakeDatum(3, height, width, RandomBytes(3 * height * width, &random), i));
  }
  return values;
}
std::vector<std::string> FloatDatums(int n) {
  RandomGenerator random(4);
  std::vector<std::string> values;
  for (int i = 0; i < n; ++i) {
    caffe::Datum datum;
    datum.set_channels(3);
    datum.set_height(kHeight);
    datum.set_width(kWidth);
    for (int k = 0; k < 3 * kHeight * kWidth; ++k) datum.add_float_data(300 * random.Uniform());
    datum.set_label(i);
    values.push_back(datum.SerializeAsString());
  }
  return values;
}
std::vector<std::string> EncodedDatums(int n) {
  RandomGenerator random(5);
  std::vector<std::string> values;
  for (int i = 0; i < n; ++i) {
    const int height = 20 + 3 * i, width = 40 - 2 * i;
    const std::string pixels = RandomBytes(3 * height * width, &random);
    const auto view = db::ImageView<uint8_t>::Interleaved(
        reinterpret_cast<const uint8_t*>(pixels.data()), height, width, 3);
    caffe::Datum datum;
    datum.set_data(db::EncodeImage(view, ".png"));
    datum.set_label(i);
    datum.set_encoded(true);
    values.push_back(datum.SerializeAsString());
  }
  return values;
}

// One net "input" with the operator over a reader of its own.
class InputNet {
 public:
  InputNet(const std::string& path, OperatorDef op, bool on_device,
           std::vector<Argument> reader_args = {}) {
    reader_args.push_back(MakeArgument<std::string>("db", path));
    reader_args.push_back(MakeArgument<std::string>("db_type", "minidb"));
    CAFFE_ENFORCE(ws_.RunOperatorOnce(Op("CreateDB", {}, {"reader"}, reader_args)));
    NetDef net;
    net.set_name("input");
    net.add_external_input("reader");
    *net.add_op() = on_device ? OnCuda(std::move(op)) : std::move(op);
    ws_.CreateNet(net);
  }

  void Run() { CAFFE_ENFORCE(ws_.RunNet("input")); }
  std::string ErrorOfRun() {
    try {
      Run();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  std::vector<float> Data() const {
    if (Fetch(ws_, "data").IsType<float16>()) return Floats<float16>();
    if (Fetch(ws_, "data").IsType<bfloat16>()) return Floats<bfloat16>();
    return OnHost<float>(ws_, "data");
  }
  std::vector<int> Labels() const { return OnHost<int>(ws_, "label"); }
  Workspace& ws() { return ws_; }
  db::DBReader& reader() {
    return **ws_.GetBlob("reader")->GetMutable<std::unique_ptr<db::DBReader>>();
  }

 private:
  template <typename T>
  std::vector<float> Floats() const {
    std::vector<float> values;
    for (const T value : OnHost<T>(ws_, "data")) values.push_back(ToFloat(value));
    return values;
  }

  Workspace ws_;
};

class CudaInputTest : public ::testing::Test {
 protected:
  void SetUp() override { NEED_CUDA(); }

  std::string Write(const std::vector<std::string>& values) {
    const std::string path = directory_.Path("db" + std::to_string(databases_++));
    db::RecordWriter writer("minidb", path);
    for (const std::string& value : values) writer.Add(value);
    writer.Finish();
    return path;
  }
  static OperatorDef InputOp(int batch_size, int crop, std::vector<Argument> args = {}) {
    args.push_back(MakeArgument<int>("batch_size", batch_size));
    args.push_back(MakeArgument<int>("crop", crop));
    args.push_back(MakeArgument<int>("use_caffe_datum", 1));
    args.push_back(MakeArgument<int>("seed", 5));
    args.push_back(MakeArgument<float>("mean", 120.f));
    args.push_back(MakeArgument<float>("std", 57.f));
    return Op("ImageInput", {"reader"}, {"data", "label"}, args);
  }
  // Several batches, over the end of the database, on the device as on the host: the values of
  // the output type are equal but for `units` of rounding at 1.
  static void ExpectSame(const std::string& path, const OperatorDef& op, float units) {
    InputNet host(path, op, false), device(path, op, true);
    for (int batch = 0; batch < 6; ++batch) {
      host.Run();
      device.Run();
      ASSERT_EQ(Fetch(device.ws(), "data").device(), (Device{CUDA, 0}));
      ASSERT_EQ(Fetch(device.ws(), "label").device(), (Device{CUDA, 0}));
      ASSERT_EQ(Fetch(device.ws(), "data").sizes(), Fetch(host.ws(), "data").sizes());
      ASSERT_EQ(Fetch(device.ws(), "data").dtype(), Fetch(host.ws(), "data").dtype());
      EXPECT_EQ(device.Labels(), host.Labels());
      const std::vector<float> expected = host.Data(), found = device.Data();
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_LE(std::abs(found[i] - expected[i]), units * std::max(1.f, std::abs(expected[i])))
            << "element " << i << " of batch " << batch << ": " << found[i] << " and "
            << expected[i];
      }
    }
  }

  TemporaryDirectory directory_;
  int databases_ = 0;
};

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

// Images of a whole database in the memory of the device, beside ones that the host reads and
// changes: on the CPU the argument has no effect.
class CudaResidentImagesTest : public CudaInputTest {
 protected:
  static OperatorDef Resident(int batch, int crop, std::vector<Argument> args) {
    args.push_back(MakeArgument<int>("resident", 1));
    args.push_back(MakeArgument<int>("use_gpu_transform", 1));
    return InputOp(batch, crop, args);
  }
  static std::string ErrorOf(const std::string& path, const OperatorDef& op) {
    try {
      return InputNet(path, op, true).ErrorOfRun();
    } catch (const Error& error) {
      return error.what();
    }
  }
  static void ExpectError(const std::string& path, std::vector<Argument> args,
                          const std::string& text) {
    args.push_back(MakeArgument<int>("scale", 20));
    const std::string error = ErrorOf(path, Resident(2, 16, args));
    EXPECT_NE(error.find(text), std::string::npos) << error;
  }
};

TEST_F(CudaResidentImagesTest, AreTheImagesThatTheHostReads) {
  const std::string path = Write(Datums(10, 20, 20));
  const Argument scale = MakeArgument<int>("scale", 20), mirror = MakeArgument<int>("mirror", 1),
                 pad = MakeArgument<int>("pad", 3);
  for (const char* order : {"NHWC", "NCHW"}) {
    for (const char* type : {"float", "float16", "bfloat16"}) {
      const Argument order_arg = MakeArgument<std::string>("order", order),
                     type_arg = MakeArgument<std::string>("output_type", type);
      for (const int crop : {15, 16, 20}) {
        SCOPED_TRACE(MakeString(order, " ", type, " ", crop));
        ExpectSame(path, Resident(4, crop, {scale, order_arg, type_arg, mirror, pad}), 0.f);
        ExpectSame(path,
                   Resident(4, crop, {scale, order_arg, type_arg, MakeArgument<int>("is_test", 1)}),
                   0.f);
        ExpectSame(
            path,
            Resident(4, crop,
                     {scale, order_arg, type_arg, mirror, pad, MakeArgument<int>("color", 0)}),
            0.f);
      }
    }
    ExpectSame(
        path,
        Resident(4, 15,
                 {scale, mirror, pad, MakeArgument<std::string>("order", order),
                  MakeArgument<int>("color_jitter", 1), MakeArgument<int>("color_lighting", 1)}),
        3e-6f);
  }
}

TEST_F(CudaResidentImagesTest, AreDecodedAndScaledOnce) {
  SKIP_WITHOUT_IMAGE_FILES();
  std::vector<std::string> values;
  RandomGenerator random(5);
  for (int i = 0; i < 5; ++i) {
    const int side = 20 + 7 * i;
    const std::string pixels = RandomBytes(3 * side * side, &random);
    caffe::Datum datum;
    datum.set_data(
        db::EncodeImage(db::ImageView<uint8_t>::Interleaved(
                            reinterpret_cast<const uint8_t*>(pixels.data()), side, side, 3),
                        ".png"));
    datum.set_label(i);
    datum.set_encoded(true);
    values.push_back(datum.SerializeAsString());
  }
  ExpectSame(Write(values),
             Resident(3, 16,
                      {MakeArgument<int>("scale", 20), MakeArgument<int>("mirror", 1),
                       MakeArgument<std::string>("order", "NHWC")}),
             1.f / 57);  // one of 256 values, where a shrunken pixel is rounded
}

TEST_F(CudaResidentImagesTest, FollowTheReader) {
  const std::string path = Write(Datums(11, 16, 16));
  const OperatorDef op =
      Resident(3, 12,
               {MakeArgument<int>("scale", 16), MakeArgument<int>("decode_threads", 3),
                MakeArgument<std::string>("order", "NHWC")});
  const std::vector<Argument> reader = {MakeArgument<int>("num_shards", 2),
                                        MakeArgument<int>("shard_id", 1),
                                        MakeArgument<bool>("shuffle", true)};
  InputNet host(path, op, false, reader), device(path, op, true, reader);
  host.reader().CountKeys();
  device.reader().CountKeys();
  for (const int start : {0, 6, 0}) {
    host.reader().Restore(start);
    device.reader().Restore(start);
    for (int batch = 0; batch < 4; ++batch) {
      host.Run();
      device.Run();
      EXPECT_EQ(device.Labels(), host.Labels());
      EXPECT_EQ(device.Data(), host.Data());
    }
  }
  const db::KeySums keys = device.reader().TakeKeySums(1);
  EXPECT_GT(keys.count, 0);
  EXPECT_EQ(keys, host.reader().TakeKeySums(1));
}

// The blob of the reader gets other readers while threads of the first one work.
TEST_F(CudaResidentImagesTest, AreThoseOfTheReaderThatIsThere) {
  const std::vector<std::string> many = Datums(150, 16, 16);
  const std::vector<std::string> others(many.rbegin(), many.rbegin() + 100);
  const std::string path = Write(many), other = Write(others), oblong = Write(Datums(3));
  const OperatorDef op =
      Resident(10, 12,
               {MakeArgument<int>("scale", 16), MakeArgument<int>("decode_threads", 3),
                MakeArgument<std::string>("order", "NHWC")});
  InputNet device(path, op, true);
  const auto set_reader = [&](const std::string& source) {
    CAFFE_ENFORCE(
        device.ws().RunOperatorOnce(Op("CreateDB", {}, {"reader"},
                                       {MakeArgument<std::string>("db", source),
                                        MakeArgument<std::string>("db_type", "minidb")})));
  };
  device.Run();
  EXPECT_EQ(device.Labels()[9], 9);
  for (int round = 0; round < 3; ++round) {
    set_reader(oblong);
    EXPECT_NE(device.ErrorOfRun().find("must be square"), std::string::npos);
    for (const std::string& source : {other, path}) {
      set_reader(source);
      InputNet host(source, op, false);
      for (int batch = 0; batch < 12; ++batch) {
        host.Run();
        device.Run();
        ASSERT_EQ(device.Labels(), host.Labels());
        ASSERT_EQ(device.Data(), host.Data());
      }
    }
  }
}

TEST_F(CudaResidentImagesTest, RefusesWhatTheDeviceCannotDo) {
  const std::string square = Write(Datums(3, 20, 20)), oblong = Write(Datums(3));
  ExpectError(square, {MakeArgument<int>("scale_jitter_type", 1)}, "scale_jitter_type");
  ExpectError(square, {MakeArgument<std::vector<int>>("random_scale", {16, 20})}, "random_scale");
  ExpectError(square, {MakeArgument<int>("max_bad_records", 1)}, "max_bad_records");
  ExpectError(oblong, {}, "an image of 18x21; resident images must be square and have none");
  ExpectError(oblong, {}, "00000000");
  const std::string error = ErrorOf(square, Resident(2, 16, {}));
  EXPECT_NE(error.find("the argument scale"), std::string::npos) << error;
  const OperatorDef host_transform =
      InputOp(2, 16, {MakeArgument<int>("resident", 1), MakeArgument<int>("scale", 20)});
  EXPECT_NE(ErrorOf(square, host_transform).find("need use_gpu_transform"), std::string::npos);
}

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
