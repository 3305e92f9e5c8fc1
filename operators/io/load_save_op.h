// Load and Save: blobs from and to a database.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"
#include "db/db_reader.h"

namespace caffe2 {

// The path of an operator's database: relative to the workspace's root folder, unless the argument
// absolute_path is set.
std::string ResolveDBPath(const OperatorBase& op, const Workspace& ws, const std::string& path);

// `name` without all text up to the end of the first occurrence of `prefix`; unchanged if there is
// none.
std::string StripPrefix(const std::string& name, const std::string& prefix);

// Writes blobs, in the given order, as one database, which appears complete or not at all. Throws
// IoError, with path and reason, if it cannot be written, and EnforceNotMet if two blobs have one
// name.
void SaveBlobs(const std::vector<const Blob*>& blobs, const std::vector<std::string>& names,
               const std::string& db_type, const std::string& path,
               const SerializationOptions& options = {});

// The operator's argument options, a serialized SerializationOptions; empty without it.
SerializationOptions SerializationOptionsOf(const OperatorBase& op);

// How Save and Checkpoint write their inputs.
struct SaveArguments {
  std::string db_type;
  std::vector<std::string> names;  // in the database, one for each input
  SerializationOptions options;

  // Throws EnforceNotMet, naming the argument, if one is missing or wrong.
  static SaveArguments Read(const OperatorBase& op);
  static void Describe(OpSchema& schema);  // the arguments, and absolute_path
};

// Which blobs a BlobLoader reads, and where it puts them.
struct LoadOptions {
  std::string add_prefix, strip_prefix;
  bool keep_device = false;
  bool load_all = false;
  bool allow_incomplete = false;   // wanted blobs may be in no database
  DeviceOption device;             // of the loaded tensors, unless keep_device
  std::vector<std::string> names;  // wanted blobs, by their names after the prefixes
  std::vector<Blob*> outputs;      // one for each name
  Workspace* ws = nullptr;         // the workspace in which load_all creates blobs
};

// Reads blobs from one or more databases. Throws EnforceNotMet if a blob to read is incomplete or
// in two databases.
class BlobLoader {
 public:
  explicit BlobLoader(const LoadOptions& options);
  void Read(const db::DBReader& reader);
  // Throws EnforceNotMet if a part of a blob is missing, and, without allow_incomplete, if a wanted
  // blob is in no database.
  void Finish();

 private:
  struct State {
    int source = 0;     // number of the database
    int64_t total = 0;  // elements; 1 for a blob that is not a tensor
    int64_t loaded = 0;
  };

  void Take(const std::string& key, const std::string& value);
  Blob* Target(const std::string& name);

  const LoadOptions options_;
  std::map<std::string, Blob*> wanted_;
  std::map<std::string, State> states_;  // of the blobs found, by name
  int sources_ = 0;
};

template <class Context>
class SaveOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SaveOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        path_(ResolveDBPath(*this, *ws, this->template GetSingleArgument<std::string>("db", ""))),
        arguments_(SaveArguments::Read(*this)) {}

  bool RunOnDevice() override {
    SaveBlobs(Inputs(), arguments_.names, arguments_.db_type, path_, arguments_.options);
    return true;
  }

 private:
  const std::string path_;
  const SaveArguments arguments_;
};

template <class Context>
class LoadOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  LoadOp(const OperatorDef& def, Workspace* ws) : Operator<Context>(def, ws), ws_(ws) {
    options_.add_prefix = this->template GetSingleArgument<std::string>("add_prefix", "");
    options_.strip_prefix = this->template GetSingleArgument<std::string>("strip_prefix", "");
    options_.keep_device = this->template GetSingleArgument<int>("keep_device", 0) != 0;
    options_.load_all = this->template GetSingleArgument<int>("load_all", 0) != 0;
    options_.allow_incomplete = this->template GetSingleArgument<int>("allow_incomplete", 0) != 0;
    options_.device = def.device_option();
    options_.names = this->template GetRepeatedArgument<std::string>("source_blob_names");
    options_.ws = ws;
    if (options_.names.empty()) options_.names.assign(def.output().begin(), def.output().end());
    CAFFE_ENFORCE(options_.names.size() == Outputs().size() || options_.load_all,
                  "argument source_blob_names must have one name for each of the ", OutputSize(),
                  " outputs, found ", options_.names.size());
    paths_ = this->template GetRepeatedArgument<std::string>("dbs");
    const auto path = this->template GetSingleArgument<std::string>("db", "");
    if (!path.empty()) paths_.push_back(path);
    CAFFE_ENFORCE(InputSize() > 0 || !paths_.empty(),
                  "Load needs the argument db or dbs, or a reader as input");
  }

  bool RunOnDevice() override {
    options_.outputs = Outputs();
    BlobLoader loader(options_);
    for (int i = 0; i < InputSize(); ++i) {
      loader.Read(*OperatorBase::Input<std::unique_ptr<db::DBReader>>(i));
    }
    const auto db_type = this->template GetSingleArgument<std::string>("db_type", "");
    for (size_t i = 0; InputSize() == 0 && i < paths_.size(); ++i) {
      loader.Read(db::DBReader(db_type, ResolveDBPath(*this, *ws_, paths_[i])));
    }
    loader.Finish();
    return true;
  }

 private:
  Workspace* ws_;
  LoadOptions options_;
  std::vector<std::string> paths_;
};

}  // namespace caffe2
