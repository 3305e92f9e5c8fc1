#include "caffe2/core/blob_serialization.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <mutex>

#include "caffe2/core/tensor_int8.h"

namespace caffe2 {
namespace {

std::map<std::string, BlobProto> Serialize(const Blob& blob, int64_t chunk_size) {
  std::map<std::string, BlobProto> records;
  BlobSerializationOptions options;
  options.set_chunk_size(chunk_size);
  SerializeBlob(
      blob, "x",
      [&records](const std::string& key, const std::string& value) {
        EXPECT_TRUE(records[key].ParseFromString(value));
      },
      options);
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

// The options' 0 is the default, -1 one chunk.
TEST(BlobSerializationTest, ChunkSizes) {
  Blob blob;
  auto* tensor = blob.GetMutable<Tensor>();
  tensor->Resize(kDefaultChunkSize + 10);
  std::fill_n(tensor->mutable_data<uint8_t>(), tensor->numel(), 7);
  EXPECT_EQ(Serialize(blob, 0).size(), 2u);
  EXPECT_EQ(Serialize(blob, kNoChunking).size(), 1u);
  EXPECT_EQ(Serialize(blob, kDefaultChunkSize / 2).size(), 3u);
  EXPECT_THROW(Serialize(blob, -2), EnforceNotMet);
  tensor->Resize(0);
  for (const int64_t size : {int64_t{0}, kNoChunking, int64_t{3}}) {
    EXPECT_EQ(Serialize(blob, size).size(), 1u) << size;
  }
}

BlobProto SerializeAsBFloat16(const Blob& blob) {
  BlobSerializationOptions options;
  options.set_float_format(BlobSerializationOptions::FLOAT_BFLOAT16);
  BlobProto proto;
  SerializeBlob(
      blob, "x",
      [&proto](const std::string&, const std::string& value) { proto.ParseFromString(value); },
      options);
  return proto;
}

TEST(BlobSerializationTest, FloatsAsBFloat16) {
  Blob blob, result;
  // 1 + 2^-8 lies between two bfloat16: it goes to the even one, 1 + 3 * 2^-8 to the other.
  const std::vector<float> values = {1.f, -2.5f, 1.f + 0x1p-8f, 1.f + 0x3p-8f, 0.f};
  blob.GetMutable<Tensor>()->CopyFrom(Tensor({5}, values));
  BlobProto proto = SerializeAsBFloat16(blob);
  const TensorProto& tensor = proto.tensor();
  EXPECT_EQ(tensor.data_type(), TensorProto::FLOAT);
  EXPECT_EQ(tensor.data_format(), uint32_t{TensorProto::FMT_BFLOAT16});
  EXPECT_EQ(tensor.float_data_size(), 0);
  EXPECT_EQ(tensor.raw_data(), std::string("\x80\x3f\x20\xc0\x80\x3f\x82\x3f\0\0", 10));
  DeserializeBlob(proto, &result);
  const float* read = result.Get<Tensor>().data<float>();
  EXPECT_EQ(std::vector<float>(read, read + 5),
            std::vector<float>({1.f, -2.5f, 1.f, 1.f + 0x1p-6f, 0.f}));

  TensorProto bad = tensor;
  bad.mutable_raw_data()->pop_back();
  EXPECT_THROW(DeserializeTensor(bad, result.GetMutable<Tensor>()), EnforceNotMet);
  bad = tensor;
  bad.set_data_type(TensorProto::INT32);
  EXPECT_THROW(DeserializeTensor(bad, result.GetMutable<Tensor>()), EnforceNotMet);
  bad = tensor;
  bad.set_data_format(2);
  EXPECT_THROW(DeserializeTensor(bad, result.GetMutable<Tensor>()), EnforceNotMet);

  blob.GetMutable<Tensor>()->CopyFrom(Tensor({1}, std::vector<double>{1 + 0x1p-8}));
  DeserializeBlob(SerializeAsBFloat16(blob), &result);
  EXPECT_EQ(result.Get<Tensor>().data<double>()[0], 1 + 0x1p-8) << "only floats are rounded";
}

TEST(BlobSerializationTest, TheFirstMatchingOptionsCount) {
  SerializationOptions options;
  const auto add = [&options](const std::string& regex, int64_t chunk_size) {
    options.add_options()->set_blob_name_regex(regex);
    options.mutable_options()->rbegin()->set_chunk_size(chunk_size);
  };
  add("int16_data", 10);
  add(".*16_data", 20);
  add("float16_data", 30);
  EXPECT_EQ(OptionsForBlob("int16_data", options).chunk_size(), 10);
  EXPECT_EQ(OptionsForBlob("uint16_data", options).chunk_size(), 20) << "the whole name matches";
  EXPECT_EQ(OptionsForBlob("float16_data", options).chunk_size(), 20);
  EXPECT_EQ(OptionsForBlob("other", options).chunk_size(), 0);
  add("", 40);
  EXPECT_EQ(OptionsForBlob("other", options).chunk_size(), 40);
  options.mutable_options(0)->set_blob_name_regex("(");
  EXPECT_THROW(OptionsForBlob("other", options), EnforceNotMet);
}

TEST(BlobSerializationTest, SizesAreEstimated) {
  Blob blob;
  BlobSerializationOptions options;
  EXPECT_EQ(EstimateSerializedSize(blob, "name"), 0);
  auto* tensor = blob.GetMutable<Tensor>();
  EXPECT_EQ(EstimateSerializedSize(blob, "name"), 0) << "no elements yet";
  tensor->Resize(4000);
  tensor->mutable_data<float>();
  EXPECT_EQ(EstimateSerializedSize(blob, "name"), 54 + 4 * 4000);
  options.set_chunk_size(500);
  options.set_float_format(BlobSerializationOptions::FLOAT_BFLOAT16);
  EXPECT_EQ(EstimateSerializedSize(blob, "name", options), 8 * 54 + 2 * 4000);
  tensor->mutable_data<uint16_t>();
  EXPECT_EQ(EstimateSerializedSize(blob, "name"), 54 + 3 * 4000);
  tensor->mutable_data<int64_t>();
  EXPECT_EQ(EstimateSerializedSize(blob, "name"), 54 + 8 * 4000);
  *blob.GetMutable<std::string>() = "content";
  EXPECT_EQ(EstimateSerializedSize(blob, "name"), 4 + 7 + 20);
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

// A sound proto of a quantized tensor, changed: it must be refused, for the reason given.
void ExpectInt8Refused(const std::string& reason,
                       const std::function<void(QTensorProto*)>& change) {
  Blob blob, result;
  auto* tensor = blob.GetMutable<int8::Int8TensorCPU>();
  tensor->scale = 0.5f;
  tensor->zero_point = 3;
  tensor->t.CopyFrom(Tensor({2, 2}, std::vector<uint8_t>{0, 1, 2, 255}));
  BlobProto proto;
  ASSERT_TRUE(proto.ParseFromString(SerializeBlob(blob, "x")));
  DeserializeBlob(proto, &result);
  change(proto.mutable_qtensor());
  try {
    DeserializeBlob(proto, &result);
    FAIL() << proto.ShortDebugString();
  } catch (const EnforceNotMet& error) {
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  }
}

TEST(BlobSerializationTest, ForgedQuantizedTensorsAreRefused) {
  const std::string no_fit = " of the quantized tensor \"x\" does not fit uint8_t";
  ExpectInt8Refused("value 256" + no_fit, [](QTensorProto* p) { p->set_data(1, 256); });
  ExpectInt8Refused("value -1" + no_fit, [](QTensorProto* p) { p->set_data(1, -1); });
  for (const double number : {double{NAN}, double{INFINITY}, -1e300}) {
    ExpectInt8Refused("\"x\" has scale", [=](QTensorProto* p) { p->set_scale(number); });
    ExpectInt8Refused("and zero point", [=](QTensorProto* p) { p->set_bias(number); });
  }
  ExpectInt8Refused("negative dimension", [](QTensorProto* p) { p->set_dims(0, -2); });
  ExpectInt8Refused("the quantized tensor \"x\" must have",
                    [](QTensorProto* p) { p->set_dims(0, 1 << 30); });
  ExpectInt8Refused("the quantized tensor \"x\" must have",
                    [](QTensorProto* p) { p->clear_data(); });
  ExpectInt8Refused("elements of type FLOAT, not UINT8 or INT32",
                    [](QTensorProto* p) { p->set_data_type(TensorProto::FLOAT); });
}

// Like a message above 2 GB, which a test cannot afford: protobuf gives an empty text for it.
struct HugeObject {};
class HugeSerializer final : public BlobSerializer {
 public:
  void Serialize(const Blob& /*blob*/, const std::string& name,
                 const SerializationAcceptor& acceptor,
                 const BlobSerializationOptions& /*options*/) override {
    acceptor(name, "");
  }
  void Deserialize(const BlobProto& /*proto*/, Blob* /*blob*/) override {}
};
REGISTER_BLOB_SERIALIZER(TypeName<HugeObject>::Get(), HugeSerializer);

TEST(BlobSerializationTest, RecordsThatProtobufCannotWriteAreRefused) {
  Blob blob;
  blob.GetMutable<HugeObject>();
  try {
    SerializeBlob(blob, "my_blob");
    FAIL();
  } catch (const EnforceNotMet& error) {
    EXPECT_NE(std::string(error.what()).find("my_blob"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("2 GB"), std::string::npos) << error.what();
  }
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
