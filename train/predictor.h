// Exported predictors: a net with its parameters in one minidb file, as Caffe2's
// predictor_exporter writes and reads them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "caffe2/proto/metanet.pb.h"

namespace caffe2 {

struct PredictorExportMeta {
  NetDef predict_net;
  std::vector<std::string> parameters;  // disjoint from inputs and outputs
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::map<std::string, std::vector<int64_t>> shapes;  // of inputs and outputs, where known
  // Kept with the model for whoever feeds it, for instance how images were normalized.
  std::map<std::string, std::string> application_info;
};

// The record "!!META_NET_DEF" of an exported predictor.
MetaNetDef MakeMetaNetDef(const PredictorExportMeta& meta);

// Writes the predictor with the parameters in `ws`. Throws EnforceNotMet for a parameter that is
// not there or is an input or output, and IoError. The file appears whole or not at all.
void SavePredictor(const PredictorExportMeta& meta, Workspace* ws, const std::string& path);

struct Predictor {
  NetDef net;
  std::vector<std::string> parameters, inputs, outputs;
  std::map<std::string, std::string> application_info;
};

// Loads the parameters into `ws` and makes the inputs there, on the host whatever device the file
// names; the net is not created, and names the device that it was exported with. Files of Caffe2
// will do. Throws IoError if the file cannot be read or is damaged, EnforceNotMet if it is
// no exported predictor.
Predictor LoadPredictor(const std::string& path, Workspace* ws);

}  // namespace caffe2
