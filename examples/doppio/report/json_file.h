// Reads the JSON files of --log_dir.
#pragma once

#include <google/protobuf/struct.pb.h>

#include <optional>
#include <string>

namespace caffe2::report {

// The object in a file; nullopt if there is no such file. Throws IoError if it is not JSON.
std::optional<google::protobuf::Struct> ReadJsonFile(const std::string& path);

// Finds a member; a value of no kind if it is missing.
const google::protobuf::Value& Member(const google::protobuf::Struct& object,
                                      const std::string& name);

}  // namespace caffe2::report
