#include "examples/doppio/pictures.h"

#include <algorithm>

#include "caffe2/core/logging.h"
#include "db/image/image_codec.h"

namespace caffe2 {

std::string Thumbnail(const db::ImageView<uint8_t>& view) {
  constexpr int kSide = 96;
  if (view.channels != 1 && view.channels != 3) return "";
  const int longer = std::max(view.height, view.width);
  if (longer <= kSide) return db::EncodeImage(view, ".png");
  const auto side = [&](int old) {
    return std::max(1, static_cast<int>(int64_t{old} * kSide / longer));
  };
  return db::EncodeImage(db::ResizeImage(view, side(view.height), side(view.width)).view, ".png");
}

std::string LabelText(const std::vector<std::string>& class_names, int64_t label) {
  if (label < 0 || label >= static_cast<int64_t>(class_names.size())) return std::to_string(label);
  return MakeString(label, " (", class_names[static_cast<size_t>(label)], ")");
}

}  // namespace caffe2
