#include "operators/io/load_save_op.h"

#include <filesystem>
#include <set>

#include "caffe2/core/blob_serialization.h"
#include "db/record_writer.h"
#include "operators/common/cpu_only.h"

namespace caffe2 {
std::string ResolveDBPath(const OperatorBase& op, const Workspace& ws, const std::string& path) {
  CAFFE_ENFORCE(!path.empty(), "the path of the database for ", op.type(), " is empty");
  if (op.GetSingleArgument<int>("absolute_path", 0) != 0) return path;
  return (std::filesystem::path(ws.RootFolder()) / path).string();
}

std::string StripPrefix(const std::string& name, const std::string& prefix) {
  const size_t at = prefix.empty() ? std::string::npos : name.find(prefix);
  return at == std::string::npos ? name : name.substr(at + prefix.size());
}

void SaveBlobs(const std::vector<const Blob*>& blobs, const std::vector<std::string>& names,
               const std::string& db_type, const std::string& path,
               const SerializationOptions& options) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    CAFFE_ENFORCE(seen.insert(name).second, "two blobs would be saved as \"", name, "\" in ", path);
  }
  db::RecordWriter writer(db_type, path, /*overwrite_file=*/true);
  for (size_t i = 0; i < blobs.size(); ++i) {
    SerializeBlob(
        *blobs[i], names[i],
        [&writer](const std::string& key, const std::string& value) { writer.Add(key, value); },
        OptionsForBlob(names[i], options));
  }
  writer.Finish();
}

SerializationOptions SerializationOptionsOf(const OperatorBase& op) {
  SerializationOptions options;
  const auto bytes = op.GetSingleArgument<std::string>("options", "");
  CAFFE_ENFORCE(options.ParseFromString(bytes), "argument options of ", op.type(),
                " must be a serialized SerializationOptions, found ", bytes.size(), " other bytes");
  return options;
}

BlobLoader::BlobLoader(const LoadOptions& options) : options_(options) {
  if (options.load_all) return;
  for (size_t i = 0; i < options.names.size(); ++i) {
    CAFFE_ENFORCE(wanted_.emplace(options.names[i], options.outputs[i]).second, "blob \"",
                  options.names[i], "\" is to be loaded twice");
  }
}

void BlobLoader::Read(const db::DBReader& reader) {
  try {
    reader.Visit([this](const std::string& key, const std::string& value) {
      Take(key, value);
      return true;
    });
  } catch (Error& error) {
    error.AddContext("database " + reader.source());
    throw;
  }
  ++sources_;
}

Blob* BlobLoader::Target(const std::string& name) {
  if (options_.load_all) return options_.ws->CreateBlob(name);
  const auto found = wanted_.find(name);
  return found == wanted_.end() ? nullptr : found->second;
}

void BlobLoader::Take(const std::string& key, const std::string& value) {
  const std::string stored_name = key.substr(0, key.find(kChunkIdSeparator));
  const std::string name = options_.add_prefix + StripPrefix(stored_name, options_.strip_prefix);
  Blob* blob = Target(name);
  if (blob == nullptr) return;

  BlobProto proto;
  CAFFE_ENFORCE(proto.ParseFromString(value), "the record \"", key, "\" is not a BlobProto");
  State fresh{sources_, 1, 0};
  if (proto.has_tensor()) {
    TensorProto& tensor = *proto.mutable_tensor();
    CAFFE_ENFORCE(tensor.storage_type() != TensorProto::NO_CONTENT, "blob \"", name,
                  "\" has a shape but no content (NO_CONTENT)");
    if (!options_.keep_device) *tensor.mutable_device_detail() = options_.device;
    fresh.total = CheckedNumel({tensor.dims().begin(), tensor.dims().end()});
  }
  State& state = states_.emplace(name, fresh).first->second;
  CAFFE_ENFORCE(state.source == sources_, "blob \"", name, "\" is in two databases, number ",
                state.source, " and ", sources_);
  CAFFE_ENFORCE(state.total == fresh.total, "the records of blob \"", name,
                "\" disagree on its size: ", state.total, " and ", fresh.total, " elements");
  DeserializeBlob(proto, blob);  // checks the segment
  const bool is_part = proto.has_tensor() && proto.tensor().has_segment();
  const auto& segment = proto.tensor().segment();
  state.loaded += is_part ? segment.end() - segment.begin() : fresh.total;
  CAFFE_ENFORCE(state.loaded <= state.total, "the records of blob \"", name,
                "\" overlap: they have ", state.loaded, " elements, the blob ", state.total);
}

void BlobLoader::Finish() {
  for (const auto& [name, state] : states_) {
    CAFFE_ENFORCE(state.loaded == state.total, "blob \"", name,
                  "\" is not complete: ", state.loaded, " of ", state.total,
                  " elements were found");
  }
  if (options_.allow_incomplete) return;
  const std::set<std::string> wanted(options_.names.begin(), options_.names.end());
  std::string missing;
  size_t count = 0;
  for (const std::string& name : wanted) {
    if (states_.count(name) != 0) continue;
    missing += " " + name;
    ++count;
  }
  CAFFE_ENFORCE(count == 0, "Expected to load ", wanted.size(), " blobs, got ",
                wanted.size() - count, " only; missing:", missing);
}

