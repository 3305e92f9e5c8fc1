// Compares images that a CUDA device decodes with images that the host decodes. On an emulated
// device a library of our own stands for nvJPEG (tests/cuda_emulation/nvjpeg), so that pixels are
// equal before they are scaled.
#include <filesystem>

#include "caffe2/core/device_backend.h"
#include "tests/core/log_lines.h"
#include "tests/core/scoped_variable.h"
#include "tests/operators/io/db_input_cuda_fixture.h"
#include "tests/operators/io/jpeg_files.h"

namespace caffe2::testing {
namespace {

constexpr char kLibraryVariable[] = "CAFFE2_NVJPEG_LIBRARY";

// How far pixels may differ, in 1 of 255 values.
struct Tolerance {
  float most = 1, mean = 0.15f;
};
Tolerance UsualTolerance() { return IsEmulated() ? Tolerance{} : Tolerance{32, 3}; }

class DeviceJpegsTest : public CudaInputTest {
 protected:
  void SetUp() override {
    NEED_CUDA();
    if (IsEmulated()) {
      const std::filesystem::path backend = std::getenv("CAFFE2_CUDA_LIBRARY");
      library_.emplace(kLibraryVariable,
                       std::filesystem::absolute(backend.parent_path() / "libnvjpeg_fake.so"));
    } else {
      const std::string error = ErrorOf(Write({FileDatum(WavesJpeg(8, 8, 0), 0)}), OnDevice(1, 4));
      if (error.find("nvJPEG cannot be loaded") != std::string::npos) GTEST_SKIP() << error;
    }
  }

  static OperatorDef OnDevice(int batch, int crop, std::vector<Argument> args = {}) {
    args.push_back(MakeArgument<int>("decode_on_gpu", 1));
    args.push_back(MakeArgument<int>("use_gpu_transform", 1));
    return InputOp(batch, crop, args);
  }
  static std::string ErrorOf(const std::string& path, const OperatorDef& op,
                             bool on_device = true) {
    try {
      return InputNet(path, op, on_device).ErrorOfRun();
    } catch (const Error& error) {
      return error.what();
    }
  }

  // Batches of four on the device as on the host.
  static void ExpectSameImages(const std::string& path, int crop, std::vector<Argument> args,
                               Tolerance tolerance = UsualTolerance(), int batches = 4) {
    args.push_back(MakeArgument<std::string>("order", "NHWC"));
    ExpectSameBatches(path, InputOp(4, crop, args), OnDevice(4, crop, args), tolerance, batches);
  }
  static void ExpectSameBatches(const std::string& path, const OperatorDef& on_host,
                                const OperatorDef& on_device, Tolerance tolerance, int batches) {
    constexpr float kStd = 57;  // of InputOp
    InputNet host(path, on_host, false), device(path, on_device, true);
    for (int batch = 0; batch < batches; ++batch) {
      host.Run();
      device.Run();
      EXPECT_EQ(device.Labels(), host.Labels());
      const std::vector<float> expected = host.Data(), found = device.Data();
      ASSERT_EQ(found.size(), expected.size());
      double sum = 0;
      for (size_t i = 0; i < expected.size(); ++i) {
        const float difference = kStd * std::abs(found[i] - expected[i]);
        ASSERT_LE(difference, tolerance.most + 0.01f) << "element " << i << " of batch " << batch
                                                      << ": " << found[i] << " and " << expected[i];
        sum += difference;
      }
      EXPECT_LE(sum / static_cast<double>(expected.size()), tolerance.mean) << batch;
    }
  }

  // Colour and gray, of odd sizes, all orientations.
  std::string WriteVariousFiles(int n = 18) {
    std::vector<std::string> values;
    for (int i = 0; i < n; ++i) {
      values.push_back(
          FileDatum(WavesJpeg(37 + 5 * i, 91 - 3 * i, i,
                              {.channels = i % 5 == 4 ? 1 : 3, .orientation = i < 10 ? 1 : i - 9}),
                    i));
    }
    return Write(values);
  }

