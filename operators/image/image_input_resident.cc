#include "operators/image/image_input_resident.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "caffe2/utils/parallel.h"
#include "db/random_seed.h"

namespace caffe2 {
namespace {

void CheckOptions(const ImageInputOptions& options) {
  const db::ImageTransformOptions& transform = options.transform;
  CAFFE_ENFORCE_GT(transform.scale, 0, "resident images have one size: the argument scale");
  CAFFE_ENFORCE(transform.scale_jitter == db::ScaleJitter::kNone && !transform.warp &&
                    transform.random_scale_min <= 0 && transform.box.height <= 0,
                "resident images are not scaled again: scale_jitter_type, warp, random_scale and "
                "bounding boxes cannot be used");
  CAFFE_ENFORCE(options.label_type == LabelType::kSingle && options.output_sizes.empty(),
                "the records of resident images have one label and no further outputs");
  CAFFE_ENFORCE_EQ(options.max_bad_records, 0, "max_bad_records with resident images");
}

// Those that decode whole images: `count` of them, as one batch.
ImageInputOptions WholeImages(ImageInputOptions options, int count) {
  options.batch_size = count;
  options.square_images = true;
  options.transform.crop = options.transform.scale;
  options.transform.pad = 0;
  options.transform.is_test = true;
  return options;
}

}  // namespace

ResidentImageDecoder::ResidentImageDecoder(const ImageInputOptions& options)
    : options_(options), transform_(options.transform) {
  CheckOptions(options);
}

db::BatchPipeline::Options ResidentImageDecoder::pipeline_options() const {
  return ImageInputDecoder(options_).pipeline_options();
}

Tensor ResidentImageDecoder::Load(const db::DBReader& reader) {
  const int64_t n = reader.NumRecords();
  constexpr int64_t kMaxImages = int64_t{1} << 30;
  CAFFE_ENFORCE_LE(n, kMaxImages, "resident images of the database ", reader.source());
  const ImageInputDecoder decoder(WholeImages(options_, static_cast<int>(n)));
  db::InputBatch all;
  std::vector<db::Record>& records = all.source.records;
  records.resize(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) reader.ReadRecord(i, &records[i]);
  decoder.Prepare(&all);
  CAFFE_ENFORCE(all.outputs[0].IsType<uint8_t>() && all.outputs[1].IsType<int32_t>(), "database ",
                reader.source(),
                ": resident images have pixels of 8 bits and labels of type int32");
  constexpr int64_t kGrain = 64;  // about a millisecond of small images
  ParallelFor(n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      try {
        decoder.Decode(&all, static_cast<int>(i));
      } catch (Error& error) {
        error.AddContext("record \"" + records[i].key + "\" of database " + reader.source());
        throw;
      }
    }
  });
  const int32_t* labels = all.outputs[1].data<int32_t>();
  labels_.assign(labels, labels + n);
  keys_.clear();
  for (db::Record& record : records) keys_.push_back(std::move(record.key));
  return std::move(all.outputs[0]);
}

void ResidentImageDecoder::Prepare(db::InputBatch* batch) const {
  const int64_t n = options_.batch_size;
  batch->outputs.resize(3);
  batch->outputs[0].Resize(n, sizeof(db::ResidentCrop));
  batch->outputs[0].mutable_data<uint8_t>();
  batch->outputs[1].Resize(n);
  batch->outputs[1].mutable_data<int32_t>();
  batch->outputs[2].Resize(n, sizeof(db::SampledAugmentation));
  batch->outputs[2].mutable_data<uint8_t>();
}

void ResidentImageDecoder::Decode(db::InputBatch* batch, int item) const {
  db::Record& record = batch->source.records[item];
  CAFFE_ENFORCE_LT(record.index, static_cast<int64_t>(keys_.size()), "resident images");
  record.key = keys_[record.index];
  batch->outputs[1].mutable_data<int32_t>()[item] = labels_[record.index];
  const int side = options_.transform.scale;
  db::ResidentCrop crop{.image = record.index};
  db::SampledAugmentation augmentation;
  transform_.ChooseCrop(side, side, db::MixSeed(options_.seed, record.global_index), &crop.y,
                        &crop.x, &augmentation);
  std::memcpy(batch->outputs[0].mutable_data<uint8_t>() + item * sizeof(crop), &crop, sizeof(crop));
  std::memcpy(batch->outputs[2].mutable_data<uint8_t>() + item * sizeof(augmentation),
              &augmentation, sizeof(augmentation));
}

std::unique_ptr<db::BatchPipeline> MakeResidentImagePipeline(const ImageInputOptions& options,
                                                             db::BatchUploader* uploader) {
  const auto decoder = std::make_shared<ResidentImageDecoder>(options);
  db::BatchPipeline::Options pipeline = decoder->pipeline_options();
  pipeline.load_images = [decoder](const db::DBReader& reader) { return decoder->Load(reader); };
  return std::make_unique<db::BatchPipeline>(
      pipeline, [decoder](db::InputBatch* batch) { decoder->Prepare(batch); },
      [decoder](db::InputBatch* batch, int item) { decoder->Decode(batch, item); }, uploader);
}

}  // namespace caffe2
