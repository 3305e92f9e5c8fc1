#include "train/input.h"

#include "caffe2/core/logging.h"
#include "caffe2/model/layers.h"
#include "db/db.h"
#include "db/record_fingerprint.h"

namespace caffe2 {
namespace {

std::vector<int64_t> ImageShape(const ModelHelper& model, int64_t batch,
                                const NetworkOptions& shape) {
  const int64_t side = shape.image_size, channels = shape.num_channels;
  if (model.order() == "NCHW") return {batch, channels, side, side};
  return {batch, side, side, channels};
}

Argument NormalizationArgument(const std::string& name, const std::vector<float>& values) {
  if (values.size() == 1) return MakeArgument(name, values[0]);
  return MakeArgument(name + "_per_channel", values);
}

}  // namespace

RecordKind RecordKindOf(const std::string& db_type, const std::string& source) {
  const auto database = db::CreateDB(db_type, source, db::READ);
  const auto cursor = database->NewCursor();
  CAFFE_ENFORCE(cursor->Valid(), "database ", source, " is empty");
  const RecordKind kind = db::DetectRecordKind(cursor->value());
  CAFFE_ENFORCE(kind != RecordKind::kUnknown, "database ", source, ": record ", cursor->key(),
                " is neither a Datum nor a TensorProtos with an image");
  return kind;
}

db::Holdout PartOf(const DataOptions& data, bool train) {
  return {.share = data.holdout, .held_out = !train && data.holdout > 0};
}

int64_t NumRecords(const std::string& db_type, const std::string& source,
                   const db::Holdout& holdout) {
  const int64_t all = db::CreateDB(db_type, source, db::READ)->NewIndex()->NumRecords();
  if (holdout.share == 0) return all;
  const int64_t held_out = db::NumHeldOut(all, holdout.share);
  return holdout.held_out ? held_out : all - held_out;
}

std::string DataFingerprint(const DataOptions& data, const std::string& source) {
  if (source.empty() || source == kSyntheticData) return source;
  if (data.fingerprints && data.fingerprints->count(source) != 0) {
    return data.fingerprints->at(source);
  }
  const auto database = db::CreateDB(data.db_type, source, db::READ);
  std::string fingerprint = db::RecordFingerprint(database->NewIndex().get());
  if (data.fingerprints) data.fingerprints->emplace(source, fingerprint);
  return fingerprint;
}

void AddReader(ModelHelper* model, const std::string& reader, const std::string& source,
               const TrainOptions& options, bool train) {
  const DeviceScope host(model, DeviceOption());
  std::vector<Argument> args = {MakeArgument("db", source),
                                MakeArgument("db_type", options.data.db_type),
                                MakeArgument("num_shards", options.shards.num_shards),
                                MakeArgument("shard_id", options.shards.shard_id)};
  if (const db::Holdout part = PartOf(options.data, train); part.share > 0) {
    args.push_back(MakeArgument("holdout", options.data.holdout));
    args.push_back(MakeArgument("held_out", part.held_out));
  }
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
  const bool on_device = model->options().device.device_type() != CPU;
  model->AddOperator(
      "ImageInput", {reader}, {images, label},
      {MakeArgument("batch_size", batch),
       MakeArgument("num_labels", options.model.shape.num_labels),
       MakeArgument("use_caffe_datum", kind == RecordKind::kDatum),
       MakeArgument("color", options.model.shape.num_channels == 3),
       NormalizationArgument("mean", data.mean), NormalizationArgument("std", data.std),
       MakeArgument("scale_jitter_type", data.random_resized_crop ? 1 : 0),
       MakeArgument("scale", options.ImageScale()),
       MakeArgument("crop", options.model.shape.image_size), MakeArgument("pad", data.image_pad),
       MakeArgument("mirror", data.mirror && !model->is_test()),
       MakeArgument("random_erasing", data.random_erasing), MakeArgument("order", model->order()),
       MakeArgument<int>("output_type", model->options().compute_type),
       MakeArgument("use_gpu_transform", on_device && data.use_gpu_transform),
       MakeArgument("decode_on_gpu", data.decode_on_gpu),
       MakeArgument("resident", data.resident_data),
       // The crop and mirroring of a record depend only on the seed and its index in
       // the stream, so they are the same for any number of shards.
       MakeArgument("seed", static_cast<int64_t>(options.schedule.seed)),
       MakeArgument("decode_threads", data.decode_threads),
       // Tests count every image once, so each must be readable.
       MakeArgument("max_bad_records", model->is_test() ? 0 : data.max_bad_records),
       MakeArgument("is_test", model->is_test())});
  if (!model->is_test()) brew::StopGradient(model, images);
  return images;
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
  if (!model->is_test()) brew::StopGradient(model, images);
  return brew::CastTo(model, images, "data_cast", model->options().compute_type);
}

}  // namespace caffe2
