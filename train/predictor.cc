#include "train/predictor.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "caffe2/core/logging.h"
#include "caffe2/core/operator_gradient.h"
#include "caffe2/graph/device_placement.h"
#include "caffe2/proto/predictor_consts.pb.h"
#include "caffe2/utils/net_io.h"
#include "caffe2/utils/printable_text.h"
#include "train/db_blobs.h"
#include "train/model_file.h"
#include "train/run_time_limit.h"

namespace caffe2 {
namespace {

const PredictorConsts& Names() { return PredictorConsts::default_instance(); }

void AddBlobs(MetaNetDef* meta, const std::string& key, const std::vector<std::string>& names) {
  BlobsMap* map = meta->add_blobs();
  map->set_key(key);
  for (const std::string& name : names) map->add_value(name);
}

NetDef* AddNet(MetaNetDef* meta, const std::string& key, const std::string& name) {
  NetsMap* map = meta->add_nets();
  map->set_key(key);
  map->mutable_value()->set_name(name);
  return map->mutable_value();
}

std::vector<std::string> BlobsOf(const MetaNetDef& meta, const std::string& key) {
  for (const BlobsMap& map : meta.blobs()) {
    if (map.key() == key) return {map.value().begin(), map.value().end()};
  }
  CAFFE_THROW("the exported predictor has no list of blobs \"", key, "\"");
}

const NetDef* FindNet(const MetaNetDef& meta, const std::string& key) {
  for (const NetsMap& map : meta.nets()) {
    if (map.key() == key) return &map.value();
  }
  return nullptr;
}

const NetDef& NetOf(const MetaNetDef& meta, const std::string& key) {
  const NetDef* net = FindNet(meta, key);
  CAFFE_ENFORCE(net != nullptr, "the exported predictor has no net \"", key, "\"");
  return *net;
}

// The net that predicts of two NetDefs. Its arguments "application_info/<name>" become entries of
// the application_info.
Predictor ReadPredictNet(const std::string& path) {
  static const std::string kPrefix = "application_info/";
  Predictor predictor;
  predictor.net = ReadNetDef(path);
  auto* arguments = predictor.net.mutable_arg();
  for (const Argument& argument : *arguments) {
    if (argument.name().rfind(kPrefix, 0) != 0) continue;
    predictor.application_info[argument.name().substr(kPrefix.size())] = argument.s();
  }
  arguments->erase(std::remove_if(arguments->begin(), arguments->end(),
                                  [](const Argument& argument) {
                                    return argument.name().rfind(kPrefix, 0) == 0;
                                  }),
                   arguments->end());
  return predictor;
}

// Fills inputs and outputs with zeros, so that they have their shapes before anything is fed.
void AddPredictInit(const PredictorExportMeta& meta, NetDef* net) {
  for (const auto& [name, shape] : meta.shapes) {
    *net->add_op() = GradientMakerBase::CreateOperatorDef(
        "ConstantFill", "", {}, {name}, {MakeArgument("shape", shape), MakeArgument("value", 0.f)});
  }
}

void CheckDisjoint(const PredictorExportMeta& meta) {
  for (const auto* others : {&meta.inputs, &meta.outputs}) {
    for (const std::string& name : *others) {
      CAFFE_ENFORCE(
          std::find(meta.parameters.begin(), meta.parameters.end(), name) == meta.parameters.end(),
          name, " is both a parameter and an input or output of the predictor");
    }
  }
}

Predictor FromMeta(const MetaNetDef& meta) {
  Predictor predictor;
  predictor.net = NetOf(meta, Names().predict_net_type());
  predictor.parameters = BlobsOf(meta, Names().parameters_blob_type());
  predictor.inputs = BlobsOf(meta, Names().inputs_blob_type());
  predictor.outputs = BlobsOf(meta, Names().outputs_blob_type());
  for (const StringMap& entry : meta.applicationspecificinfo()) {
    predictor.application_info[entry.key()] = entry.value();
  }
  return predictor;
}

// Runs one of the file's nets on the host.
void RunInitNet(NetDef net, const std::string& name, const std::optional<ModelLimits>& limits,
                Workspace* ws) {
  if (limits) RestrictModel(name, *limits, &net);
  PlaceOnDevice(&net, Device{});
  const double seconds = limits ? limits->max_run_seconds : 0;
  const bool ok = RunWithin(seconds, name, ws, [&] { return ws->RunNetOnce(net); });
  CAFFE_ENFORCE(ok, name, " failed");
}

// The first record of the file: the nets.
MetaNetDef ReadMeta(const std::string& path, Workspace* ws) {
  const std::string reader = Names().predictor_dbreader(), header = Names().meta_net_def();
  ws->RunOperatorOnce(GradientMakerBase::CreateOperatorDef(
      "CreateDB", "", {}, {reader},
      {MakeArgument("db", path), MakeArgument("db_type", std::string("minidb"))}));
  ws->RunOperatorOnce(GradientMakerBase::CreateOperatorDef("Load", "", {reader}, {header}));
  MetaNetDef meta;
  CAFFE_ENFORCE(meta.ParseFromString(ws->GetBlob(header)->Get<std::string>()), path,
                " is not an exported predictor");
  return meta;
}

// The two nets that `path` names, or else two empty names.
std::pair<std::string, std::string> NetsNamed(const std::string& path) {
  const std::filesystem::path init = std::filesystem::path(path) / "init_net.pb";
  const std::filesystem::path predict = std::filesystem::path(path) / "predict_net.pb";
  std::error_code error;  // reading the file says what is wrong
  if (std::filesystem::exists(init, error) && std::filesystem::exists(predict, error)) {
    return {init, predict};
  }
  const size_t comma = path.find(',');
  if (comma == std::string::npos || std::filesystem::exists(path, error)) return {};
  return {path.substr(0, comma), path.substr(comma + 1)};
}

// Finds inputs, outputs and parameters of a net after its init net has run in `ws`.
void FindBlobs(const Workspace& ws, Predictor* predictor) {
  const NetDef& net = predictor->net;
  for (const std::string& input : net.external_input()) {
    if (!ws.HasBlob(input)) predictor->inputs.push_back(input);
  }
  if (predictor->inputs.empty() && net.external_input_size() > 0) {
    predictor->inputs.push_back(net.external_input(0));
  }
  predictor->outputs.assign(net.external_output().begin(), net.external_output().end());
  const int ops = net.op_size();
  if (predictor->outputs.empty() && ops > 0 && net.op(ops - 1).output_size() > 0) {
    predictor->outputs.push_back(net.op(ops - 1).output(0));
  }
  std::set<std::string> others(predictor->inputs.begin(), predictor->inputs.end());
  for (const OperatorDef& op : net.op()) {
    for (const std::string& input : op.input()) {
      if (ws.HasBlob(input) && others.insert(input).second) predictor->parameters.push_back(input);
    }
  }
}

void CheckParameters(const std::string& path, const Predictor& predictor, const Workspace& ws) {
  for (const std::string& name : predictor.parameters) {
    const Blob* blob = ws.GetBlob(name);
    CAFFE_ENFORCE(blob != nullptr && blob->meta(), path, " lists the parameter ", name,
                  ", but its init net does not load it");
  }
}

}  // namespace

MetaNetDef MakeMetaNetDef(const PredictorExportMeta& meta) {
  CheckDisjoint(meta);
  MetaNetDef result;
  AddBlobs(&result, Names().parameters_blob_type(), meta.parameters);
  AddBlobs(&result, Names().inputs_blob_type(), meta.inputs);
  AddBlobs(&result, Names().outputs_blob_type(), meta.outputs);
  AddPredictInit(meta, AddNet(&result, Names().predict_init_net_type(), "predict-init"));
  NetDef* global_init = AddNet(&result, Names().global_init_net_type(), "global-init");
  global_init->add_external_input(Names().predictor_dbreader());
  *global_init->add_op() = GradientMakerBase::CreateOperatorDef(
      "Load", "", {Names().predictor_dbreader()}, meta.parameters);
  *AddNet(&result, Names().predict_net_type(), "") = meta.predict_net;
  for (const auto& [key, value] : meta.application_info) {
    StringMap* entry = result.add_applicationspecificinfo();
    entry->set_key(key);
    entry->set_value(value);
  }
  return result;
}

void SavePredictor(const PredictorExportMeta& meta, Workspace* ws, const FileTarget& target) {
  for (const std::string& name : meta.parameters) {
    CAFFE_ENFORCE(ws->HasBlob(name), "cannot export parameter ", name, ": the blob does not exist");
  }
  const std::string header = Names().meta_net_def();
  *ws->CreateBlob(header)->GetMutable<std::string>() = MakeMetaNetDef(meta).SerializeAsString();
  std::vector<std::string> blobs = {header};
  blobs.insert(blobs.end(), meta.parameters.begin(), meta.parameters.end());
  SaveBlobs(ws, blobs, target);
}

Predictor LoadPredictor(const std::string& path, Workspace* ws,
                        const std::optional<ModelLimits>& limits) {
  const auto [init_path, predict_path] = NetsNamed(path);
  if (!init_path.empty()) return LoadNets(init_path, predict_path, ws, limits);
  CheckIsModel(path);
  if (HasChecksum(path)) VerifyChecksum(path);
  const MetaNetDef meta = ReadMeta(path, ws);
  Predictor predictor = FromMeta(meta);
  if (limits) RestrictModel(path + ", the net that predicts", *limits, &predictor.net);
  RunInitNet(NetOf(meta, Names().global_init_net_type()), path + ", the net that loads parameters",
             limits, ws);
  if (const NetDef* init = FindNet(meta, Names().predict_init_net_type())) {
    RunInitNet(*init, path + ", the net that makes inputs and outputs", limits, ws);
  }
  CheckParameters(path, predictor, *ws);
  if (limits) CheckFinite(*ws, ws->LocalBlobs(), limits->trust_setting);
  for (const std::string& input : predictor.inputs) ws->CreateBlob(input);
  return predictor;
}

Predictor DescribePredictor(const std::string& path) {
  const auto [init_path, predict_path] = NetsNamed(path);
  if (!init_path.empty()) return ReadPredictNet(predict_path);
  CheckIsModel(path);
  Workspace ws;
  return FromMeta(ReadMeta(path, &ws));
}

Predictor LoadNets(const std::string& init_path, const std::string& predict_path, Workspace* ws,
                   const std::optional<ModelLimits>& limits) {
  Predictor predictor = ReadPredictNet(predict_path);
  if (predictor.net.name().empty()) predictor.net.set_name("predict");
  if (limits) RestrictModel(predict_path, *limits, &predictor.net);
  RunInitNet(ReadNetDef(init_path), init_path, limits, ws);
  if (limits) CheckFinite(*ws, ws->LocalBlobs(), limits->trust_setting);
  FindBlobs(*ws, &predictor);
  for (const std::string& input : predictor.inputs) ws->CreateBlob(input);
  return predictor;
}

std::vector<std::string> Predictor::ClassNames() const {
  std::vector<std::string> names;
  const auto found = application_info.find(kClassNames);
  if (found == application_info.end()) return names;
  std::istringstream lines(found->second);
  for (std::string line; std::getline(lines, line);) {
    // A model from a stranger must not control a terminal.
    std::replace(line.begin(), line.end(), '\t', '?');
    names.push_back(PrintableText(line));
  }
  return names;
}

}  // namespace caffe2
