// Whole networks by name: from the blob of images to the scores of the labels.
#pragma once

#include <string>
#include <vector>

#include "caffe2/model/model_helper.h"

namespace caffe2 {

struct NetworkOptions {
  int image_size = 227;  // images are image_size x image_size
  int num_channels = 3;
  int num_labels = 1000;
  // Sizes of the hidden layers of `mlp`.
  std::vector<int> hidden = {500, 500};
  // ResNets: a 3x3 stem with stride 1 and no pooling, instead of 7x7 with stride 2 and a 3x3 max
  // pool. It keeps the resolution of small images and costs 16 times as much.
  bool small_stem = false;
  // ResNets: initial scale of the last normalization of each block. 0 makes the blocks start as
  // identities, which allows larger learning rates (Goyal et al., "Accurate, large minibatch SGD",
  // 2017); Caffe2 starts with 1.
  float residual_scale = 1.f;
  // Weight of the old value in the running statistics of SpatialBN. Caffe2's ResNet builder uses
  // 0.1: a single batch counts nine tenths, which does no harm only if tests use batch statistics
  // too.
  float bn_momentum = 0.9f;
};

// mlp, lenet, resnet18, resnet34, resnet50, resnet101, resnet152, resnet20_cifar, resnet9_cifar.
const std::vector<std::string>& NetworkNames();

// Adds the network `name`. `data`: the images, {N, C, H, W} or {N, H, W, C} by the model's order,
// of the model's compute type. Returns the blob of scores, float {N, num_labels}, before softmax.
// Throws EnforceNotMet for an unknown name (and lists the known ones), for sizes that are not
// positive, and for an image too small for lenet or resnet9_cifar. Other networks do not check.
std::string AddNetwork(ModelHelper* model, const std::string& name, const std::string& data,
                       const NetworkOptions& options);

// 784-500-500-10 for MNIST: fully connected layers fc1, fc2, ... with Relu between; the last one is
// `pred`.
std::string AddMlp(ModelHelper* model, const std::string& data, const NetworkOptions& options);

// The network of Caffe2's MNIST tutorial (after LeCun et al., "Gradient-based learning applied to
// document recognition", 1998): conv1, pool1, conv2, pool2, fc3, Relu, pred.
std::string AddLenet(ModelHelper* model, const std::string& data, const NetworkOptions& options);

// Residual networks (He et al., "Deep residual learning for image recognition", 2015) of the given
// depth: 18, 34 (simple blocks), 50, 101, 152 (bottlenecks), with Caffe2's structure and blob
// names: the stride of a downsampling bottleneck is on its 3x3 convolution.
// The scores are `last_out_L<num_labels>`.
std::string AddResNet(ModelHelper* model, int depth, const std::string& data,
                      const NetworkOptions& options);

// The networks for 32x32 images of section 4.2 of the same paper: a 3x3 stem of 16 filters, three
// groups of `blocks` simple blocks with 16, 32 and 64 filters; 3 blocks make 20 layers.
std::string AddResNet32x32(ModelHelper* model, int blocks, const std::string& data,
                           const NetworkOptions& options);

// A net that learns 32x32 images in few epochs (after Page, "How to train your ResNet", 2018): a
// 3x3 stem of 64 filters; 3x3 convolutions of 128, 256 and 512 filters, each before a 2x2 max pool;
// simple blocks after the first and the last pool; a global max pool; scores times 1/8.
std::string AddResNet9(ModelHelper* model, const std::string& data, const NetworkOptions& options);

}  // namespace caffe2
