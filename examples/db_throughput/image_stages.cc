#include "examples/db_throughput/image_stages.h"

#include <chrono>
#include <string_view>

#include "caffe2/core/logging.h"
#include "db/image/image_codec.h"
#include "db/image/image_record.h"
#include "db/record.h"

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Adds up how long reading pixels takes.
class TimedSource final : public db::ImageSource<uint8_t> {
 public:
  explicit TimedSource(db::ImageSource<uint8_t>* source) : source_(source) {}
  int height() const override { return source_->height(); }
  int width() const override { return source_->width(); }
  int channels() const override { return source_->channels(); }
  bool IsInterleaved() const override { return source_->IsInterleaved(); }
  bool CanReduce() const override { return source_->CanReduce(); }
  db::ImageView<uint8_t> Read(const db::BoundingBox& part, int reduction) override {
    const auto begin = Clock::now();
    const auto view = source_->Read(part, reduction);
    seconds_ += SecondsSince(begin);
    return view;
  }
  double seconds() const { return seconds_; }

 private:
  db::ImageSource<uint8_t>* const source_;
  double seconds_ = 0;
};

// The image file of a record; empty for raw pixels.
std::string_view FileOf(const db::Record& record) {
  db::DatumView datum;
  if (db::ParseDatum(record.value, &datum) == db::ParseResult::kOk) {
    CAFFE_ENFORCE(datum.float_data.empty(), "record ", record.key, " has an image of floats");
    return datum.encoded ? datum.data : std::string_view();
  }
  db::TensorView views[2];
  const bool parsed = db::ParseTensorProtos(record.value, views, 2) == db::ParseResult::kOk;
  CAFFE_ENFORCE(parsed && views[0].data_type != TensorProto::FLOAT, "record ", record.key,
                " has anything but one image, in a file or as bytes, and one label");
  return views[0].string_data;
}

db::ImageTransformOptions CropOptions(int crop, int scale) {
  db::ImageTransformOptions options;
  options.crop = crop;
  options.scale = scale;
  options.mirror = true;
  return options;
}

}  // namespace

ImageStages::ImageStages(int crop, int scale)
    : transform_(CropOptions(crop, scale)),
      write_(CropOptions(crop, /*scale=*/-1)),
      pixels_(size_t{3} * crop * crop),
      output_(pixels_.size()) {}

void ImageStages::Add(const db::Record& record) {
  auto begin = Clock::now();
  const std::string_view file = FileOf(record);
  seconds_.parse += SecondsSince(begin);
  const auto seed = static_cast<uint64_t>(record.global_index);
  if (file.empty()) {
    const db::Image<uint8_t> image = db::DecodeImageRecord(record.value).image;
    db::ViewSource<uint8_t> pixels(image.view);
    return AddImage(&pixels, seed);
  }
  begin = Clock::now();
  const auto image = db::OpenImage(file, /*color=*/true);
  seconds_.decode += SecondsSince(begin);
  AddImage(image.get(), seed);
}

void ImageStages::AddImage(db::ImageSource<uint8_t>* image, uint64_t seed) {
  TimedSource source(image);
  auto begin = Clock::now();
  transform_.Apply<uint8_t>(&source, {}, seed, output_.data());
  const double all = SecondsSince(begin), decode = source.seconds();
  seconds_.decode += decode;
  double write = all - decode;
  const auto plan = transform_.SampleCrop(image->height(), image->width(), {}, seed);
  if (plan.height != plan.part.height || plan.width != plan.part.width) {
    db::SampledAugmentation augmentation;
    transform_.Crop<uint8_t>(&source, {}, seed, TypeMeta::Make<uint8_t>(), pixels_.data(),
                             &augmentation);
    const int crop = transform_.options().crop;
    db::ViewSource<uint8_t> scaled(
        db::ImageView<uint8_t>::Interleaved(pixels_.data(), crop, crop, transform_.channels()));
    begin = Clock::now();
    write_.Apply<uint8_t>(&scaled, {}, seed, output_.data());
    write = SecondsSince(begin);
    seconds_.resize += all - decode - write;
  }
  seconds_.write += write;
}

}  // namespace caffe2