  std::optional<ScopedVariable> library_;
};

TEST_F(DeviceJpegsTest, CropsAreThoseOfTheHost) {
  const std::string path = WriteVariousFiles();
  const Argument mirror = MakeArgument<int>("mirror", 1), test = MakeArgument<int>("is_test", 1);
  const auto scale = [](int size) { return MakeArgument<int>("scale", size); };
  const std::vector<std::vector<Argument>> variants = {
      {},
      {test},
      {mirror, scale(29)},
      {mirror, scale(57)},
      {mirror, scale(150)},
      {mirror, scale(57), MakeArgument<int>("warp", 1)},
      {mirror, MakeArgument<int>("minsize", 50)},
      {mirror, MakeArgument<std::vector<int>>("random_scale", {29, 70})},
      {mirror, MakeArgument<int>("scale_jitter_type", 1)},
      {mirror, scale(30), MakeArgument<int>("pad", 7)},
      {MakeArgument<int>("pad", 20)},
      {mirror, scale(33), MakeArgument<int>("color", 0)},
      {scale(30), MakeArgument<int>("bounding_ymin", 3), MakeArgument<int>("bounding_xmin", 2),
       MakeArgument<int>("bounding_height", 31), MakeArgument<int>("bounding_width", 33)},
  };
  for (size_t i = 0; i < variants.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectSameImages(path, 28, variants[i]);
    ExpectSameImages(path, 27, variants[i]);
  }
}

TEST_F(DeviceJpegsTest, AllTypesAndColourChanges) {
  const std::string path = WriteVariousFiles();
  Tolerance wider = UsualTolerance();
  wider.most = 2 * wider.most + 1;  // 16-bit types, and changes that widen differences
  wider.mean = 2 * wider.mean + 1;
  for (const char* type : {"float", "float16", "bfloat16"}) {
    ExpectSameImages(
        path, 24,
        {MakeArgument<int>("scale", 31), MakeArgument<std::string>("output_type", type),
         MakeArgument<int>("color_jitter", 1), MakeArgument<int>("color_lighting", 1)},
        wider);
  }
}

// libjpeg-turbo shrinks by transforming blocks to fewer pixels, the kernel averages pixels.
TEST_F(DeviceJpegsTest, FilesThatAreShrunkMuchAreClose) {
  Tolerance tolerance = UsualTolerance();
  tolerance.most += 3;
  tolerance.mean += 0.5f;
  ExpectSameImages(
      Write({FileDatum(WavesJpeg(333, 271, 1), 0), FileDatum(WavesJpeg(290, 512, 2), 1)}), 28,
      {MakeArgument<int>("scale", 30)}, tolerance);
}

TEST_F(DeviceJpegsTest, RecordsOfBothKindsAndTheirLabels) {
  std::vector<std::string> values;
  for (int i = 0; i < 5; ++i) {
    TensorProtos protos;
    protos.add_protos()->set_data_type(TensorProto::STRING);
    protos.mutable_protos(0)->add_string_data(WavesJpeg(40 + i, 50, i));
    protos.add_protos()->set_data_type(TensorProto::INT32);
    protos.mutable_protos(1)->add_int32_data(i);
    TensorProto* box = protos.add_protos();
    box->set_data_type(TensorProto::INT32);
    for (const int value : {3, 5, 30 + i, 40}) box->add_int32_data(value);
    values.push_back(protos.SerializeAsString());
  }
  const auto with_protos = [](OperatorDef op) {
    for (Argument& arg : *op.mutable_arg()) {
      if (arg.name() == "use_caffe_datum") arg.set_i(0);
    }
    return op;
  };
  const std::vector<Argument> args = {MakeArgument<int>("scale", 20),
                                      MakeArgument<std::string>("order", "NHWC")};
  ExpectSameBatches(Write(values), with_protos(InputOp(4, 16, args)),
                    with_protos(OnDevice(4, 16, args)), UsualTolerance(), 4);
}

TEST_F(DeviceJpegsTest, LargeFilesAreDecodedInGroups) {
  std::vector<std::string> values;
  for (int i = 0; i < 3; ++i) {  // gray, which is quick to decode, but 90 MB in three channels
    values.push_back(FileDatum(WavesJpeg(5000, 6000, i, {.channels = 1}), i));
  }
  values.push_back(FileDatum(WavesJpeg(300, 500, 3), 3));
  ExpectSameImages(Write(values), 64, {MakeArgument<int>("pad", 3)}, UsualTolerance(), 1);
}

// Two of them in each batch with files that the device decodes.
TEST_F(DeviceJpegsTest, TheHostDecodesWhatNvjpegDoesNot) {
  std::vector<std::string> values;
  for (int i = 0; i < 8; ++i) values.push_back(FileDatum(WavesJpeg(40, 45, i), i));
  values[1] = FileDatum(WavesJpeg(41, 46, 1, {.channels = 4}), 1);
  values[2] = Datums(1, 40, 50)[0];
  values[4] = FileDatum(WavesJpeg(41, 46, 1, {.progressive = true}), 4);
  values[7] = FileDatum(WavesJpeg(41, 46, 1, {.comment = "unsupported"}), 7);
  const LogLines lines;
  ExpectSameImages(Write(values), 24, {MakeArgument<int>("scale", 30)});
  EXPECT_EQ(lines.Count("the host decodes the image of record"), 1);
  // Batches are decoded ahead, so there may be more than four.
  EXPECT_EQ(lines.Count("images the device has decoded"), 1);
}

TEST_F(DeviceJpegsTest, OtherFilesAndFloatsAreForTheHost) {
  SKIP_WITHOUT_IMAGE_FILES();
  std::vector<std::string> values = EncodedDatums(3);
  values.push_back(FileDatum(WavesJpeg(40, 45, 3), 3));
  ExpectSameImages(Write(values), 16, {MakeArgument<int>("scale", 20)});
  values[1] = FloatDatums(1)[0];
  ExpectSameImages(Write(values), 16, {});
}

TEST_F(DeviceJpegsTest, BadRecordsAreNamedOrReplaced) {
  std::vector<std::string> values;
  for (int i = 0; i < 8; ++i) values.push_back(FileDatum(WavesJpeg(40, 45 + i, i), i));
  std::string damaged = WavesJpeg(40, 45, 9);
  std::string header = damaged;
  damaged.resize(damaged.size() - 20);
  header.replace(header.find("\xff\xc0") + 5, 2, std::string(2, '\0'));  // no rows
  values[2] = FileDatum(damaged, 2);
  values[5] = FileDatum(header, 5);
  const std::string path = Write(values);
  InputNet net(path, OnDevice(2, 16), true);
  net.Run();
  const std::string error = net.ErrorOfRun();
  for (const std::string& part : {std::string("00000002"), path, std::string("Premature end")}) {
    EXPECT_NE(error.find(part), std::string::npos) << error;
  }
  EXPECT_NE(net.ErrorOfRun().find("00000005"), std::string::npos);
  net.Run();
  EXPECT_EQ(net.Labels(), std::vector<int>({6, 7}));
  ExpectSameImages(path, 16, {MakeArgument<int>("max_bad_records", 2)});
}

// nvJPEG finds what the header does not show.
TEST_F(DeviceJpegsTest, RefusedFilesGoToTheHost) {
  if (!IsEmulated()) GTEST_SKIP() << "nvJPEG need not find this damage";
  std::vector<std::string> values;
  for (int i = 0; i < 8; ++i) values.push_back(FileDatum(WavesJpeg(40, 45, i), i));
  values[1] = FileDatum(WavesJpeg(41, 46, 1, {.comment = "bad"}), 1);
  const LogLines lines;
  ExpectSameImages(Write(values), 24, {});
  EXPECT_GT(lines.Count("nvJPEG refuses 1 of 4 images of a batch (bad JPEG)"), 0);

  std::string damaged = WavesJpeg(40, 45, 9);
  damaged.replace(damaged.find("\xff\xda") + 100, 4, "\xff\xd8\xff\xd8");
  values[6] = FileDatum(damaged, 6);
  const std::string path = Write(values);
  InputNet net(path, OnDevice(4, 40), true);
  net.Run();
  const std::string error = net.ErrorOfRun();
  EXPECT_NE(error.find("00000006"), std::string::npos) << error;
  ExpectSameImages(path, 40, {MakeArgument<int>("max_bad_records", 1)});
}

TEST_F(DeviceJpegsTest, LimitsHoldBeforeTheDeviceSeesAFile) {
  std::string large = WavesJpeg(40, 45, 0);
  large.replace(large.find("\xff\xc0") + 5, 4, "\xff\xdc\xff\xdc");
  const std::string error = ErrorOf(Write({FileDatum(large, 0)}), OnDevice(1, 16));
  EXPECT_NE(error.find("65500x65500"), std::string::npos) << error;
}

TEST_F(DeviceJpegsTest, FollowsTheReader) {
  const std::string path = WriteVariousFiles(11);
  const std::vector<Argument> args = {MakeArgument<int>("mirror", 1),
                                      MakeArgument<int>("scale", 30),
                                      MakeArgument<int>("decode_threads", 3)};
  const std::vector<Argument> reader = {MakeArgument<int>("num_shards", 2),
                                        MakeArgument<int>("shard_id", 1),
                                        MakeArgument<bool>("shuffle", true)};
  InputNet host(path, InputOp(3, 24, args), false, reader);
  InputNet device(path, OnDevice(3, 24, args), true, reader);
  host.reader().CountKeys();
  device.reader().CountKeys();
  std::map<int, std::vector<float>> seen;
  for (const int start : {0, 2, 1, 0}) {
    host.reader().Restore(3 * start);
    device.reader().Restore(3 * start);
    for (int batch = start; batch < 5; ++batch) {
      host.Run();
      device.Run();
      EXPECT_EQ(device.Labels(), host.Labels());
      const auto [first, is_new] = seen.emplace(batch, device.Data());
      EXPECT_EQ(first->second, device.Data()) << "batch " << batch << " after " << start;
    }
  }
  const db::KeySums keys = device.reader().TakeKeySums(1);
  EXPECT_GT(keys.count, 0);
  EXPECT_EQ(keys, host.reader().TakeKeySums(1));
}

TEST_F(DeviceJpegsTest, LaterBatchesTakeNoMoreMemory) {
  std::vector<std::string> values(8, FileDatum(WavesJpeg(60, 80, 0), 0));
  const int last = NumDevices(CUDA) - 1;  // where other tests have not needed more
  InputNet net(Write(values), OnCuda(OnDevice(4, 32), last), false);
  for (int batch = 0; batch < 8; ++batch) net.Run();
  const size_t peak = PeakMemory({CUDA, last});
  for (int batch = 0; batch < 20; ++batch) net.Run();
  EXPECT_EQ(PeakMemory({CUDA, last}), peak);
}

TEST_F(DeviceJpegsTest, SaysWhatDecodes) {
  if (!IsEmulated()) GTEST_SKIP() << "what decodes depends on the device";
  const std::string path = WriteVariousFiles(4);
  const LogLines lines;
  ExpectSameImages(path, 16, {});
  EXPECT_EQ(lines.Count("nvJPEG decodes on cuda:0 with the hardware for JPEG files"), 1);
  const ScopedVariable variable("FAKE_NVJPEG_WITHOUT_HARDWARE", "1");
  ExpectSameImages(path, 16, {});
  EXPECT_EQ(lines.Count("on cuda:0 with its default backend; the hardware: architecture mismatch"),
            1);
}

TEST_F(DeviceJpegsTest, WithoutTheLibraryTheErrorSaysWhereToGetIt) {
  const ScopedVariable variable(kLibraryVariable, "/nowhere/libnvjpeg.so.13");
  const std::string error = ErrorOf(WriteVariousFiles(1), OnDevice(1, 16));
  for (const char* part : {"nvJPEG cannot be loaded: /nowhere/libnvjpeg.so.13: cannot open",
                           "pip install nvidia-nvjpeg"}) {
    EXPECT_NE(error.find(part), std::string::npos) << error;
  }
}

TEST_F(DeviceJpegsTest, RefusesWhatItCannotDo) {
  const std::string path = WriteVariousFiles(1);
  const auto expect = [&](const OperatorDef& op, bool on_device, const std::string& text) {
    const std::string error = ErrorOf(path, op, on_device);
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  expect(OnDevice(1, 16), false, "decode_on_gpu needs a CUDA device and use_gpu_transform");
  expect(InputOp(1, 16, {MakeArgument<int>("decode_on_gpu", 1)}), true, "use_gpu_transform");
  expect(OnDevice(1, 16, {MakeArgument<int>("resident", 1), MakeArgument<int>("scale", 20)}), true,
         "decode_on_gpu and resident cannot be used together");
}

}  // namespace
}  // namespace caffe2::testing
