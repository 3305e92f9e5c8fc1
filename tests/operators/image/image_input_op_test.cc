#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "caffe2/core/half.h"
#include "caffe2/proto/caffe_datum.pb.h"
#include "db/db_reader.h"
#include "db/image/image_codec.h"
#include "db/record_writer.h"
#include "tests/db/temporary_directory.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

class ImageInputTest : public ::testing::Test {
 protected:
  void Write(const std::vector<std::string>& values) {
    path_ = directory_.Path("db" + std::to_string(databases_++));
    db::RecordWriter writer("minidb", path_);
    for (const std::string& value : values) writer.Add(value);
    writer.Finish();
    ws_.DeleteNet("input");
    ws_.RemoveBlob("reader");
  }
  void CreateReader(std::vector<Argument> args = {}) {
    args.push_back(MakeArgument<std::string>("db", path_));
    args.push_back(MakeArgument<std::string>("db_type", "minidb"));
    CAFFE_ENFORCE(ws_.RunOperatorOnce(Op("CreateDB", {}, {"reader"}, args)));
  }
  static OperatorDef InputOp(int batch_size, int crop, std::vector<Argument> args = {},
                             bool datum = true) {
    args.push_back(MakeArgument<int>("batch_size", batch_size));
    args.push_back(MakeArgument<int>("crop", crop));
    args.push_back(MakeArgument<int>("use_caffe_datum", datum));
    args.push_back(MakeArgument<int>("seed", 5));
    return Op("ImageInput", {"reader"}, {"data", "label"}, args);
  }
  void CreateNet(const OperatorDef& op) {
    NetDef net;
    net.set_name("input");
    net.add_external_input("reader");
    *net.add_op() = op;
    ws_.CreateNet(net, true);
  }
  std::vector<float> NextData() {
    CAFFE_ENFORCE(ws_.RunNet("input"));
    return FetchValues<float>(ws_, "data");
  }
  // What reading the records throws.
  std::string ErrorOf(const std::string& record, const OperatorDef& op) {
    Write({record});
    CreateReader();
    try {
      ws_.RunOperatorOnce(op);
    } catch (const EnforceNotMet& error) {
      EXPECT_NE(std::string(error.what()).find("00000000"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(path_), std::string::npos) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "nothing thrown";
    return "";
  }
  static void ExpectHas(const std::string& message, const std::string& text) {
    EXPECT_NE(message.find(text), std::string::npos) << message;
  }

  TemporaryDirectory directory_;
  int databases_ = 0;
  std::string path_;
  Workspace ws_;
};

// Gray 4x4 images, pixel k of image i is 10 i + k, label i.
std::vector<std::string> GrayDatums(int n) {
  std::vector<std::string> values;
  for (int i = 0; i < n; ++i) {
    std::string pixels;
    for (int k = 0; k < 16; ++k) pixels.push_back(static_cast<char>(10 * i + k));
    values.push_back(db::MakeDatum(1, 4, 4, pixels, i));
  }
  return values;
}

std::string EncodedDatum(const std::string& file, int label) {
  caffe::Datum datum;
  datum.set_data(file);
  datum.set_label(label);
  datum.set_encoded(true);
  return datum.SerializeAsString();
}

std::string PngOf(int height, int width, uint8_t value) {
  const std::vector<uint8_t> pixels(height * width * 3, value);
  return db::EncodeImage(db::ImageView<uint8_t>::Interleaved(pixels.data(), height, width, 3),
                         ".png");
}

TEST_F(ImageInputTest, RawGrayDatum) {
  Write(GrayDatums(3));
  CreateReader();
  const std::vector<Argument> args = {
      MakeArgument<int>("color", 0), MakeArgument<int>("is_test", 1),
      MakeArgument<float>("mean", 100.f), MakeArgument<float>("std", 2.f)};
  RunOp(&ws_, InputOp(2, 2, args));
  // The centre of 4x4: pixels 5, 6, 9, 10.
  ExpectTensor(ws_, "data", {2, 2, 2, 1},
               {-47.5f, -47.f, -45.5f, -45.f, -42.5f, -42.f, -40.5f, -40.f});
  EXPECT_EQ(FetchValues<int>(ws_, "label"), std::vector<int>({0, 1}));
}

TEST_F(ImageInputTest, GrayRecordsFillThreeChannelsInBothOrders) {
  Write(GrayDatums(1));
  CreateReader();
  const Argument test = MakeArgument<int>("is_test", 1);
  RunOp(&ws_, InputOp(1, 2, {test}));
  ExpectTensor(ws_, "data", {1, 2, 2, 3}, {5, 5, 5, 6, 6, 6, 9, 9, 9, 10, 10, 10});
  RunOp(&ws_, InputOp(1, 2, {test, MakeArgument<std::string>("order", "NCHW")}));
  ExpectTensor(ws_, "data", {1, 3, 2, 2}, {5, 6, 9, 10, 5, 6, 9, 10, 5, 6, 9, 10});
}

TEST_F(ImageInputTest, RawColourDatumIsPlanar) {
  std::string pixels;
  for (int k = 0; k < 12; ++k) pixels.push_back(static_cast<char>(k));
  Write({db::MakeDatum(3, 2, 2, pixels, 1)});
  CreateReader();
  const std::vector<Argument> args = {
      MakeArgument<int>("is_test", 1),
      MakeArgument<std::vector<float>>("mean_per_channel", {0, 1, 2}),
      MakeArgument<std::vector<float>>("std_per_channel", {1, 2, 4})};
  RunOp(&ws_, InputOp(1, 2, args));
  ExpectTensor(ws_, "data", {1, 2, 2, 3}, {0, 1.5f, 1.5f, 1, 2, 1.75f, 2, 2.5f, 2, 3, 3, 2.25f});
}

TEST_F(ImageInputTest, FloatDatum) {
  caffe::Datum datum;
  datum.set_channels(1);
  datum.set_height(2);
  datum.set_width(2);
  for (const float value : {0.5f, -1.f, 2.f, 300.f}) datum.add_float_data(value);
  datum.set_label(1);
  Write({datum.SerializeAsString()});
  CreateReader();
  RunOp(&ws_, InputOp(1, 2, {MakeArgument<int>("is_test", 1), MakeArgument<int>("color", 0)}));
  ExpectTensor(ws_, "data", {1, 2, 2, 1}, {0.5f, -1.f, 2.f, 300.f});
}

TEST_F(ImageInputTest, EncodedImagesAreRescaled) {
  SKIP_WITHOUT_IMAGE_FILES();
  Write({EncodedDatum(PngOf(10, 20, 50), 3), EncodedDatum(PngOf(64, 48, 90), 4)});
  CreateReader();
  RunOp(&ws_, InputOp(2, 8, {MakeArgument<int>("scale", 8), MakeArgument<int>("mirror", 1)}));
  std::vector<float> expected(8 * 8 * 3, 50.f);
  expected.resize(2 * expected.size(), 90.f);
  ExpectTensor(ws_, "data", {2, 8, 8, 3}, expected);
  EXPECT_EQ(FetchValues<int>(ws_, "label"), std::vector<int>({3, 4}));
}

TEST_F(ImageInputTest, TrainingPadsWithBlackAndTestsDoNot) {
  const std::string pixels(16, 'x');
  Write(std::vector<std::string>(40, db::MakeDatum(1, 4, 4, pixels, 0)));
  CreateReader();
  std::vector<Argument> args = {MakeArgument<int>("color", 0), MakeArgument<int>("pad", 2),
                                MakeArgument<float>("mean", 20.f), MakeArgument<float>("std", 2.f)};
  const float image = ('x' - 20) / 2.f, black = -10;
  RunOp(&ws_, InputOp(40, 4, args));
  int whole = 0;
  const auto data = FetchValues<float>(ws_, "data");
  for (int i = 0; i < 40; ++i) {
    const auto begin = data.begin() + 16 * i, end = begin + 16;
    const auto inside = std::count(begin, end, image);
    EXPECT_EQ(inside + std::count(begin, end, black), 16);
    EXPECT_GE(inside, 4);  // at most two rows and columns of four are padding
    whole += inside == 16;
  }
  EXPECT_LT(whole, 20) << "one of 25 places shows no padding";
  args.push_back(MakeArgument<int>("is_test", 1));
  CreateReader();
  RunOp(&ws_, InputOp(40, 4, args));
  EXPECT_EQ(FetchValues<float>(ws_, "data"), std::vector<float>(40 * 16, image));
}

TEST_F(ImageInputTest, HalfPrecisionOutput) {
  Write(GrayDatums(1));
  CreateReader();
  const std::vector<Argument> args = {MakeArgument<int>("is_test", 1),
                                      MakeArgument<int>("color", 0)};
  for (const std::string type : {"float16", "bfloat16"}) {
    auto with_type = args;
    with_type.push_back(MakeArgument<std::string>("output_type", type));
    RunOp(&ws_, InputOp(1, 2, with_type));
    if (type == "float16") {
      EXPECT_EQ(ToFloat(FetchValues<float16>(ws_, "data")[3]), 10.f);
    } else {
      EXPECT_EQ(ToFloat(FetchValues<bfloat16>(ws_, "data")[3]), 10.f);
    }
  }
}

TEST_F(ImageInputTest, ResumesToTheBitWhateverShardsAndThreads) {
  Write(GrayDatums(20));
  const auto images = [&](int shards, int shard, int threads, int skip) {
    CreateReader({MakeArgument<int>("num_shards", shards), MakeArgument<int>("shard_id", shard),
                  MakeArgument<bool>("shuffle", true)});
    auto& reader = **ws_.GetBlob("reader")->GetMutable<std::unique_ptr<db::DBReader>>();
    CreateNet(InputOp(4, 3,
                      {MakeArgument<int>("mirror", 1), MakeArgument<int>("color", 0),
                       MakeArgument<int>("decode_threads", threads)}));
    reader.Restore(skip);
    std::vector<std::vector<float>> result;
    for (int batch = 0; batch < 15; ++batch) {
      const auto data = NextData();
      for (int i = 0; i < 4; ++i)
        result.emplace_back(data.begin() + 9 * i, data.begin() + 9 * (i + 1));
    }
    EXPECT_EQ(reader.Committed(), skip + 60);
    return result;
  };
  const auto whole = images(1, 0, 1, 0);
  EXPECT_EQ(images(1, 0, 4, 0), whole);
  const auto rest = images(1, 0, 2, 28);
  for (int i = 28; i < 60; ++i) EXPECT_EQ(rest[i - 28], whole[i]);
  for (int shard = 0; shard < 2; ++shard) {
    const auto part = images(2, shard, 3, 0);
    for (int i = 0; i < 30; ++i) EXPECT_EQ(part[i], whole[2 * i + shard]);
  }
}

TEST_F(ImageInputTest, TensorProtosOfBothLayoutsAndEncoded) {
  SKIP_WITHOUT_IMAGE_FILES();
  std::string pixels;
  for (int k = 0; k < 16; ++k) pixels.push_back(static_cast<char>(k));
  TensorProtos encoded;
  encoded.add_protos()->set_data_type(TensorProto::STRING);
  encoded.mutable_protos(0)->add_string_data(PngOf(4, 4, 9));
  encoded.add_protos()->set_data_type(TensorProto::INT32);
  encoded.mutable_protos(1)->add_int32_data(2);
  Write({db::MakeTensorProtos(4, 4, 1, pixels, 0), db::MakeTensorProtos(1, 4, 4, pixels, 1),
         encoded.SerializeAsString()});
  CreateReader();
  RunOp(&ws_,
        InputOp(3, 2, {MakeArgument<int>("is_test", 1), MakeArgument<int>("color", 0)}, false));
  ExpectTensor(ws_, "data", {3, 2, 2, 1}, {5, 6, 9, 10, 5, 6, 9, 10, 9, 9, 9, 9});
  EXPECT_EQ(FetchValues<int>(ws_, "label"), std::vector<int>({0, 1, 2}));
}

// A database of files and pixels (make_image_db --raw_share): each image is read as in a database
// of files or of pixels alone, also with random crops.
TEST_F(ImageInputTest, FilesAndPixelsMixInADatabase) {
  SKIP_WITHOUT_IMAGE_FILES();
  constexpr int kImages = 6, kSide = 12, kCrop = 5, kElements = kCrop * kCrop * 3;
  for (const bool datum : {false, true}) {
    std::vector<std::string> files, raw, mixed;
    for (int i = 0; i < kImages; ++i) {
      std::string pixels;
      for (int k = 0; k < kSide * kSide * 3; ++k) {
        pixels.push_back(static_cast<char>((17 * k + k * k / 50 + 40 * i) % 256));
      }
      const auto* data = reinterpret_cast<const uint8_t*>(pixels.data());
      const std::string file =
          db::EncodeImage(db::ImageView<uint8_t>::Interleaved(data, kSide, kSide, 3), ".jpg");
      TensorProtos protos;
      protos.add_protos()->set_data_type(TensorProto::STRING);
      protos.mutable_protos(0)->add_string_data(file);
      protos.add_protos()->set_data_type(TensorProto::INT32);
      protos.mutable_protos(1)->add_int32_data(i);
      files.push_back(datum ? EncodedDatum(file, i) : protos.SerializeAsString());
      raw.push_back(datum ? db::MakeDatum(3, kSide, kSide, pixels, i)
                          : db::MakeTensorProtos(kSide, kSide, 3, pixels, i));
      mixed.push_back(i % 2 == 0 ? raw.back() : files.back());
    }
    const auto read = [&](const std::vector<std::string>& records) {
      Write(records);
      CreateReader();
      RunOp(&ws_, InputOp(kImages, kCrop,
                          {MakeArgument<int>("scale", 8), MakeArgument<int>("mirror", 1)}, datum));
      EXPECT_EQ(FetchValues<int>(ws_, "label"), std::vector<int>({0, 1, 2, 3, 4, 5}));
      return FetchValues<float>(ws_, "data");
    };
    const auto from_files = read(files), from_raw = read(raw), from_mixed = read(mixed);
    EXPECT_NE(from_files, from_raw);
    for (int i = 0; i < kImages * kElements; ++i) {
      ASSERT_EQ(from_mixed[i], (i / kElements % 2 == 0 ? from_raw : from_files)[i]) << i;
    }
  }
}

TEST_F(ImageInputTest, ManyLabelsFurtherOutputsAndBoxes) {
  std::string pixels;
  for (int k = 0; k < 16; ++k) pixels.push_back(static_cast<char>(k));
  TensorProtos protos;
  protos.ParseFromString(db::MakeTensorProtos(4, 4, 1, pixels, 0));
  TensorProto* label = protos.mutable_protos(1);
  label->add_int32_data(3);  // 0 and 3
  TensorProto* extra = protos.add_protos();
  extra->set_data_type(TensorProto::FLOAT);
  extra->add_float_data(1.5f);
  extra->add_float_data(2.5f);
  TensorProto* box = protos.add_protos();
  box->set_data_type(TensorProto::INT32);
  for (const int value : {2, 1, 2, 2}) box->add_int32_data(value);
  Write({protos.SerializeAsString()});
  CreateReader();
  OperatorDef op = InputOp(1, 2,
                           {MakeArgument<int>("color", 0), MakeArgument<int>("label_type", 1),
                            MakeArgument<int>("num_labels", 5), MakeArgument<int>("is_test", 1),
                            MakeArgument<std::vector<int>>("output_sizes", {2})},
                           false);
  op.add_output("extra");
  RunOp(&ws_, op);
  ExpectTensor(ws_, "data", {1, 2, 2, 1}, {9, 10, 13, 14});
  EXPECT_EQ(FetchValues<int>(ws_, "label"), std::vector<int>({1, 0, 0, 1, 0}));
  ExpectTensor(ws_, "extra", {1, 2}, {1.5f, 2.5f});
}

TEST_F(ImageInputTest, BadRecordsAreErrorsThatNameKeyAndDatabase) {
  SKIP_WITHOUT_IMAGE_FILES();
  const std::string pixels(16, 'x');
  ExpectHas(ErrorOf("junk", InputOp(1, 2)), "not a caffe Datum");
  ExpectHas(ErrorOf(db::MakeTensorProtos(1, 4, 4, pixels, 1), InputOp(1, 2)), "use_caffe_datum");
  ExpectHas(ErrorOf(GrayDatums(1)[0], InputOp(1, 2, {}, false)), "use_caffe_datum");
  caffe::Datum datum;
  datum.ParseFromString(GrayDatums(1)[0]);
  datum.set_data("short");
  ExpectHas(ErrorOf(datum.SerializeAsString(), InputOp(1, 2)), "1x4x4");
  datum.set_height(-4);
  ExpectHas(ErrorOf(datum.SerializeAsString(), InputOp(1, 2)), "1x-4x4");
  ExpectHas(ErrorOf(GrayDatums(1)[0], InputOp(1, 5)), "too small");
  ExpectHas(ErrorOf(db::MakeDatum(1, 4, 4, pixels, 10),
                    InputOp(1, 2, {MakeArgument<int>("num_labels", 10)})),
            "label 10 is out of range");
  const std::string png = PngOf(50, 50, 7);
  ExpectHas(ErrorOf(EncodedDatum(png.substr(0, png.size() / 2), 1), InputOp(1, 2)), "decoded");
  const auto good = db::DecodeImage(PngOf(50, 50, 7), true);
  const std::string jpeg = db::EncodeImage(good.view, ".jpg");
  ExpectHas(ErrorOf(EncodedDatum(jpeg.substr(0, jpeg.size() - 10), 1), InputOp(1, 2)),
            "Premature end");
}

TEST_F(ImageInputTest, ABadRecordSpoilsItsBatchOnly) {
  auto values = GrayDatums(6);
  values[3] = "junk";
  Write(values);
  CreateReader();
  CreateNet(InputOp(2, 4, {MakeArgument<int>("color", 0)}));
  EXPECT_NO_THROW(NextData());
  EXPECT_THROW(NextData(), EnforceNotMet);
  NextData();
  EXPECT_EQ(FetchValues<int>(ws_, "label"), std::vector<int>({4, 5}));
}

TEST_F(ImageInputTest, BadArguments) {
  Write(GrayDatums(1));
  CreateReader();
  const auto refuse = [&](const OperatorDef& op, const std::string& text) {
    ExpectThrows(&ws_, op, text);
  };
  refuse(InputOp(0, 2), "batch_size");
  refuse(InputOp(1, 0), "crop");
  refuse(InputOp(1, 2, {MakeArgument<int>("scale", 4), MakeArgument<int>("minsize", 4)}),
         "minsize");
  refuse(InputOp(1, 2, {MakeArgument<int>("pad", 2)}), "pad (2)");
  refuse(InputOp(1, 2, {MakeArgument<int>("label_type", 1)}), "num_labels");
  refuse(InputOp(1, 2, {MakeArgument<int>("decode_threads", 0)}), "decode_threads");
  refuse(InputOp(1, 2, {MakeArgument<std::string>("output_type", "int8")}), "output_type");
  refuse(InputOp(1, 2, {MakeArgument<std::string>("order", "CHWN")}), "order");
}

TEST_F(ImageInputTest, WithoutAReaderTheArgumentsNameTheDatabase) {
  Write(GrayDatums(2));
  OperatorDef op = InputOp(
      1, 4,
      {MakeArgument<std::string>("db", path_), MakeArgument<std::string>("db_type", "minidb")});
  op.clear_input();
  CAFFE_ENFORCE(ws_.RunOperatorOnce(op));
  EXPECT_EQ(FetchValues<int>(ws_, "label"), std::vector<int>({0}));
}

}  // namespace
}  // namespace caffe2::testing
