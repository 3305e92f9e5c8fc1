#include "db/image_codec.h"

#include <dlfcn.h>

#include <opencv2/imgproc.hpp>

#include "caffe2/core/logging.h"
#include "db/image_file_codec.h"
#include "db/image_mat.h"

namespace caffe2::db {
namespace {

uint8_t ByteAt(std::string_view bytes, size_t i) { return static_cast<uint8_t>(bytes[i]); }

// The marker behind the entropy-coded data that begins at `at`; npos if the data end first.
size_t EndOfScan(std::string_view bytes, size_t at) {
  for (; at + 1 < bytes.size(); ++at) {
    if (ByteAt(bytes, at) != 0xff) continue;
    const uint8_t next = ByteAt(bytes, at + 1);
    const bool within = next == 0x00 || next == 0xff || (next >= 0xd0 && next <= 0xd7);
    if (!within) return at;
  }
  return std::string_view::npos;
}

// Kept for the life of the process.
const ImageFileCodec* LoadFileCodec() {
  void* library = dlopen(kImageFileCodecLibrary, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library != nullptr ? dlsym(library, "caffe2_image_file_codec") : nullptr;
  if (symbol == nullptr) {
    const char* error = dlerror();
    throw IoError(MakeString("image files cannot be decoded here: ", error ? error : ""));
  }
  return static_cast<const ImageFileCodec*>(symbol);
}

const ImageFileCodec& FileCodec() {
  static const ImageFileCodec* codec = LoadFileCodec();
  return *codec;
}

}  // namespace

// Segments are walked by their lengths: a thumbnail inside one has an end marker of its own.
bool HasJpegEnd(std::string_view bytes) {
  constexpr uint8_t kStart = 0xd8, kEnd = 0xd9, kScan = 0xda, kTemporary = 0x01;
  if (bytes.size() < 3 || ByteAt(bytes, 0) != 0xff || ByteAt(bytes, 1) != kStart ||
      ByteAt(bytes, 2) != 0xff) {
    return true;
  }
  size_t at = 2;
  while (at + 1 < bytes.size()) {
    if (ByteAt(bytes, at) != 0xff) {  // junk between segments
      ++at;
      continue;
    }
    const uint8_t marker = ByteAt(bytes, at + 1);
    if (marker == kEnd) return true;
    if (marker == 0xff) {  // fill byte
      ++at;
      continue;
    }
    at += 2;
    const bool alone = marker <= kTemporary || (marker >= 0xd0 && marker <= kStart);
    if (alone) continue;
    if (at + 1 >= bytes.size()) return false;
    at += static_cast<size_t>(ByteAt(bytes, at)) << 8 | ByteAt(bytes, at + 1);
    if (marker == kScan) {
      at = EndOfScan(bytes, at);
      if (at == std::string_view::npos) return false;
    }
  }
  return false;
}

Image<uint8_t> DecodeImage(std::string_view bytes, bool color) {
  CAFFE_ENFORCE(!bytes.empty(), "the encoded image is empty");
  CAFFE_ENFORCE(HasJpegEnd(bytes), "the JPEG image of ", bytes.size(),
                " bytes is truncated: it has no end marker");
  return FileCodec().decode(bytes, color);
}

template <typename Pixel>
Image<Pixel> ResizeImage(const ImageView<Pixel>& source, int height, int width) {
  CAFFE_ENFORCE(height > 0 && width > 0, "cannot resize an image to ", height, "x", width);
  cv::Mat resized;
  try {
    cv::resize(ToMat(source), resized, cv::Size(width, height), 0, 0, cv::INTER_AREA);
  } catch (const cv::Exception& error) {
    CAFFE_THROW("cannot resize an image of ", source.height, "x", source.width, " to ", height, "x",
                width, ": ", error.err);
  }
  return FromMat<Pixel>(std::move(resized));
}

template <typename Pixel>
Image<Pixel> ToGray(const ImageView<Pixel>& source) {
  CAFFE_ENFORCE_EQ(source.channels, 3, "channels of an image to turn gray");
  cv::Mat gray;
  cv::cvtColor(ToMat(source), gray, cv::COLOR_BGR2GRAY);
  return FromMat<Pixel>(std::move(gray));
}

template Image<uint8_t> ResizeImage(const ImageView<uint8_t>&, int, int);
template Image<float> ResizeImage(const ImageView<float>&, int, int);
template Image<uint8_t> ToGray(const ImageView<uint8_t>&);
template Image<float> ToGray(const ImageView<float>&);

std::string EncodeImage(const ImageView<uint8_t>& source, const std::string& extension) {
  return FileCodec().encode(source, extension);
}

}  // namespace caffe2::db
