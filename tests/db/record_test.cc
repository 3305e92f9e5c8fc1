#include "db/record.h"

#include <gtest/gtest.h>

#include "caffe2/core/random.h"
#include "caffe2/proto/caffe_datum.pb.h"
#include "db/record_writer.h"
#include "tests/db/db_test_util.h"
#include "tests/db/temporary_directory.h"

namespace caffe2::testing {
namespace {

TEST(Record, DatumAgreesWithProtobuf) {
  caffe::Datum datum;
  datum.set_channels(3);
  datum.set_height(2);
  datum.set_width(1);
  datum.set_data(std::string("\0\1\2\3\4\xff", 6));
  datum.set_label(-7);  // ten bytes on the wire
  datum.set_encoded(true);
  const std::string record = datum.SerializeAsString();
  db::DatumView view;
  ASSERT_EQ(db::ParseDatum(record, &view), db::ParseResult::kOk);
  EXPECT_EQ(view.channels, 3);
  EXPECT_EQ(view.height, 2);
  EXPECT_EQ(view.width, 1);
  EXPECT_EQ(view.data, datum.data());
  EXPECT_EQ(view.label, -7);
  EXPECT_TRUE(view.has_label && view.encoded);
  datum.add_float_data(1.5f);
  const std::string with_floats = datum.SerializeAsString();
  ASSERT_EQ(db::ParseDatum(with_floats, &view), db::ParseResult::kOk);
  EXPECT_EQ(view.float_data, std::vector<float>({1.5f}));
}

TEST(Record, TensorProtosAgreeWithProtobuf) {
  const std::string record = db::MakeTensorProtos(1, 2, 3, "abcdef", 300);
  db::TensorView views[2];
  ASSERT_EQ(db::ParseTensorProtos(record, views, 2), db::ParseResult::kOk);
  EXPECT_EQ(views[0].num_dims, 3);
  EXPECT_EQ(views[0].dims[2], 3);
  EXPECT_EQ(views[0].byte_data, "abcdef");
  EXPECT_EQ(views[0].data_type, TensorProto::BYTE);
  EXPECT_EQ(views[1].num_dims, 0);
  int32_t label = 0;
  EXPECT_TRUE(db::UnpackInt32(views[1].int32_data, 1, &label));
  EXPECT_EQ(label, 300);
  EXPECT_FALSE(db::UnpackInt32(views[1].int32_data, 2, &label));
  EXPECT_EQ(db::ParseTensorProtos(record, views, 1), db::ParseResult::kUnusual);
}

TEST(Record, KindsAreToldApart) {
  EXPECT_EQ(db::DetectRecordKind(db::MakeDatum(1, 1, 2, "ab", 3)), db::RecordKind::kDatum);
  EXPECT_EQ(db::DetectRecordKind(db::MakeTensorProtos(1, 1, 2, "ab", 3)),
            db::RecordKind::kTensorProtos);
  EXPECT_EQ(db::DetectRecordKind("junk"), db::RecordKind::kUnknown);
  EXPECT_EQ(db::DetectRecordKind(""), db::RecordKind::kUnknown);
}

// Whatever the bytes, the parser stays inside them, and where protobuf refuses them it does too.
TEST(Record, DamagedRecordsAreRefused) {
  const std::string datum = db::MakeDatum(1, 3, 3, "123456789", 5);
  const std::string protos = db::MakeTensorProtos(1, 3, 3, "123456789", 5);
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomGenerator random(seed);
    for (const std::string& whole : {datum, protos}) {
      // An exact allocation, so that a sanitizer sees a step outside.
      std::vector<char> bytes(whole.begin(), whole.begin() + 1 + random.UniformInt(whole.size()));
      bytes[random.UniformInt(bytes.size())] = static_cast<char>(random());
      const std::string_view record(bytes.data(), bytes.size());
      db::DatumView view;
      caffe::Datum parsed_datum;
      if (db::ParseDatum(record, &view) == db::ParseResult::kOk) {
        EXPECT_TRUE(parsed_datum.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
      }
      db::TensorView views[2];
      TensorProtos parsed;
      // Packed numbers are looked at when they are unpacked.
      int32_t label = 0;
      if (db::ParseTensorProtos(record, views, 2) == db::ParseResult::kOk &&
          views[0].int32_data.empty() && db::UnpackInt32(views[1].int32_data, 1, &label) &&
          (views[0].float_data.size() | views[1].float_data.size()) % sizeof(float) == 0) {
        EXPECT_TRUE(parsed.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
      }
    }
  }
}

TEST(RecordWriter, LeavesADatabaseThatAnotherProcessHasMade) {
  const TemporaryDirectory directory;
  for (const std::string type : {"lmdb", "minidb"}) {
    const std::string path = directory.Path(type);
    db::RecordWriter writer(type, path);
    writer.Add("value");
    WriteFile(path, "another database");
    EXPECT_NE(ThrownMessage<IoError>([&] { writer.Finish(); }).find("another process has made it"),
              std::string::npos);
    EXPECT_EQ(ReadFile(path), "another database");
  }
}

}  // namespace
}  // namespace caffe2::testing
