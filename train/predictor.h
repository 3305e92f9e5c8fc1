// Exported predictors: a net and its parameters in one minidb file, in the format of Caffe2's
// predictor_exporter.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "caffe2/proto/metanet.pb.h"
#include "train/atomic_file.h"
#include "train/restrict_model.h"

namespace caffe2 {

struct PredictorExportMeta {
  NetDef predict_net;
  std::vector<std::string> parameters;  // disjoint from inputs and outputs
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::map<std::string, std::vector<int64_t>> shapes;  // of inputs and outputs, if known
  // Stored with the model for its users, for instance how images must be normalized.
  std::map<std::string, std::string> application_info;
};

// The record "!!META_NET_DEF" of an exported predictor.
MetaNetDef MakeMetaNetDef(const PredictorExportMeta& meta);

// Writes the predictor with the parameters in `ws`, where it also makes the blob "!!META_NET_DEF".
// The file appears complete or not at all. Throws IoError, and EnforceNotMet for a parameter that
// does not exist or is also an input or output.
void SavePredictor(const PredictorExportMeta& meta, Workspace* ws, const FileTarget& target);

struct Predictor {
  NetDef net;
  std::vector<std::string> parameters, inputs, outputs;
  std::map<std::string, std::string> application_info;

  // The names of the labels that the model carries, by label, with "?" for control characters;
  // empty if it carries none.
  std::vector<std::string> ClassNames() const;
};

// The key of application_info for the names of the labels, a line each.
inline constexpr char kClassNames[] = "class_names";

// Loads the parameters into `ws` and makes the input blobs there; all are on the host, whatever
// device the file names. Does not create the net, whose operators keep the device of the file. Also
// reads Caffe2's files. `path` may also name two nets: "init_net.pb,predict_net.pb", or a folder
// that holds both. Throws like CheckIsModel (train/model_file.h), IoError if the file is damaged,
// and EnforceNotMet if it does not hold a parameter that it lists.
//
// With `limits` the nets of the file must pass RestrictModel, those that make parameters and inputs
// must each end within max_run_seconds, and the parameters must pass CheckFinite. The caller limits
// the time of the net that predicts. Without `limits` (a trusted model) the nets may do anything.
Predictor LoadPredictor(const std::string& path, Workspace* ws,
                        const std::optional<ModelLimits>& limits = ModelLimits());

// Describes the model without loading its parameters: runs none of its nets and checks no checksum.
// For a path that names two nets, sets only `net`. Throws like LoadPredictor.
Predictor DescribePredictor(const std::string& path);

// The same as LoadPredictor for two NetDefs: one that makes the parameters and one that predicts.
// The inputs are the external inputs that the init net does not make; if it makes all of them, as
// with some exporters, the first one. The outputs are the external outputs, or else the first
// output of the last operator. The application_info comes from the arguments of the net that
// predicts whose names begin with "application_info/"; the net of the result does not have them.
Predictor LoadNets(const std::string& init_path, const std::string& predict_path, Workspace* ws,
                   const std::optional<ModelLimits>& limits = ModelLimits());

}  // namespace caffe2
