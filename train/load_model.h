// Starts a run from the parameters of an exported model.
#pragma once

#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "train/options.h"
#include "train/train_nets.h"

namespace caffe2 {

// The parameters of the network's last layer, which gives the scores of the labels. Names are
// stripped, as in TrainNets.
std::vector<std::string> LastLayerParams(const TrainOptions& options);

// Copies the parameters and running statistics of the model options.output.load_model_path to the
// first replica in `ws`, whose blobs must exist. Matches names without the scope that the model may
// give them ("gpu_0/" in Caffe2's models). Sets the optimizer's iteration, on which the learning
// rate depends, to its value after load_epoch epochs. Logs a warning if the model was trained with
// another mean or standard deviation of pixels, image size or image scale.
//
// With options.output.finetune the last layer keeps the values in `ws`; the log names its
// parameters.
//
// Throws like LoadPredictor, and EnforceNotMet, which names the parameter, if one is missing or has
// another shape or type.
void LoadModel(const TrainOptions& options, const TrainNets& nets, Workspace* ws);

}  // namespace caffe2
