#include "examples/doppio/report/json_file.h"

#include <google/protobuf/util/json_util.h>

#include <fstream>
#include <sstream>

#include "caffe2/core/exit_code.h"

namespace caffe2::report {

using google::protobuf::Struct;
using google::protobuf::Value;

std::optional<Struct> ReadJsonFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  Struct object;
  if (!google::protobuf::util::JsonStringToMessage(text.str(), &object).ok()) {
    ThrowIoError(ExitCode::kBadData, path, " is not JSON");
  }
  return object;
}

const Value& Member(const Struct& object, const std::string& name) {
  const auto found = object.fields().find(name);
  return found == object.fields().end() ? Value::default_instance() : found->second;
}

}  // namespace caffe2::report
