#include "caffe2/core/blob_serialization.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <mutex>

namespace caffe2 {
namespace {

std::map<std::string, BlobProto> Serialize(const Blob& blob, int64_t chunk_size) {
  std::map<std::string, BlobProto> records;
  SerializeBlob(
      blob, "x",
      [&records](const std::string& key, const std::string& value) {
        EXPECT_TRUE(records[key].ParseFromString(value));
      },
      chunk_size);
  return records;
}

template <typename T>
void ExpectRoundTrip(const std::vector<int64_t>& dims, const std::vector<T>& values) {
  Blob blob;
  blob.GetMutable<Tensor>()->CopyFrom(Tensor(dims, values));
  Blob result;
  // Chunks in reverse order: any order is good.
  const auto records = Serialize(blob, 2);
  EXPECT_EQ(records.size(), std::max<size_t>(1, (values.size() + 1) / 2));
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    DeserializeBlob(record->second, &result);
  }
  const Tensor& tensor = result.Get<Tensor>();
  EXPECT_EQ(tensor.sizes(), dims);
  EXPECT_EQ(std::vector<T>(tensor.data<T>(), tensor.data<T>() + tensor.numel()), values);
}

TEST(BlobSerializationTest, TensorsOfEveryTypeSurvive) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  ExpectRoundTrip<float>({5}, {1.5f, -0.f, kInfinity, 1e-42f, 3.f});
  ExpectRoundTrip<double>({2, 2}, {1.1, -2.2, 1e300, 0});
  ExpectRoundTrip<int32_t>({3}, {INT32_MIN, -1, INT32_MAX});
  ExpectRoundTrip<int64_t>({3}, {INT64_MIN, -1, INT64_MAX});
  ExpectRoundTrip<int16_t>({3}, {INT16_MIN, -1, INT16_MAX});
  ExpectRoundTrip<uint16_t>({3}, {0, 1, UINT16_MAX});
  ExpectRoundTrip<int8_t>({3}, {INT8_MIN, -1, INT8_MAX});
  ExpectRoundTrip<uint8_t>({3}, {0, 1, UINT8_MAX});
  ExpectRoundTrip<float16>({3}, {{0x3c00}, {0xfc00}, {0xffff}});
  ExpectRoundTrip<bfloat16>({3}, {{0x3f80}, {0xff80}, {0xffff}});
  ExpectRoundTrip<std::string>({3}, {"", "text", std::string("\0\xff", 2)});
  ExpectRoundTrip<float>({0, 4}, {});
  ExpectRoundTrip<float>({}, {7.f});
}

TEST(BlobSerializationTest, BoolsSurvive) {
  Blob blob, result;
  bool* data = (*blob.GetMutable<Tensor>() = Tensor({2}, CPU)).mutable_data<bool>();
  data[0] = true;
  data[1] = false;
  DeserializeBlob(SerializeBlob(blob, "x"), &result);
  EXPECT_TRUE(result.Get<Tensor>().data<bool>()[0]);
  EXPECT_FALSE(result.Get<Tensor>().data<bool>()[1]);
}

TEST(BlobSerializationTest, ChunksAreCaffes) {
  Blob blob;
  blob.GetMutable<Tensor>()->CopyFrom(Tensor({5}, std::vector<float>{1, 2, 3, 4, 5}));
  const auto records = Serialize(blob, 2);
  ASSERT_EQ(records.size(), 3u);
  for (int chunk = 0; chunk < 3; ++chunk) {
    const BlobProto& proto = records.at("x#%" + std::to_string(chunk));
    EXPECT_EQ(proto.name(), "x");
    EXPECT_EQ(proto.type(), "Tensor");
    EXPECT_EQ(proto.tensor().name(), "x");
    EXPECT_EQ(proto.tensor().dims(0), 5);
    EXPECT_EQ(proto.tensor().segment().begin(), 2 * chunk);
    EXPECT_EQ(proto.tensor().segment().end(), std::min(2 * chunk + 2, 5));
    EXPECT_EQ(proto.tensor().float_data(0), 2.f * chunk + 1);
  }
  const auto whole = Serialize(blob, kDefaultChunkSize);
  ASSERT_EQ(whole.count("x#%0"), 1u) << "a chunk number even where there is one chunk";
  EXPECT_TRUE(whole.at("x#%0").tensor().has_segment());
}

TEST(BlobSerializationTest, StringsAndMutexesSurvive) {
  Blob blob, result;
  *blob.GetMutable<std::string>() = "content";
  EXPECT_EQ(Serialize(blob, 1).at("x").type(), "std::string");
  DeserializeBlob(SerializeBlob(blob, "x"), &result);
  EXPECT_EQ(result.Get<std::string>(), "content");
  *blob.GetMutable<std::unique_ptr<std::mutex>>() = std::make_unique<std::mutex>();
  EXPECT_EQ(Serialize(blob, 1).at("x").type(), "std::unique_ptr<std::mutex>");
  DeserializeBlob(SerializeBlob(blob, "x"), &result);
  EXPECT_TRUE(result.Get<std::unique_ptr<std::mutex>>()->try_lock());
  result.Get<std::unique_ptr<std::mutex>>()->unlock();
}

