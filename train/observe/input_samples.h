// Images from the input of a training net.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/report.h"

namespace caffe2 {

class NetObserver;

struct InputSample {
  int label = -1;  // -1: not one number
  int height = 0, width = 0, channels = 0;
  std::vector<uint8_t> pixels;  // rows from the top; grey, or RGB
};

// Copies images from the first batch that the net's ImageInput makes, before later operators reuse
// the memory. Used on the training thread.
class InputSamples {
 public:
  static constexpr int kMax = 8;

  // Watches the training net of the run. Does nothing without an ImageInput, and with CUDA graphs
  // on several shards. `report` is as in TrainListener::OnStart.
  void Watch(const StartReport& report);
  // The images, in RGB and with the normalization of pixels undone. Empty before the first
  // iteration. Ends the watch.
  std::vector<InputSample> Take();

 private:
  StartReport run_;
  NetObserver* observer_ = nullptr;  // the net owns it
  std::vector<InputSample> samples_;
};

}  // namespace caffe2
