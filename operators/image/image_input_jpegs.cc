#include "operators/image/image_input_jpegs.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "caffe2/core/logging.h"
#include "caffe2/utils/printable_text.h"
#include "db/image/jpeg.h"
#include "db/random_seed.h"
#include "operators/image/image_input_items.h"

namespace caffe2 {
namespace {

Tensor* CropsOf(db::InputBatch* batch) { return &batch->outputs[batch->outputs.size() - 2]; }

}  // namespace

DeviceJpegs::DeviceJpegs(const db::ImageTransform* transform, uint64_t seed,
                         const db::BatchUploader* uploader)
    : transform_(transform), seed_(seed), uploader_(uploader) {}

DeviceJpegs::~DeviceJpegs() {
  const int64_t images = by_device_ + by_host_;
  if (images == 0) return;
  LOG(INFO) << "decode_on_gpu: of " << images << " images the device has decoded " << by_device_
            << ", the host " << by_host_;
}

void DeviceJpegs::Prepare(db::InputBatch* batch) const {
  constexpr int64_t kAlign = 16;
  const std::vector<db::Record>& records = batch->source.records;
  ResizeItems<db::JpegCrop>(CropsOf(batch), static_cast<int64_t>(records.size()));
  int64_t end = kAlign;  // never empty
  batch->file_begins.clear();
  for (const db::Record& record : records) {
    batch->file_begins.push_back(end);
    end += (static_cast<int64_t>(record.value.size()) + kAlign - 1) / kAlign * kAlign;
  }
  batch->files.Resize(end);
  batch->files.mutable_data<uint8_t>();
}

void DeviceJpegs::Begin(db::InputBatch* batch, int item) const {
  SetItem(CropsOf(batch), item, db::JpegCrop{});
}

const char* DeviceJpegs::Take(std::string_view file, const db::BoundingBox& box,
                              db::InputBatch* batch, int item) {
  if (!db::IsJpeg(file)) return "it is not a JPEG file";
  if (!batch->outputs[0].IsType<uint8_t>()) return "its batch has images of floats";
  if (std::binary_search(batch->refused.begin(), batch->refused.end(), item)) {
    --by_device_;
    return "nvJPEG has refused it";
  }
  const db::JpegHeader header = db::ReadJpegHeader(file);
  if (header.obstacle != nullptr) return header.obstacle;
  if (!uploader_->Decodes(file)) return "nvJPEG does not support it";
  int height = header.height, width = header.width;
  if (header.orientation > 4) std::swap(height, width);
  const uint64_t seed = db::MixSeed(seed_, batch->source.records[item].global_index);
  const db::ImageTransform::CropPlan plan = transform_->SampleCrop(height, width, box, seed);
  const int64_t begin = batch->file_begins[item];
  std::memcpy(batch->files.mutable_data<uint8_t>() + begin, file.data(), file.size());
  SetItem(CropsOf(batch), item,
          db::JpegCrop{.begin = begin,
                       .bytes = static_cast<int64_t>(file.size()),
                       .height = header.height,
                       .width = header.width,
                       .orientation = header.orientation,
                       .geometry = plan});
  SetItem(&batch->outputs.back(), item, plan.augmentation);
  ++by_device_;
  return nullptr;
}

void DeviceJpegs::NoteHost(const db::Record& record, const char* reason) {
  if (by_host_++ > 0) return;
  LOG(INFO) << "decode_on_gpu: the host decodes the image of record \"" << PrintableText(record.key)
            << "\", because " << reason << "; the number of such images follows at the end";
}

}  // namespace caffe2
