// JPEG, PNG and other image files, decoded whole and in part.
#include "db/image/image_codec.h"
#include "db/image/image_limits.h"
#include "db/image/jpeg.h"
#include "tests/fuzz/fuzz_target.h"

namespace caffe2::testing {
namespace {

// The first use counts (image_limits.h).
void LimitImages() {
  static const bool once = [] {
    db::SetImageLimits({int64_t{1} << 20, int64_t{16} << 20, 16});
    return true;
  }();
  (void)once;
}

}  // namespace

FUZZ_TARGET(Image, "image", 500) {
  LimitImages();
  const auto source = db::OpenImage(bytes, /*color=*/true);
  const int height = (source->height() + 1) / 2, width = (source->width() + 1) / 2;
  source->Read({source->height() - height, source->width() - width, height, width}, 1);
  if (source->CanReduce()) source->Read({0, 0, (height + 1) / 2, (width + 1) / 2}, 4);
  const auto grey = db::DecodeImage(bytes, /*color=*/false);
  CHECK_EQ(grey.view.height, source->height());
  CHECK_EQ(grey.view.width, source->width());
  if (!db::IsJpeg(bytes)) return;
  const db::JpegHeader header = db::ReadJpegHeader(bytes);
  CHECK_EQ(header.orientation > 4 ? header.width : header.height, source->height());
}

}  // namespace caffe2::testing