TEST(BlobSerializationTest, RawAndByteDataAreRead) {
  TensorProto proto;
  proto.add_dims(2);
  proto.set_data_type(TensorProto::FLOAT);
  proto.set_storage_type(TensorProto::RAW);
  const float values[] = {1.5f, 2.5f};
  proto.set_raw_data(values, sizeof(values));
  Tensor tensor;
  DeserializeTensor(proto, &tensor);
  EXPECT_EQ(tensor.data<float>()[1], 2.5f);
  proto.clear_raw_data();
  proto.set_storage_type(TensorProto::TYPED);
  proto.set_data_type(TensorProto::BYTE);
  proto.set_byte_data("\x07\xff");
  DeserializeTensor(proto, &tensor);
  EXPECT_EQ(tensor.data<uint8_t>()[1], 255);
  proto.set_data_type(TensorProto::BOOL);
  DeserializeTensor(proto, &tensor);
  EXPECT_EQ(*reinterpret_cast<const uint8_t*>(tensor.data<bool>() + 1), 1) << "a valid bool";
}

TEST(BlobSerializationTest, OlderTypeNamesAreRead) {
  Blob blob, result;
  blob.GetMutable<Tensor>()->CopyFrom(Tensor({1}, std::vector<float>{3}));
  BlobProto proto;
  proto.ParseFromString(SerializeBlob(blob, "x"));
  proto.set_type("TensorCPU");
  DeserializeBlob(proto, &result);
  EXPECT_EQ(result.Get<Tensor>().data<float>()[0], 3.f);
}

// A sound proto, changed: it must be refused.
void ExpectRefused(const std::function<void(TensorProto*)>& change) {
  Blob blob;
  blob.GetMutable<Tensor>()->CopyFrom(Tensor({2, 2}, std::vector<float>{1, 2, 3, 4}));
  BlobProto proto;
  proto.ParseFromString(SerializeBlob(blob, "x"));
  change(proto.mutable_tensor());
  Blob result;
  EXPECT_THROW(DeserializeBlob(proto, &result), EnforceNotMet) << proto.ShortDebugString();
}

TEST(BlobSerializationTest, InconsistentTensorsAreRefused) {
  ExpectRefused([](TensorProto* p) { p->add_float_data(5); });
  ExpectRefused([](TensorProto* p) { p->clear_float_data(); });
  ExpectRefused([](TensorProto* p) { p->set_dims(0, -2); });
  ExpectRefused([](TensorProto* p) { p->set_dims(0, int64_t{1} << 62); });
  ExpectRefused([](TensorProto* p) { p->mutable_segment()->set_begin(-1); });
  ExpectRefused([](TensorProto* p) { p->mutable_segment()->set_end(5); });
  ExpectRefused([](TensorProto* p) { p->mutable_segment()->set_begin(9); });
  ExpectRefused([](TensorProto* p) { p->set_data_type(TensorProto::UNDEFINED); });
  ExpectRefused([](TensorProto* p) { p->set_data_type(TensorProto::ZERO_COLLISION_HASH); });
  ExpectRefused([](TensorProto* p) { p->set_data_type(TensorProto::STRING); });
  ExpectRefused([](TensorProto* p) { p->set_storage_type(TensorProto::EXTERNAL); });
  ExpectRefused([](TensorProto* p) { p->set_raw_data("123"); });
  ExpectRefused([](TensorProto* p) { p->mutable_device_detail()->set_device_type(99); });
  ExpectRefused([](TensorProto* p) {
    p->set_data_type(TensorProto::UINT8);
    for (const int value : {1, 2, 3, 256}) p->add_int32_data(value);
  });
  ExpectRefused([](TensorProto* p) {
    p->set_data_type(TensorProto::FLOAT16);
    for (const int value : {1, 2, 3, -1}) p->add_int32_data(value);
  });
}

TEST(BlobSerializationTest, WhatCannotBeSerializedIsNamed) {
  Blob blob;
  blob.GetMutable<int>();
  try {
    SerializeBlob(blob, "my_blob");
    FAIL();
  } catch (const EnforceNotMet& error) {
    EXPECT_NE(std::string(error.what()).find("my_blob"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("int"), std::string::npos) << error.what();
  }
  blob.GetMutable<Tensor>();
  EXPECT_THROW(SerializeBlob(blob, "no data"), EnforceNotMet);
  EXPECT_THROW(DeserializeBlob(std::string("junk"), &blob), EnforceNotMet);
  BlobProto proto;
  proto.set_type("Unheard");
  EXPECT_THROW(DeserializeBlob(proto, &blob), EnforceNotMet);
  proto.set_type("Tensor");
  EXPECT_THROW(DeserializeBlob(proto, &blob), EnforceNotMet) << "no tensor in it";
}

}  // namespace
}  // namespace caffe2
