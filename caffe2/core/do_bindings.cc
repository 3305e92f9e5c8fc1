#include "caffe2/core/do_bindings.h"

#include <algorithm>
#include <set>
#include <vector>

#include "caffe2/core/argument.h"
#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

// The outer blobs in the order of outer_blobs_idx.
std::vector<std::string> OuterNames(const OperatorDef& def) {
  const int inputs = def.input_size(), outputs = def.output_size();
  CAFFE_ENFORCE(inputs > 0 && outputs > 0 && def.input(inputs - 1) == def.output(outputs - 1),
                "the last input and the last output must be the same scope blob");
  std::vector<std::string> names(def.input().begin(), def.input().end() - 1);
  for (int i = 0; i + 1 < outputs; ++i) {
    if (std::find(names.begin(), names.end(), def.output(i)) == names.end()) {
      names.push_back(def.output(i));
    }
  }
  return names;
}

}  // namespace

std::unordered_map<std::string, std::string> ReadDoBindings(const OperatorDef& def) {
  const ArgumentHelper arguments(def);
  const auto inner = arguments.GetRepeatedArgument<std::string>("inner_blobs");
  const auto index = arguments.GetRepeatedArgument<int>("outer_blobs_idx");
  const std::vector<std::string> outer = OuterNames(def);
  CAFFE_ENFORCE(inner.size() == index.size(), "the arguments inner_blobs (", inner.size(),
                ") and outer_blobs_idx (", index.size(), ") must have the same length");
  std::unordered_map<std::string, std::string> bindings;
  std::set<int> used;
  for (size_t i = 0; i < inner.size(); ++i) {
    CAFFE_ENFORCE(index[i] >= 0 && index[i] < static_cast<int>(outer.size()),
                  "argument outer_blobs_idx (", index[i], ") is out of range for ", outer.size(),
                  " blobs");
    CAFFE_ENFORCE(used.insert(index[i]).second, "outer blob ", outer[index[i]], " is bound twice");
    CAFFE_ENFORCE(bindings.emplace(inner[i], outer[index[i]]).second, "inner blob ", inner[i],
                  " is bound twice");
  }
  CAFFE_ENFORCE(used.size() == outer.size(),
                "the argument outer_blobs_idx must bind every outer blob: it binds ", used.size(),
                " of ", outer.size());
  return bindings;
}

}  // namespace caffe2
