#include "train/observe/event_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace caffe2 {
namespace {

OperatorDef Op(const std::string& type, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs) {
  OperatorDef op;
  op.set_type(type);
  for (const std::string& input : inputs) op.add_input(input);
  for (const std::string& output : outputs) op.add_output(output);
  return op;
}

// Of an empty record: eight zero bytes, and the checksums in little-endian. The CRC-32C of nothing
// is 0, so its masked form is the constant alone. The CRC-32C of eight zeros, 0x8c28b28a, was
// computed by hand.
TEST(EventFileTest, AnEmptyRecordIsFramedAsInTensorFlow) {
  const std::string record = FrameRecord("");
  ASSERT_EQ(record.size(), 16u);
  EXPECT_EQ(record.substr(0, 8), std::string(8, '\0'));
  const uint32_t crc = 0x8c28b28au, masked = ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(static_cast<uint8_t>(record[8 + i]), (masked >> (8 * i)) & 0xff) << i;
    EXPECT_EQ(static_cast<uint8_t>(record[12 + i]), (0xa282ead8u >> (8 * i)) & 0xff) << i;
  }
}

TEST(EventFileTest, InputsNameTheLastWriterOfABlob) {
  NetDef net;
  *net.add_op() = Op("Conv", {"data", "w"}, {"conv"});
  *net.add_op() = Op("Relu", {"conv"}, {"conv"});
  *net.add_op() = Op("MaxPoolWithIndex", {"conv"}, {"pool", "index"});
  *net.add_op() = Op("Gather", {"w", "index"}, {"out"});
  const tensorboard::GraphDef graph = GraphOf(net);
  std::vector<std::string> lines;
  for (const auto& node : graph.node()) {
    std::string line = node.name() + " " + node.op();
    for (const std::string& input : node.input()) line += " " + input;
    lines.push_back(line);
  }
  EXPECT_EQ(lines,
            (std::vector<std::string>{"data Blob", "w Blob", "conv Conv data w", "conv_1 Relu conv",
                                      "pool MaxPoolWithIndex conv_1", "out Gather w pool:1"}));
}

TEST(EventFileTest, NodesKeepArgumentsAndDeviceAndHaveLegalNames) {
  NetDef net;
  OperatorDef* op = net.add_op();
  *op = Op("Conv", {}, {"cpu_0/_conv:1 a"});
  op->mutable_device_option()->set_device_type(1);
  op->mutable_device_option()->set_device_id(3);
  Argument* arg = op->add_arg();
  arg->set_name("kernels");
  arg->add_ints(3);
  arg->add_ints(5);
  arg = op->add_arg();
  arg->set_name("order");
  arg->set_s("NHWC");
  const tensorboard::NodeDef node = GraphOf(net).node(0);
  EXPECT_EQ(node.name(), "cpu_0/_conv_1_a");
  EXPECT_EQ(node.device(), "/device:GPU:3");
  EXPECT_EQ(node.attr().at("kernels").list().i(1), 5);
  EXPECT_EQ(node.attr().at("order").s(), "NHWC");
}

TEST(EventFileTest, AHistogramCountsEveryFiniteValueOnce) {
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(static_cast<float>(i % 64) + 0.5f);
  values.push_back(std::nanf(""));
  values.push_back(std::numeric_limits<float>::infinity());
  const auto histogram = HistogramOf(values.data(), static_cast<int64_t>(values.size()));
  EXPECT_EQ(histogram.min(), 0.5);
  EXPECT_EQ(histogram.max(), 63.5);
  EXPECT_EQ(histogram.num(), 1000);
  ASSERT_EQ(histogram.bucket_size(), 64);
  EXPECT_EQ(histogram.bucket_limit(63), 63.5);
  double sum = 0, squares = 0;
  for (int i = 0; i < 1000; ++i) sum += values[i], squares += values[i] * values[i];
  EXPECT_EQ(histogram.sum(), sum);
  EXPECT_EQ(histogram.sum_squares(), squares);
  // 64 different values in 64 buckets: each has its own, with 16 values or, for the first 40, 15
  // + 1.
  for (int i = 0; i < 64; ++i) EXPECT_EQ(histogram.bucket(i), i < 40 ? 16 : 15) << i;
}

TEST(EventFileTest, HistogramsOfNothingAndOfOneValue) {
  EXPECT_EQ(HistogramOf(nullptr, 0).bucket_size(), 0);
  const std::vector<float> same(5, 2.f);
  const auto histogram = HistogramOf(same.data(), 5);
  ASSERT_EQ(histogram.bucket_size(), 1);
  EXPECT_EQ(histogram.bucket(0), 5);
  EXPECT_EQ(histogram.bucket_limit(0), 2);
}

}  // namespace
}  // namespace caffe2
