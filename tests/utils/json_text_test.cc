#include "caffe2/utils/json_text.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace caffe2 {
namespace {

// protobuf's parser is the reference.
std::string Parsed(const std::string& json) {
  google::protobuf::Value value;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &value);
  EXPECT_TRUE(status.ok()) << json << ": " << status.ToString();
  return value.string_value();
}

TEST(JsonTextTest, AnotherParserReadsEveryCharacterBack) {
  std::string ascii;
  for (char c = 1; c > 0 && c < 127; ++c) ascii += c;
  for (const std::string& text :
       {ascii, std::string("a\0b", 3), std::string("\"\\/\n\t\r"),
        std::string("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"), std::string()}) {
    EXPECT_EQ(Parsed(JsonString(text)), text);
  }
}

TEST(JsonTextTest, BytesThatAreNotUtf8AreReplaced) {
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(Parsed(JsonString("a\xff"
                              "b")),
            "a" + mark + "b");
  EXPECT_EQ(Parsed(JsonString("\xc3")), mark);                                // cut short
  EXPECT_EQ(Parsed(JsonString("\xc0\x80")), mark + mark);                     // overlong
  EXPECT_EQ(Parsed(JsonString("\xed\xa0\x80")), mark + mark + mark);          // a surrogate
  EXPECT_EQ(Parsed(JsonString("\xf4\x90\x80\x80")).size(), 4 * mark.size());  // above U+10FFFF
}

TEST(JsonTextTest, NumbersKeepNineDigitsAndAreFiniteOrNull) {
  EXPECT_EQ(JsonNumber(0.1), "0.1");
  EXPECT_EQ(std::stof(JsonNumber(std::nextafter(1.f, 2.f))), std::nextafter(1.f, 2.f));
  EXPECT_EQ(JsonNumber(std::nan("")), "null");
  EXPECT_EQ(JsonNumber(-std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonTextTest, ObjectsKeepTheOrderOfTheirMembers) {
  JsonObject object;
  object.Add("z", 1).Add("a", "x\"y").Add("n", 0.5).AddJson("o", JsonOf({{"k", "v"}}));
  EXPECT_EQ(object.ToString(), R"({"z": 1, "a": "x\"y", "n": 0.5, "o": {"k": "v"}})");
  EXPECT_EQ(JsonObject().ToString(), "{}");
}

}  // namespace
}  // namespace caffe2
