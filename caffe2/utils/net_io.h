// NetDef and PlanDef files: binary (.pb) and text (.pbtxt).
#pragma once

#include <string>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Reads a binary or text file. Tries both formats: text first for the names *.pbtxt, *.prototxt and
// *.txt, binary first for all others. Text may use the old spellings `device_type: CUDA` (a name;
// the field now holds a number) and `cuda_gpu_id`.
//
// Throws IoError with the path if the file cannot be read, is empty, has more than 2^30 bytes or
// more than 100 levels of messages, or does not hold the message (with line and column for text).
NetDef ReadNetDef(const std::string& path);
PlanDef ReadPlanDef(const std::string& path);

// The same for text in memory; errors name it `name`.
NetDef ParseNetDefText(const std::string& text, const std::string& name);

}  // namespace caffe2
