// Compares images that stay in the memory of a CUDA device with images that the host reads.
#include "tests/operators/io/db_input_cuda_fixture.h"

namespace caffe2::testing {
namespace {

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
  EXPECT_NE(error.find("the argument scale must be positive"), std::string::npos) << error;
  const OperatorDef host_transform =
      InputOp(2, 16, {MakeArgument<int>("resident", 1), MakeArgument<int>("scale", 20)});
  EXPECT_NE(ErrorOf(square, host_transform).find("need use_gpu_transform"), std::string::npos);
}

}  // namespace
}  // namespace caffe2::testing
