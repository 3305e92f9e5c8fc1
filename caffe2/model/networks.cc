#include "caffe2/model/networks.h"

#include <functional>
#include <map>

#include "caffe2/core/logging.h"
#include "caffe2/model/layers.h"

namespace caffe2 {
namespace {

using AddFunction =
    std::function<std::string(ModelHelper*, const std::string&, const NetworkOptions&)>;

AddFunction ResNet(int depth) {
  return [depth](ModelHelper* model, const std::string& data, const NetworkOptions& options) {
    return AddResNet(model, depth, data, options);
  };
}

const std::map<std::string, AddFunction>& Networks() {
  static const std::map<std::string, AddFunction> networks = {
      {"mlp", AddMlp},
      {"lenet", AddLenet},
      {"resnet18", ResNet(18)},
      {"resnet34", ResNet(34)},
      {"resnet50", ResNet(50)},
      {"resnet101", ResNet(101)},
      {"resnet152", ResNet(152)},
      {"resnet20_cifar",
       [](ModelHelper* model, const std::string& data, const NetworkOptions& options) {
         return AddResNet32x32(model, 3, data, options);
       }},
      {"resnet9_cifar", AddResNet9},
  };
  return networks;
}

}  // namespace

const std::vector<std::string>& NetworkNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> keys;
    for (const auto& network : Networks()) keys.push_back(network.first);
    return keys;
  }();
  return names;
}

std::string AddNetwork(ModelHelper* model, const std::string& name, const std::string& data,
                       const NetworkOptions& options) {
  const auto found = Networks().find(name);
  if (found == Networks().end()) {
    std::string known;
    for (const std::string& each : NetworkNames()) known += " " + each;
    CAFFE_THROW("unknown network ", name, "; known:", known);
  }
  CAFFE_ENFORCE(options.image_size > 0 && options.num_channels > 0 && options.num_labels > 0,
                "network ", name, ": image size (", options.image_size, "), channels (",
                options.num_channels, ") and labels (", options.num_labels, ") must be positive");
  return found->second(model, data, options);
}

std::string AddMlp(ModelHelper* model, const std::string& data, const NetworkOptions& options) {
  std::string blob = data;
  int64_t dim = int64_t{options.image_size} * options.image_size * options.num_channels;
  for (size_t i = 0; i < options.hidden.size(); ++i) {
    const std::string name = MakeString("fc", i + 1);
    blob = brew::FC(model, blob, name, dim, options.hidden[i]);
    blob = brew::Relu(model, blob, blob);
    dim = options.hidden[i];
  }
  return brew::FC(model, blob, "pred", dim, options.num_labels);
}

std::string AddLenet(ModelHelper* model, const std::string& data, const NetworkOptions& options) {
  constexpr int kKernel = 5;
  const int side1 = (options.image_size - kKernel + 1) / 2;
  const int side2 = (side1 - kKernel + 1) / 2;
  CAFFE_ENFORCE(options.image_size >= 16, "lenet needs images of at least ", 16, " x ", 16,
                " pixels, found ", options.image_size);
  const brew::PoolOptions pool{.kernel = 2, .stride = 2};
  std::string blob = brew::Conv(model, data, "conv1", options.num_channels, 20, kKernel,
                                {.no_gradient_to_input = true});
  blob = brew::MaxPool(model, blob, "pool1", pool);
  blob = brew::Conv(model, blob, "conv2", 20, 50, kKernel);
  blob = brew::MaxPool(model, blob, "pool2", pool);
  blob = brew::FC(model, blob, "fc3", int64_t{50} * side2 * side2, 500);
  blob = brew::Relu(model, blob, blob);
  return brew::FC(model, blob, "pred", 500, options.num_labels);
}

}  // namespace caffe2
