// The schemas of all operators say what their arguments may be.
// tests/python/test_argument_types.py compares the types with what the sources read.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/operator.h"

namespace caffe2::testing {
namespace {

// "Operator argument" of the arguments that may be anything, and why.
const std::map<std::string, std::string>& Untyped() {
  static const char kUnread[] = "only scripts and nets of Caffe2 give it: it is not read";
  static const std::map<std::string, std::string> untyped = {
      {"AliasWithName is_backward", kUnread},
      {"AliasWithName name", kUnread},
      {"AsyncNetBarrier cross_device", kUnread},
      {"BatchBoxCox min_block_size", kUnread},
      {"BatchBoxCox naive", kUnread},
      {"ChannelShuffle kernel", kUnread},
      {"ConstantFill value", "its type is the one that dtype asks for"},
      {"DecayAdagrad beta2", kUnread},
      {"DepthSplit dimensions", kUnread},
      {"DiagonalFill value", "its type is the one that dtype asks for"},
      {"FP16MomentumSGDUpdate fp32_update", kUnread},
      {"GRUUnit forget_bias", kUnread},
      {"GivenTensorFill values", "their type is the one that dtype asks for"},
      {"Int8Add order", kUnread},
      {"Int8AddRelu order", kUnread},
      {"Int8ChannelShuffle kernel", kUnread},
      {"Int8FC order", kUnread},
      {"Int8Relu order", kUnread},
      {"Int8Softmax order", kUnread},
      {"Int8Sum order", kUnread},
      {"Int8SumRelu order", kUnread},
      {"IsMemberOf dtype", kUnread},
      {"IsMemberOf value", "they have the type of the input's elements"},
      {"RecurrentNetwork enable_rnn_executor", kUnread},
  };
  return untyped;
}

std::set<std::string> OperatorTypes() {
  std::set<std::string> types;
  for (const std::string& key : DeviceOperatorRegistry(CPU)->Keys()) {
    types.insert(key.substr(0, key.find("_ENGINE_")));
  }
  return types;
}

TEST(ArgumentTypesTest, AllArgumentsHaveATypeOrAReason) {
  std::set<std::string> found;
  int arguments = 0;
  for (const std::string& type : OperatorTypes()) {
    const OpSchema* schema = OpSchemaRegistry::Schema(type);
    ASSERT_NE(schema, nullptr) << type;
    for (const OpSchema::Parameter& argument : schema->args()) {
      ++arguments;
      if (argument.type != ArgumentType::kAny) continue;
      const std::string name = MakeString(type, " ", argument.name);
      EXPECT_EQ(Untyped().count(name), 1u) << name << ": give Arg its type";
      found.insert(name);
    }
  }
  EXPECT_GT(arguments, 1500);
  for (const auto& [name, reason] : Untyped()) {
    EXPECT_EQ(found.count(name), 1u) << name << " has a type, or is gone: " << reason;
  }
}

// Documentation puts the type before the description.
TEST(ArgumentTypesTest, DescriptionsDoNotRepeatTheType) {
  const std::regex repeated("\\(?(\\d+ |list of )?(int64|int|float|bool|string|net)s?[,) ].*",
                            std::regex::icase);
  ASSERT_TRUE(std::regex_match("(4 floats, default 1) Factors.", repeated));
  for (const std::string& type : OperatorTypes()) {
    for (const OpSchema::Parameter& argument : OpSchemaRegistry::Schema(type)->args()) {
      EXPECT_FALSE(std::regex_match(argument.description, repeated))
          << type << " " << argument.name << ": " << argument.description;
    }
  }
}

// A description names its default like one of the choices.
TEST(ArgumentTypesTest, DefaultsAreAmongTheChoices) {
  const std::regex clause("\\(default (\\w+)\\).*");
  int defaults = 0;
  for (const std::string& type : OperatorTypes()) {
    for (const OpSchema::Parameter& argument : OpSchemaRegistry::Schema(type)->args()) {
      std::smatch match;
      if (argument.choices.empty() || !std::regex_match(argument.description, match, clause)) {
        continue;
      }
      ++defaults;
      EXPECT_NE(std::find(argument.choices.begin(), argument.choices.end(), match[1].str()),
                argument.choices.end())
          << type << " " << argument.name << ": " << argument.description;
    }
  }
  EXPECT_GT(defaults, 50);
}

}  // namespace
}  // namespace caffe2::testing
