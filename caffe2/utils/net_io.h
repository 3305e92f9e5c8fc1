// NetDef and PlanDef files: binary (.pb) and text (.pbtxt).
#pragma once

#include <string>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Reads a file in binary or text form; the form is found by trying, text first for the names
// *.pbtxt, *.prototxt and *.txt. Text may use the old spellings `device_type: CUDA` (a name where
// the field now holds a number) and `cuda_gpu_id`.
//
// Throws IoError with the path: the file cannot be read, is empty, or is no such message (with
// line and column of the text).
NetDef ReadNetDef(const std::string& path);
PlanDef ReadPlanDef(const std::string& path);

// The same for text in memory; `name` stands for the path in errors.
NetDef ParseNetDefText(const std::string& text, const std::string& name);

}  // namespace caffe2
