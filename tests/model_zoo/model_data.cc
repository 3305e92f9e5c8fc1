#include "tests/model_zoo/model_data.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <sstream>

#include "caffe2/graph/device_placement.h"
#include "caffe2/utils/net_io.h"

namespace caffe2::testing {

std::string ReadPacked(const std::string& path) {
  const bool zst = path.size() > 4 && path.compare(path.size() - 4, 4, ".zst") == 0;
  FILE* pipe = popen(((zst ? "zstd -dcq '" : "gzip -dc '") + path + "'").c_str(), "r");
  if (pipe == nullptr) throw IoError("cannot unpack " + path);
  std::string content;
  std::vector<char> buffer(1 << 16);
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    content.append(buffer.data(), n);
  }
  if (pclose(pipe) != 0) throw IoError("cannot unpack " + path);
  return content;
}

Tensor LabelledImages::Batch(int64_t first, int64_t count) const {
  Tensor batch({count, shape[0], shape[1], shape[2]}, CPU);
  const int64_t elements = shape[0] * shape[1] * shape[2];
  std::copy_n(pixels.data() + first * elements, count * elements, batch.mutable_data<float>());
  return batch;
}

LabelledImages ReadMnistTest(float scale) {
  const std::string images = ReadPacked(DataPath("mnist/t10k-images-idx3-ubyte.gz"));
  const std::string labels = ReadPacked(DataPath("mnist/t10k-labels-idx1-ubyte.gz"));
  LabelledImages result{{1, 28, 28}, {}, {}};
  for (size_t i = 16; i < images.size(); ++i) {
    result.pixels.push_back(static_cast<float>(static_cast<unsigned char>(images[i])) * scale);
  }
  for (size_t i = 8; i < labels.size(); ++i) result.labels.push_back(labels[i]);
  return result;
}

LabelledImages ReadCifarTest(const std::vector<float>& mean, const std::vector<float>& std) {
  const std::string records = ReadPacked(DataPath("cifar10/test_batch_first1000.bin.zst"));
  LabelledImages result{{3, 32, 32}, {}, {}};
  for (size_t at = 0; at + 3073 <= records.size(); at += 3073) {
    result.labels.push_back(records[at]);
    for (int c = 0; c < 3; ++c) {  // stored RGB
      for (int i = 0; i < 1024; ++i) {
        const auto value = static_cast<unsigned char>(records[at + 1 + (2 - c) * 1024 + i]);
        result.pixels.push_back((static_cast<float>(value) - mean[c]) / std[c]);
      }
    }
  }
  return result;
}

LabelledImages ReadImageNetSample(int crop, const std::vector<float>& mean) {
  LabelledImages result{{3, crop, crop}, {}, {}};
  std::ifstream list(DataPath("imagenet_sample/labels.txt"));
  std::string line;
  while (std::getline(list, line)) {
    std::istringstream words(line);
    std::string name;
    int label;
    if (!(words >> name >> label)) continue;
    cv::Mat image = cv::imread(DataPath("imagenet_sample/" + name), cv::IMREAD_COLOR);
    if (image.empty()) throw IoError("cannot read " + name);
    const double scale = 256.0 / std::min(image.rows, image.cols);
    const cv::Size size(std::max(256, cvRound(image.cols * scale)),
                        std::max(256, cvRound(image.rows * scale)));
    cv::resize(image, image, size, 0, 0, scale < 1 ? cv::INTER_AREA : cv::INTER_LINEAR);
    const int top = (image.rows - crop) / 2, left = (image.cols - crop) / 2;
    for (int c = 0; c < 3; ++c) {
      for (int y = 0; y < crop; ++y) {
        for (int x = 0; x < crop; ++x) {
          result.pixels.push_back(image.at<cv::Vec3b>(top + y, left + x)[c] - mean[c]);
        }
      }
    }
    result.labels.push_back(label);
  }
  return result;
}

void FeedTensor(Workspace* ws, const std::string& name, const Tensor& value) {
  BlobGetMutableTensor(ws->CreateBlob(name), Device{})->CopyFrom(value);
}

Model::Model(const std::string& init_path, const std::string& predict_path)
    : net_(ReadNetDef(DataPath("caffe2_models/" + predict_path))) {
  NetDef init = ReadNetDef(DataPath("caffe2_models/" + init_path));
  PlaceOnDevice(&init, Device{});
  PlaceOnDevice(&net_, Device{});
  net_.set_name("predict");
  // Some files name no external output: the last operator's is meant.
  output_ = net_.external_output_size() > 0 ? net_.external_output(0)
                                            : net_.op(net_.op_size() - 1).output(0);
  CAFFE_ENFORCE(ws_.RunNetOnce(init));
}

void Model::Create(const std::string& input, const Tensor& example) {
  input_ = input;
  FeedTensor(&ws_, input, example);
  ws_.CreateNet(net_);
}

const Tensor& Model::Run(const Tensor& input) {
  FeedTensor(&ws_, input_, input);
  CAFFE_ENFORCE(ws_.RunNet(net_.name()));
  return ws_.GetBlob(output_)->Get<Tensor>();
}

int Model::CountCorrect(const LabelledImages& images, const std::string& input, int64_t batch) {
  Create(input, images.Batch(0, 1));
  int correct = 0;
  for (int64_t first = 0; first < images.size(); first += batch) {
    const int64_t count = std::min(batch, images.size() - first);
    const Tensor& scores = Run(images.Batch(first, count));
    const int64_t classes = scores.numel() / count;
    for (int64_t i = 0; i < count; ++i) {
      const float* row = scores.data<float>() + i * classes;
      correct += std::max_element(row, row + classes) - row == images.labels[first + i];
    }
  }
  return correct;
}

}  // namespace caffe2::testing
