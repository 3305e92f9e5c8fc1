#include "operators/io/jpeg_cropper_cuda.h"

#include <algorithm>
#include <utility>

#include "caffe2/core/logging.h"
#include "db/image/exif_orientation.h"
#include "operators/image/image_input_kernels.h"

namespace caffe2 {
namespace {

// Enough for 477 photographs of 500 x 375: nvJPEG gets few and large batches.
constexpr size_t kGroupBytes = size_t{256} << 20;
constexpr size_t kImageAlign = 256;

int ChannelsOf(const db::InputBatch& batch) { return static_cast<int>(batch.outputs[0].size(3)); }

size_t DecodedBytes(const db::JpegCrop& crop, int channels) {
  return size_t{1} * crop.height * crop.width * channels;
}

const db::JpegCrop* CropsOnHost(const db::InputBatch& batch) {
  return static_cast<const db::JpegCrop*>(batch.outputs[batch.outputs.size() - 2].raw_data());
}

// The image's pixels begin at `begin`.
void SetUprightView(int64_t begin, int channels, db::JpegCrop* crop) {
  int rows = crop->height, columns = crop->width;
  int row_stride = crop->width * channels, column_stride = channels;
  const db::UprightSteps steps = db::UprightStepsOf(crop->orientation);
  if (steps.transposed) {
    std::swap(rows, columns);
    std::swap(row_stride, column_stride);
  }
  if (steps.left_right) {
    begin += int64_t{columns - 1} * column_stride;
    column_stride = -column_stride;
  }
  if (steps.top_bottom) {
    begin += int64_t{rows - 1} * row_stride;
    row_stride = -row_stride;
  }
  crop->first = begin;
  crop->row_stride = row_stride;
  crop->column_stride = column_stride;
}

// Where the pixels of the next image begin.
size_t NextBegin(size_t begin, const db::JpegCrop& crop, int channels) {
  return (begin + DecodedBytes(crop, channels) + kImageAlign - 1) / kImageAlign * kImageAlign;
}

}  // namespace

std::vector<JpegCropper::Group> JpegCropper::Arrange(db::InputBatch* batch) {
  const int channels = ChannelsOf(*batch), n = static_cast<int>(batch->outputs[0].size(0));
  Tensor& stored = batch->outputs[batch->outputs.size() - 2];
  auto* crops = reinterpret_cast<db::JpegCrop*>(stored.mutable_data<uint8_t>());
  std::vector<Group> groups(1);
  for (int i = 0; i < n; ++i) {
    groups.back().end = i + 1;
    if (crops[i].bytes == 0) continue;
    const size_t end = NextBegin(groups.back().bytes, crops[i], channels);
    if (end > kGroupBytes && groups.back().bytes > 0) {
      groups.back().end = i;
      groups.push_back({.begin = i, .end = i + 1});
    }
    SetUprightView(static_cast<int64_t>(groups.back().bytes), channels, &crops[i]);
    groups.back().bytes = NextBegin(groups.back().bytes, crops[i], channels);
  }
  return groups;
}

std::vector<int> JpegCropper::DecodeGroup(const db::InputBatch& batch, const Group& group) {
  const int channels = ChannelsOf(batch);
  const auto* files = batch.files.data<uint8_t>();
  std::vector<int> items;
  std::vector<cuda::JpegDecoder::Job> jobs;
  size_t begin = 0;
  for (int i = group.begin; i < group.end; ++i) {
    const db::JpegCrop& crop = CropsOnHost(batch)[i];
    if (crop.bytes == 0) continue;
    items.push_back(i);
    jobs.push_back({.file = {reinterpret_cast<const char*>(files) + crop.begin,
                             static_cast<size_t>(crop.bytes)},
                    .pixels = memory_.data() + begin,
                    .row_bytes = size_t{1} * crop.width * channels});
    begin = NextBegin(begin, crop, channels);
  }
  const char* problem = decoder_.Decode(jobs, channels, stream_);
  if (problem == nullptr) return {};
  std::vector<int> refused;
  for (size_t k = 0; k < jobs.size(); ++k) {
    if (decoder_.Decode({jobs[k]}, channels, stream_) != nullptr) refused.push_back(items[k]);
  }
  LOG(WARNING) << "nvJPEG refuses " << refused.size() << " of " << jobs.size()
               << " images of a batch (" << problem << "); the host decodes them again";
  return refused;
}

std::vector<int> JpegCropper::Run(const db::InputBatch& batch, const std::vector<Group>& groups,
                                  const db::JpegCrop* crops, uint8_t* pixels) {
  const int channels = ChannelsOf(batch), side = static_cast<int>(batch.outputs[0].size(1));
  const int64_t crop_bytes = int64_t{side} * side * channels;
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<int> refused;
  for (const Group& group : groups) {
    if (group.bytes == 0) continue;
    memory_.Reserve(group.bytes);
    const std::vector<int> more = DecodeGroup(batch, group);
    refused.insert(refused.end(), more.begin(), more.end());
    LaunchCropJpegs(side, channels, group.end - group.begin, memory_.data(), crops + group.begin,
                    pixels + group.begin * crop_bytes, stream_);
  }
  return refused;
}

}  // namespace caffe2
