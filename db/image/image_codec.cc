#include "db/image/image_codec.h"

#include <dlfcn.h>

#include <opencv2/imgproc.hpp>

#include "caffe2/core/logging.h"
#include "db/image/image_file_codec.h"
#include "db/image/jpeg.h"
#include "db/image/opencv_mat.h"

namespace caffe2::db {
namespace {

// The library stays loaded for the life of the process.
const ImageFileCodec* LoadFileCodec() {
  void* library = dlopen(kImageFileCodecLibrary, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library != nullptr ? dlsym(library, "caffe2_image_file_codec") : nullptr;
  if (symbol == nullptr) {
    const char* error = dlerror();
    throw IoError(MakeString("cannot decode or encode image files: cannot load ",
                             kImageFileCodecLibrary, ": ", error ? error : ""));
  }
  return static_cast<const ImageFileCodec*>(symbol);
}

const ImageFileCodec& FileCodec() {
  static const ImageFileCodec* codec = LoadFileCodec();
  return *codec;
}

}  // namespace

Image<uint8_t> DecodeImage(std::string_view bytes, bool color) {
  CAFFE_ENFORCE(!bytes.empty(), "the encoded image is empty");
  return IsJpeg(bytes) ? DecodeJpeg(bytes, color) : FileCodec().decode(bytes, color);
}

std::unique_ptr<ImageSource<uint8_t>> OpenImage(std::string_view bytes, bool color) {
  if (IsJpeg(bytes)) return OpenJpeg(bytes, color);
  return std::make_unique<DecodedImage>(DecodeImage(bytes, color));
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
  CAFFE_ENFORCE_EQ(source.channels, 3, "only an image of 3 channels can be converted to gray");
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
