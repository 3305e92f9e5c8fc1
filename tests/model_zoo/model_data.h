// Genuine models and data sets for tests, from the folder named by CAFFE2_TEST_DATA.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "tests/core/test_data.h"

namespace caffe2::testing {

// Contents of a .gz or .zst file, through the command that unpacks it. Throws IoError.
std::string ReadPacked(const std::string& path);

// Float images, N x C x H x W, with their labels.
struct LabelledImages {
  std::vector<int64_t> shape;  // C, H, W
  std::vector<float> pixels;
  std::vector<int> labels;

  int64_t size() const { return static_cast<int64_t>(labels.size()); }
  Tensor Batch(int64_t first, int64_t count) const;
};
LabelledImages ReadMnistTest(float scale);
// BGR, (value - mean) / std of a channel.
LabelledImages ReadCifarTest(const std::vector<float>& mean, const std::vector<float>& std);
// The ImageNet pictures: short side resized to 256, centre crop of `crop`, BGR minus mean.
LabelledImages ReadImageNetSample(int crop, const std::vector<float>& mean);

// A model from init and predict net, on the CPU.
class Model {
 public:
  Model(const std::string& init_path, const std::string& predict_path);

  // Makes the net; to be called once, after changes of net() and before Run.
  void Create(const std::string& input, const Tensor& example);
  // Feeds the input and runs.
  const Tensor& Run(const Tensor& input);
  // Images whose largest output is at the label.
  int CountCorrect(const LabelledImages& images, const std::string& input, int64_t batch);

  NetDef& net() { return net_; }
  Workspace& ws() { return ws_; }

 private:
  Workspace ws_;
  NetDef net_;
  std::string input_, output_;
};

void FeedTensor(Workspace* ws, const std::string& name, const Tensor& value);

}  // namespace caffe2::testing
