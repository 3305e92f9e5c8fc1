#include "operators/image/image_input_op.h"

#include <algorithm>

#include "db/image/image_codec.h"
#include "db/random_seed.h"
#include "db/record.h"
#include "operators/image/image_input_items.h"
#include "operators/image/image_input_resident.h"
#include "operators/io/db_input_op.h"

namespace caffe2 {
namespace {

constexpr int kBatchesUnderWay = 3;
constexpr int kMaxSide = 1 << 16;

// The elements of an image tensor as interleaved or planar pixels: MNIST databases exist with
// 28x28x1 and with 1x28x28.
template <typename Pixel>
db::ImageView<Pixel> ViewOf(const int64_t* stored_dims, int num_dims, const Pixel* data,
                            size_t elements) {
  const auto is_channels = [](int64_t n) { return n == 1 || n == 3; };
  int64_t dims[3] = {0, 0, 1};  // two dims: height and width
  CAFFE_ENFORCE(num_dims == 2 || num_dims == 3, "an image tensor must have 2 or 3 dims, found ",
                num_dims);
  for (int i = 0; i < num_dims; ++i) {
    dims[i] = stored_dims[i];
    CAFFE_ENFORCE(dims[i] > 0 && dims[i] <= kMaxSide, "the dims of an image must be from 1 to ",
                  kMaxSide, ", found ", dims[i], " for dim ", i);
  }
  CAFFE_ENFORCE(dims[0] * dims[1] * dims[2] == static_cast<int64_t>(elements), "an image of ",
                dims[0], "x", dims[1], "x", dims[2], " must have ", dims[0] * dims[1] * dims[2],
                " elements, found ", elements);
  const int a = static_cast<int>(dims[0]), b = static_cast<int>(dims[1]),
            c = static_cast<int>(dims[2]);
  if (!is_channels(c) && is_channels(a)) return db::ImageView<Pixel>::Planar(data, b, c, a);
  return db::ImageView<Pixel>::Interleaved(data, a, b, c);
}

void ThrowNoDatum(const std::string& record) {
  const bool protos = db::DetectRecordKind(record) == db::RecordKind::kTensorProtos;
  CAFFE_THROW("the record is not a caffe Datum",
              protos ? "; it looks like TensorProtos: use_caffe_datum must be 0" : "");
}

TensorProtos ParseProtos(const std::string& record) {
  TensorProtos protos;
  if (!protos.ParseFromString(record) || protos.protos_size() == 0) {
    const bool datum = db::DetectRecordKind(record) == db::RecordKind::kDatum;
    CAFFE_THROW("the record is not a TensorProtos",
                datum ? "; it looks like a caffe Datum: use_caffe_datum must be 1" : "");
  }
  return protos;
}

// The numbers of an INT32 or FLOAT tensor.
template <typename Action>
void ForEachNumber(const TensorProto& proto, const char* what, const Action& action) {
  if (proto.data_type() == TensorProto::INT32) {
    for (int i = 0; i < proto.int32_data_size(); ++i) action(i, proto.int32_data(i));
  } else if (proto.data_type() == TensorProto::FLOAT) {
    for (int i = 0; i < proto.float_data_size(); ++i) action(i, proto.float_data(i));
  } else {
    CAFFE_THROW(what, " must be INT32 or FLOAT, found ",
                TensorProto::DataType_Name(proto.data_type()));
  }
}

int CountNumbers(const TensorProto& proto) {
  return proto.data_type() == TensorProto::FLOAT ? proto.float_data_size()
                                                 : proto.int32_data_size();
}

TypeMeta NumberType(TensorProto::DataType type) {
  return type == TensorProto::FLOAT ? TypeMeta::Make<float>() : TypeMeta::Make<int32_t>();
}

// Whether the image of a record is given in floats. False for a damaged record: decoding it gives
// the error.
bool HasFloats(const std::string& record, bool is_datum) {
  if (is_datum) {
    db::DatumView datum;
    return db::ParseDatum(record, &datum) == db::ParseResult::kOk && !datum.encoded &&
           !datum.float_data.empty();
  }
  db::TensorView views[2];
  if (db::ParseTensorProtos(record, views, 2) == db::ParseResult::kOk) {
    return views[0].data_type == TensorProto::FLOAT;
  }
  TensorProtos protos;
  return protos.ParseFromString(record) && protos.protos_size() > 0 &&
         protos.protos(0).data_type() == TensorProto::FLOAT;
}

db::BoundingBox ReadBox(const TensorProto& proto) {
  CAFFE_ENFORCE(proto.int32_data_size() == 4, "a bounding box must be 4 numbers, found ",
                proto.int32_data_size());
  CAFFE_ENFORCE(proto.int32_data(2) > 0, "a bounding box must have a positive height, found ",
                proto.int32_data(2));
  return {proto.int32_data(0), proto.int32_data(1), proto.int32_data(2), proto.int32_data(3)};
}

// Sets element `at` of a tensor of float or int32.
template <typename Value>
void SetNumber(Tensor* tensor, int64_t at, Value value) {
  if (tensor->IsType<float>()) {
    tensor->mutable_data<float>()[at] = static_cast<float>(value);
  } else {
    tensor->mutable_data<int32_t>()[at] = static_cast<int32_t>(value);
  }
}

}  // namespace

ImageInputDecoder::ImageInputDecoder(const ImageInputOptions& options,
                                     const db::BatchUploader* uploader)
    : options_(options),
      transform_(options_.transform),
      jpegs_(options.decode_on_device
                 ? std::make_unique<DeviceJpegs>(&transform_, options_.seed, uploader)
                 : nullptr) {}

db::BatchPipeline::Options ImageInputDecoder::pipeline_options() const {
  db::BatchPipeline::Options options;
  options.batch_size = options_.batch_size;
  options.threads = options_.decode_threads;
  options.depth = kBatchesUnderWay;
  options.max_bad_records = options_.max_bad_records;
  options.items_at_once = std::max(1, options_.batch_size / (2 * options_.decode_threads));
  if (options_.normalize_on_device) {
    options.normalization = {transform_.normalize_params(), options_.transform.output_type};
  }
  return options;
}

void ImageInputDecoder::Prepare(db::InputBatch* batch) const {
  const int64_t n = options_.batch_size, crop = options_.transform.crop,
                channels = transform_.channels();
  batch->outputs.resize(2 + options_.output_sizes.size() + (options_.normalize_on_device ? 1 : 0) +
                        (jpegs_ ? 1 : 0));
  if (jpegs_) jpegs_->Prepare(batch);
  Tensor& data = batch->outputs[0];
  if (options_.transform.channels_first && !options_.normalize_on_device) {
    data.Resize(n, channels, crop, crop);
  } else {
    data.Resize(n, crop, crop, channels);
  }
  TypeMeta data_type = options_.transform.output_type;
  if (options_.normalize_on_device) {
    const auto& records = batch->source.records;
    const bool floats = std::any_of(records.begin(), records.end(), [this](const auto& record) {
      return HasFloats(record.value, options_.use_caffe_datum);
    });
    data_type = floats ? TypeMeta::Make<float>() : TypeMeta::Make<uint8_t>();
    ResizeItems<db::SampledAugmentation>(&batch->outputs.back(), n);
  }
  data.raw_mutable_data(data_type);

  // Labels and further outputs have the type that the first whole record gives them.
  TypeMeta label_type = TypeMeta::Make<int32_t>();
  std::vector<TypeMeta> extra_types(options_.output_sizes.size(), label_type);
  for (const db::Record& record : batch->source.records) {
    if (options_.use_caffe_datum) break;
    db::TensorView views[2];
    if (extra_types.empty() &&
        db::ParseTensorProtos(record.value, views, 2) == db::ParseResult::kOk) {
      label_type = NumberType(views[1].data_type);
      break;
    }
    TensorProtos protos;
    if (protos.ParseFromString(record.value) && protos.protos_size() > 0) {
      if (protos.protos_size() > 1) label_type = NumberType(protos.protos(1).data_type());
      for (size_t i = 0; i < extra_types.size() && protos.protos_size() > static_cast<int>(i) + 2;
           ++i) {
        extra_types[i] = NumberType(protos.protos(static_cast<int>(i) + 2).data_type());
      }
      break;
    }  // else decoding the record gives the error
  }
  Tensor& label = batch->outputs[1];
  if (options_.label_type == LabelType::kSingle) {
    label.Resize(n);
  } else {
    label.Resize(n, options_.num_labels);
  }
  label.raw_mutable_data(label_type);
  for (size_t i = 0; i < extra_types.size(); ++i) {
    batch->outputs[2 + i].Resize(n, options_.output_sizes[i]);
    batch->outputs[2 + i].raw_mutable_data(extra_types[i]);
  }
}

void ImageInputDecoder::WriteFile(std::string_view file, const db::BoundingBox& box,
                                  const db::Record& record, db::InputBatch* batch, int item) const {
  const char* reason = nullptr;
  if (jpegs_) {
    reason = jpegs_->Take(file, box, batch, item);
    if (reason == nullptr) return;
  }
  const auto image = db::OpenImage(file, options_.transform.color);
  WriteImage(image.get(), box, record, batch, item);
  if (jpegs_) jpegs_->NoteHost(record, reason);
}

template <typename Pixel>
void ImageInputDecoder::WriteImage(const db::ImageView<Pixel>& image, const db::BoundingBox& box,
                                   const db::Record& record, db::InputBatch* batch,
                                   int item) const {
  db::ViewSource<Pixel> source(image);
  WriteImage<Pixel>(&source, box, record, batch, item);
  if (jpegs_) jpegs_->NoteHost(record, "it has raw pixels");
}

template <typename Pixel>
void ImageInputDecoder::WriteImage(db::ImageSource<Pixel>* image, const db::BoundingBox& box,
                                   const db::Record& record, db::InputBatch* batch,
                                   int item) const {
  CAFFE_ENFORCE(!options_.square_images || (image->height() == image->width() && box.height <= 0),
                "an image of ", image->height(), "x", image->width(),
                box.height > 0 ? " with a bounding box" : "",
                "; resident images must be square and have none");
  Tensor& data = batch->outputs[0];
  const int64_t bytes = static_cast<int64_t>(data.nbytes()) / options_.batch_size;
  void* output = static_cast<char*>(data.raw_mutable_data()) + item * bytes;
  const uint64_t seed = db::MixSeed(options_.seed, record.global_index);
  if (!options_.normalize_on_device) return transform_.Apply(image, box, seed, output);
  db::SampledAugmentation augmentation;
  transform_.Crop(image, box, seed, data.dtype(), output, &augmentation);
  SetItem(&batch->outputs.back(), item, augmentation);
}

void ImageInputDecoder::CheckLabel(int64_t label) const {
  if (options_.num_labels <= 0) return;
  CAFFE_ENFORCE(label >= 0 && label < options_.num_labels, "label ", label,
                " is out of range for num_labels ", options_.num_labels);
}

void ImageInputDecoder::Decode(db::InputBatch* batch, int item) const {
  const db::Record& record = batch->source.records[item];
  if (jpegs_) jpegs_->Begin(batch, item);
  if (options_.use_caffe_datum) {
    DecodeDatum(record, batch, item);
  } else {
    DecodeTensorProtos(record, batch, item);
  }
}

void ImageInputDecoder::DecodeDatum(const db::Record& record, db::InputBatch* batch,
                                    int item) const {
  db::DatumView datum;
  if (db::ParseDatum(record.value, &datum) != db::ParseResult::kOk) ThrowNoDatum(record.value);
  CheckLabel(datum.label);
  batch->outputs[1].mutable_data<int32_t>()[item] = datum.label;
  if (datum.encoded) {
    return WriteFile(datum.data, {}, record, batch, item);
  }
  for (const int side : {datum.channels, datum.height, datum.width}) {
    CAFFE_ENFORCE(side > 0 && side <= kMaxSide, "the sides of a Datum must be from 1 to ", kMaxSide,
                  ", found ", datum.channels, "x", datum.height, "x", datum.width,
                  " (an encoded image without its flag?)");
  }
  const int64_t elements = int64_t{datum.channels} * datum.height * datum.width;
  const bool floats = !datum.float_data.empty();
  CAFFE_ENFORCE(
      static_cast<int64_t>(floats ? datum.float_data.size() : datum.data.size()) == elements,
      "a Datum of ", datum.channels, "x", datum.height, "x", datum.width, " must have ", elements,
      " values, found ",
      static_cast<int64_t>(floats ? datum.float_data.size() : datum.data.size()));
  if (floats) {
    WriteImage(db::ImageView<float>::Planar(datum.float_data.data(), datum.height, datum.width,
                                            datum.channels),
               {}, record, batch, item);
  } else {
    WriteImage(db::ImageView<uint8_t>::Planar(reinterpret_cast<const uint8_t*>(datum.data.data()),
                                              datum.height, datum.width, datum.channels),
               {}, record, batch, item);
  }
}

bool ImageInputDecoder::DecodeInPlace(const db::Record& record, db::InputBatch* batch,
                                      int item) const {
  if (options_.label_type != LabelType::kSingle || !options_.output_sizes.empty()) return false;
  db::TensorView views[2];
  if (db::ParseTensorProtos(record.value, views, 2) != db::ParseResult::kOk) return false;
  const db::TensorView &image = views[0], &label = views[1];
  Tensor& labels = batch->outputs[1];
  int32_t number = 0;
  if (label.data_type != TensorProto::INT32 || !labels.IsType<int32_t>() ||
      !db::UnpackInt32(label.int32_data, 1, &number)) {
    return false;
  }
  const bool encoded = image.data_type == TensorProto::STRING && image.has_string;
  const bool bytes = image.data_type == TensorProto::BYTE || image.data_type == TensorProto::UINT8;
  if (!encoded && !bytes) return false;
  CheckLabel(number);
  labels.mutable_data<int32_t>()[item] = number;
  if (encoded) {
    WriteFile(image.string_data, {}, record, batch, item);
  } else {
    WriteImage(
        ViewOf(image.dims, image.num_dims, reinterpret_cast<const uint8_t*>(image.byte_data.data()),
               image.byte_data.size()),
        {}, record, batch, item);
  }
  return true;
}

void ImageInputDecoder::DecodeTensorProtos(const db::Record& record, db::InputBatch* batch,
                                           int item) const {
  if (DecodeInPlace(record, batch, item)) return;
  const TensorProtos protos = ParseProtos(record.value);
  const int extra = static_cast<int>(options_.output_sizes.size());
  const int needed = 2 + extra;
  CAFFE_ENFORCE(protos.protos_size() == needed || protos.protos_size() == needed + 1,
                "the record has ", protos.protos_size(), " tensors where ", needed,
                " (and perhaps a bounding box) are expected");
  db::BoundingBox box;
  if (protos.protos_size() > needed) box = ReadBox(protos.protos(needed));
  WriteLabel(protos.protos(1), &batch->outputs[1], item);
  for (int i = 0; i < extra; ++i) WriteExtra(protos.protos(2 + i), i, &batch->outputs[2 + i], item);
  WriteProto(protos.protos(0), box, record, batch, item);
}

void ImageInputDecoder::WriteProto(const TensorProto& proto, const db::BoundingBox& box,
                                   const db::Record& record, db::InputBatch* batch,
                                   int item) const {
  switch (proto.data_type()) {
    case TensorProto::STRING:
      CAFFE_ENFORCE(proto.string_data_size() == 1, "an encoded image must be one string, found ",
                    proto.string_data_size(), " strings");
      WriteFile(proto.string_data(0), box, record, batch, item);
      break;
    case TensorProto::BYTE:
    case TensorProto::UINT8: {
      const std::string& bytes = proto.byte_data();
      WriteImage(ViewOf(proto.dims().data(), proto.dims_size(),
                        reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()),
                 box, record, batch, item);
      break;
    }
    case TensorProto::FLOAT:
      WriteImage(ViewOf(proto.dims().data(), proto.dims_size(), proto.float_data().data(),
                        proto.float_data_size()),
                 box, record, batch, item);
      break;
    default:
      CAFFE_THROW("an image must be STRING, BYTE or FLOAT, found ",
                  TensorProto::DataType_Name(proto.data_type()));
  }
}

void ImageInputDecoder::WriteLabel(const TensorProto& proto, Tensor* labels, int item) const {
  CAFFE_ENFORCE(NumberType(proto.data_type()) == labels->dtype(),
                "a label must have the type of the first record's label, ", labels->dtype().name(),
                "; found ", NumberType(proto.data_type()).name());
  const int count = CountNumbers(proto);
  const int64_t row = int64_t{item} * options_.num_labels;
  switch (options_.label_type) {
    case LabelType::kSingle:
      CAFFE_ENFORCE(count > 0, "a label must be at least one number, found ", count);
      ForEachNumber(proto, "label", [&](int i, auto value) {
        if (i > 0) return;
        if constexpr (std::is_same_v<decltype(value), int32_t>) CheckLabel(value);
        SetNumber(labels, item, value);
      });
      break;
    case LabelType::kMultiSparse:
      for (int i = 0; i < options_.num_labels; ++i) SetNumber(labels, row + i, 0);
      ForEachNumber(proto, "label", [&](int, auto value) {
        CAFFE_ENFORCE(value >= 0 && value < options_.num_labels, "label ", value,
                      " is out of range for num_labels ", options_.num_labels);
        SetNumber(labels, row + static_cast<int64_t>(value), 1);
      });
      break;
    case LabelType::kMultiDense:
      CAFFE_ENFORCE(count == options_.num_labels, "a dense label must be ", options_.num_labels,
                    " numbers (num_labels), found ", count);
      ForEachNumber(proto, "label", [&](int i, auto value) { SetNumber(labels, row + i, value); });
      break;
  }
}

void ImageInputDecoder::WriteExtra(const TensorProto& proto, int index, Tensor* output,
                                   int item) const {
  const int size = options_.output_sizes[index];
  CAFFE_ENFORCE(NumberType(proto.data_type()) == output->dtype() && CountNumbers(proto) == size,
                "tensor ", index + 2, " of the record holds ", CountNumbers(proto),
                " numbers where ", size, " ", output->dtype().name(), " are expected");
  ForEachNumber(proto, "a further output",
                [&](int i, auto value) { SetNumber(output, int64_t{item} * size + i, value); });
}

std::unique_ptr<db::BatchPipeline> MakeImagePipeline(const OperatorBase& op, uint64_t seed,
                                                     db::BatchUploader* uploader) {
  const ImageInputOptions options = ReadImageInputOptions(op, seed);
  if (options.resident) return MakeResidentImagePipeline(options, uploader);
  const auto decoder = std::make_shared<ImageInputDecoder>(options, uploader);
  return std::make_unique<db::BatchPipeline>(
      decoder->pipeline_options(), [decoder](db::InputBatch* batch) { decoder->Prepare(batch); },
      [decoder](db::InputBatch* batch, int item) { decoder->Decode(batch, item); }, uploader);
}

REGISTER_INPUT_PIPELINE(ImageInput, MakeImagePipeline);
REGISTER_CPU_OPERATOR(ImageInput, DBInputOp<CPUContext>);

}  // namespace caffe2
