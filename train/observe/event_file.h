// TensorBoard's event files.
#pragma once

#include <string>

#include "caffe2/proto/caffe2.pb.h"
#include "caffe2/proto/tensorboard.pb.h"
#include "train/observe/run_log_file.h"

namespace caffe2 {

// A record of TensorFlow's record files: its length and its bytes, each with a masked CRC-32C.
std::string FrameRecord(const std::string& bytes);

// A new file <directory>/events.out.tfevents.<seconds since 1970>.<host>.<pid>, to which events are
// appended. Not thread-safe.
class EventFile {
 public:
  // Throws like RunLogFile.
  explicit EventFile(const std::string& directory);
  // Writes the event with the current time. Never throws.
  void Append(int64_t step, tensorboard::Event event);

 private:
  RunLogFile file_;
};

// The net for TensorBoard's graph page: a node for each operator, with its arguments and device,
// and a node for each blob that the net reads but does not make. The inputs of a node name the
// operators that last wrote the blobs before it, so operators that work in place become a chain.
tensorboard::GraphDef GraphOf(const NetDef& net);

// A histogram of `size` floats in 64 buckets of equal width from the smallest to the largest value.
// Values that are not finite are left out.
tensorboard::HistogramProto HistogramOf(const float* values, int64_t size);

}  // namespace caffe2
