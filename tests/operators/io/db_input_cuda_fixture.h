// Nets that read a database on a CUDA device, and databases for them.
#pragma once

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

inline constexpr int kHeight = 18, kWidth = 21;

inline std::string RandomBytes(int n, RandomGenerator* random) {
  std::string bytes;
  for (int i = 0; i < n; ++i) bytes.push_back(static_cast<char>(random->UniformInt(256)));
  return bytes;
}

// Colour images of noise; label i.
inline std::vector<std::string> Datums(int n, int height = kHeight, int width = kWidth) {
  RandomGenerator random(3);
  std::vector<std::string> values;
  for (int i = 0; i < n; ++i) {
    values.push_back(db::MakeDatum(3, height, width, RandomBytes(3 * height * width, &random), i));
  }
  return values;
}
inline std::vector<std::string> FloatDatums(int n) {
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
inline std::vector<std::string> EncodedDatums(int n) {
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

}  // namespace caffe2::testing
