#include "operators/image/image_input_resident.h"

#include <algorithm>
#include <utility>

#include "caffe2/utils/parallel.h"
#include "db/random_seed.h"
#include "operators/image/image_input_items.h"

namespace caffe2 {
namespace {

void CheckOptions(const ImageInputOptions& options) {
  const db::ImageTransformOptions& transform = options.transform;
  CAFFE_ENFORCE(
      transform.scale > 0,
      "the argument scale must be positive, because resident images have one size; found ",
      transform.scale);
  CAFFE_ENFORCE(transform.scale_jitter == db::ScaleJitter::kNone && !transform.warp &&
                    transform.random_scale_min <= 0 && transform.box.height <= 0,
                "resident images are not scaled again: scale_jitter_type, warp, random_scale and "
                "bounding boxes cannot be used");
  CAFFE_ENFORCE(options.label_type == LabelType::kSingle && options.output_sizes.empty(),
                "resident images need label_type 0 and no outputs after data and label");
  CAFFE_ENFORCE(options.max_bad_records == 0,
                "max_bad_records cannot be used with resident images, found ",
                options.max_bad_records);
}

// The options that decode `count` whole images as one batch.
ImageInputOptions WholeImages(ImageInputOptions options, size_t count) {
  options.batch_size = static_cast<int>(count);
  options.square_images = true;
  options.transform.crop = options.transform.scale;
  options.transform.pad = 0;
  options.transform.is_test = true;
  return options;
}

// Decodes all records of the batch.
void DecodeAll(const ImageInputDecoder& decoder, const std::string& source, db::InputBatch* batch) {
  constexpr int64_t kGrain = 64;  // about a millisecond of small images
  const auto n = static_cast<int64_t>(batch->source.records.size());
  ParallelFor(n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      try {
        decoder.Decode(batch, static_cast<int>(i));
      } catch (Error& error) {
        error.AddContext("record \"" + batch->source.records[i].key + "\" of database " + source);
        throw;
      }
    }
  });
}

}  // namespace

ResidentImageDecoder::ResidentImageDecoder(const ImageInputOptions& options)
    : options_(options), transform_(options.transform) {
  CheckOptions(options);
}

db::BatchPipeline::Options ResidentImageDecoder::pipeline_options() const {
  return ImageInputDecoder(options_).pipeline_options();
}

void ResidentImageDecoder::Load(const db::DBReader& reader, const db::ImageSink& sink) {
  constexpr size_t kChunk = 4096;
  keys_.clear();
  labels_.clear();
  db::InputBatch chunk;
  const auto flush = [&] {
    LoadChunk(reader.source(), &chunk);
    sink(reader.NumRecords(), chunk.outputs[0]);
    chunk.source.records.clear();
  };
  reader.Visit([&](const std::string& key, const std::string& value) {
    chunk.source.records.push_back({.key = key, .value = value});
    if (chunk.source.records.size() == kChunk) flush();
    return true;
  });
  if (!chunk.source.records.empty()) flush();
}

void ResidentImageDecoder::LoadChunk(const std::string& source, db::InputBatch* chunk) {
  std::vector<db::Record>& records = chunk->source.records;
  const ImageInputDecoder decoder(WholeImages(options_, records.size()));
  decoder.Prepare(chunk);
  CAFFE_ENFORCE(chunk->outputs[0].IsType<uint8_t>() && chunk->outputs[1].IsType<int32_t>(),
                "database ", source,
                ": resident images have pixels of 8 bits and labels of type int32");
  DecodeAll(decoder, source, chunk);
  const int32_t* labels = chunk->outputs[1].data<int32_t>();
  labels_.insert(labels_.end(), labels, labels + records.size());
  for (db::Record& record : records) keys_.push_back(std::move(record.key));
}

void ResidentImageDecoder::Prepare(db::InputBatch* batch) const {
  const int64_t n = options_.batch_size;
  batch->outputs.resize(3);
  ResizeItems<db::ResidentCrop>(&batch->outputs[0], n);
  batch->outputs[1].Resize(n);
  batch->outputs[1].mutable_data<int32_t>();
  ResizeItems<db::SampledAugmentation>(&batch->outputs[2], n);
}

void ResidentImageDecoder::Decode(db::InputBatch* batch, int item) const {
  db::Record& record = batch->source.records[item];
  CAFFE_ENFORCE_LT(record.index, static_cast<int64_t>(keys_.size()), "resident images");
  record.key = keys_[record.index];
  batch->outputs[1].mutable_data<int32_t>()[item] = labels_[record.index];
  const int side = options_.transform.scale;
  const auto plan =
      transform_.SampleCrop(side, side, {}, db::MixSeed(options_.seed, record.global_index));
  SetItem(&batch->outputs[0], item,
          db::ResidentCrop{.image = record.index, .y = plan.y, .x = plan.x});
  SetItem(&batch->outputs[2], item, plan.augmentation);
}

std::unique_ptr<db::BatchPipeline> MakeResidentImagePipeline(const ImageInputOptions& options,
                                                             db::BatchUploader* uploader) {
  const auto decoder = std::make_shared<ResidentImageDecoder>(options);
  db::BatchPipeline::Options pipeline = decoder->pipeline_options();
  pipeline.load_images = [decoder](const db::DBReader& reader, const db::ImageSink& sink) {
    decoder->Load(reader, sink);
  };
  return std::make_unique<db::BatchPipeline>(
      pipeline, [decoder](db::InputBatch* batch) { decoder->Prepare(batch); },
      [decoder](db::InputBatch* batch, int item) { decoder->Decode(batch, item); }, uploader);
}

}  // namespace caffe2