SaveArguments SaveArguments::Read(const OperatorBase& op) {
  SaveArguments arguments{op.GetSingleArgument<std::string>("db_type", ""),
                          op.GetRepeatedArgument<std::string>("blob_name_overrides"),
                          SerializationOptionsOf(op)};
  CAFFE_ENFORCE(!arguments.db_type.empty(), op.type(), " needs the argument db_type");
  std::vector<std::string>& names = arguments.names;
  const auto prefix = op.GetSingleArgument<std::string>("strip_prefix", "");
  CAFFE_ENFORCE(names.empty() || prefix.empty(),
                "the arguments blob_name_overrides and strip_prefix cannot be used together");
  if (names.empty()) {
    for (const std::string& name : op.debug_def().input()) {
      names.push_back(StripPrefix(name, prefix));
    }
  }
  CAFFE_ENFORCE(static_cast<int>(names.size()) == op.InputSize(),
                "argument blob_name_overrides must have one name for each of the ", op.InputSize(),
                " inputs, found ", names.size());
  const auto chunk_size = op.GetSingleArgument<int64_t>("chunk_size", -1);
  CAFFE_ENFORCE(chunk_size >= -1, "argument chunk_size must be at least -1, found ", chunk_size);
  // The argument's -1 and 0 are the message's 0 and -1.
  arguments.options.add_options()->set_chunk_size(chunk_size > 0 ? chunk_size : -1 - chunk_size);
  return arguments;
}

void SaveArguments::Describe(OpSchema& schema) {
  schema.Arg<std::string>("db_type", "lmdb, leveldb or minidb.", /*required=*/true)
      .Arg<int>("absolute_path",
                "1: db is used as it is; 0 (default): relative to the workspace's root folder.")
      .Arg<std::string>("strip_prefix",
                        "Removed from the names in the database, with all text before it.")
      .ArgList<std::string>("blob_name_overrides",
                            "Names in the database, one for each input (default: the inputs'); not "
                            "with strip_prefix.")
      .Arg<int>("chunk_size",
                "Elements of a tensor in one record, unless options gives the size. -1 (default): "
                "1000000; 0: all.")
      .Arg<std::string>("options",
                        "A serialized SerializationOptions: for names in the database, the size of "
                        "records and whether floats are rounded to bfloat16.");
}

REGISTER_CPU_OPERATOR(Save, SaveOp<CPUContext>);
REGISTER_CPU_OPERATOR(Load, LoadOp<CPUContext>);

OPERATOR_SCHEMA(Save)
    .NumInputs(1, OpSchema::kUnlimited)
    .NumOutputs(0)
    .SetDoc(R"DOC(
Writes its inputs as a new database. The database appears under its name when it is complete. A
minidb file of that name is replaced; a directory is an error.
)DOC")
    .Arg<std::string>("db", "Path of the database.", /*required=*/true)
    .FillUsing(SaveArguments::Describe)
    .Input(0, "blobs", "Tensors, strings, readers or mutexes.")
    .CpuOnly(cpu_only::kFiles);

OPERATOR_SCHEMA(Load)
    .NumInputs(0, OpSchema::kUnlimited)
    .NumOutputs(0, OpSchema::kUnlimited)
    .SetDoc(R"DOC(
Reads blobs that Save wrote, from the databases in db and dbs or, if there are inputs, from these
readers. A blob of which a part is missing is an error. A blob that is in no database is an error
unless allow_incomplete is set.
)DOC")
    .Arg<std::string>("db", "Path of a database.")
    .ArgList<std::string>("dbs", "Paths of databases; a blob must not be in two of them.")
    .Arg<std::string>("db_type", "lmdb, leveldb or minidb.")
    .Arg<int>(
        "absolute_path",
        "1: paths are used as they are; 0 (default): relative to the workspace's root folder.")
    .Arg<std::string>("strip_prefix",
                      "Removed from the names in the database, with all text before it.")
    .Arg<std::string>("add_prefix", "Then added before the names.")
    .ArgList<std::string>(
        "source_blob_names",
        "Names in the database (after the prefixes), one for each output (default: the outputs').")
    .Arg<int>("load_all",
              "1: load every blob into the workspace under its name (default 0); outputs must be "
              "among them.")
    .Arg<int>("allow_incomplete",
              "1: outputs that are in no database stay as they are; 0 (default): they are an "
              "error. A blob of which a part is missing is an error in both cases.")
    .Arg<int>("keep_device",
              "1: tensors go to the device they were saved from; 0 (default): to the operator's.")
    .Input(0, "readers", "Readers made by CreateDB.")
    .Output(0, "blobs", "The blobs, by name.")
    .CpuOnly(cpu_only::kFiles);

NO_GRADIENT(Save);
NO_GRADIENT(Load);

}  // namespace caffe2
