#include "train/input.h"

#include "caffe2/core/logging.h"
#include "caffe2/model/layers.h"
#include "caffe2/proto/caffe_datum.pb.h"
#include "db/db.h"

namespace caffe2 {
namespace {

constexpr char kHostSuffix[] = "_host";

// True if the model runs on the host, where images are decoded.
bool RunsOnHost(const ModelHelper& model) { return model.options().device.device_type() == CPU; }

// Where an operator of the host writes a blob that the model reads as `name`.
std::string HostName(const ModelHelper& model, const std::string& name) {
  return RunsOnHost(model) ? name : name + kHostSuffix;
}

void CopyFromHost(ModelHelper* model, const std::string& name) {
  if (!RunsOnHost(*model)) model->AddOperator("CopyCPUToGPU", {name + kHostSuffix}, {name});
}

void AddOnHost(ModelHelper* model, const std::string& type, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs, const std::vector<Argument>& args) {
  const DeviceScope host(model, DeviceOption());
  model->AddOperator(type, inputs, outputs, args);
}

std::vector<int64_t> ImageShape(const ModelHelper& model, int64_t batch,
                                const NetworkOptions& shape) {
  const int64_t side = shape.image_size, channels = shape.num_channels;
  if (model.order() == "NCHW") return {batch, channels, side, side};
  return {batch, side, side, channels};
}

// Gradients stop at the images, which are then converted to what the network computes in.
std::string FinishInput(ModelHelper* model, const std::string& data) {
  if (!model->is_test()) brew::StopGradient(model, data);
  return brew::CastTo(model, data, "data_cast", model->options().compute_type);
}

}  // namespace

RecordKind DetectRecordKind(const std::string& db_type, const std::string& source) {
  const auto database = db::CreateDB(db_type, source, db::READ);
  const auto cursor = database->NewCursor();
  CAFFE_ENFORCE(cursor->Valid(), "database ", source, " is empty");
  const std::string value = cursor->value();
  TensorProtos protos;
  if (protos.ParseFromString(value) && protos.protos_size() > 0) return RecordKind::kTensorProtos;
  caffe::Datum datum;
  if (datum.ParseFromString(value) && (datum.has_data() || datum.float_data_size() > 0)) {
    return RecordKind::kDatum;
  }
  CAFFE_THROW("database ", source, ": record ", cursor->key(),
              " is neither a Datum nor a TensorProtos with an image");
}

void AddReader(ModelHelper* model, const std::string& reader, const std::string& source,
               const TrainOptions& options, bool train) {
  const DeviceScope host(model, DeviceOption());
  std::vector<Argument> args = {MakeArgument("db", source),
                                MakeArgument("db_type", options.data.db_type),
                                MakeArgument("num_shards", options.shards.num_shards),
                                MakeArgument("shard_id", options.shards.shard_id)};
  if (train && options.data.shuffle) {
    args.push_back(MakeArgument("shuffle", true));
    args.push_back(MakeArgument("seed", static_cast<int64_t>(options.schedule.seed)));
  }
  model->AddInitOperator("CreateDB", {}, {reader}, args);
  model->net()->add_external_input(reader);
}

std::string AddImageInput(ModelHelper* model, const std::string& reader, RecordKind kind,
                          int64_t batch, const TrainOptions& options) {
  const DataOptions& data = options.data;
  const std::string images = model->Scoped("data"), label = model->Scoped("label");
  const bool transpose = model->order() == "NCHW";
  const std::string nhwc = transpose ? images + "_nhwc" : images;
  // In tests labels stay on the host, where they are compared.
  const std::string host_label = model->is_test() ? label : HostName(*model, label);
  AddOnHost(model, "ImageInput", {reader}, {HostName(*model, nhwc), host_label},
            {MakeArgument("batch_size", batch),
             MakeArgument("num_labels", options.model.shape.num_labels),
             MakeArgument("use_caffe_datum", kind == RecordKind::kDatum),
             MakeArgument("color", options.model.shape.num_channels == 3),
             MakeArgument("mean", data.mean), MakeArgument("std", data.std),
             MakeArgument("scale", options.ImageScale()),
             MakeArgument("crop", options.model.shape.image_size),
             MakeArgument("mirror", data.mirror && !model->is_test()),
             // With the place of a record in the stream it decides on its crop and mirroring: the
             // same whatever the number of shards.
             MakeArgument("seed", static_cast<int64_t>(options.schedule.seed)),
             MakeArgument("decode_threads", data.decode_threads),
             MakeArgument("is_test", model->is_test())});
  CopyFromHost(model, nhwc);
  if (!model->is_test()) CopyFromHost(model, label);
  if (transpose) model->AddOperator("NHWC2NCHW", {nhwc}, {images});
  return FinishInput(model, images);
}

std::string AddSyntheticInput(ModelHelper* model, int64_t batch, const TrainOptions& options) {
  const std::string images = model->Scoped("data"), label = model->Scoped("label");
  model->AddInitOperator("GaussianFill", {}, {images},
                         {MakeArgument("shape", ImageShape(*model, batch, options.model.shape))});
  model->AddInitOperator(
      "ConstantFill", {}, {label},
      {MakeArgument("shape", std::vector<int64_t>{batch}),
       MakeArgument("value", int64_t{options.model.shape.num_labels > 1 ? 1 : 0}),
       MakeArgument<int>("dtype", TensorProto::INT32)});
  model->net()->add_external_input(images);
  model->net()->add_external_input(label);
  return FinishInput(model, images);
}

}  // namespace caffe2
