// Pictures and names of classes, from databases, for pages.
#pragma once

#include <string>
#include <vector>

#include "db/image/image_view.h"

namespace caffe2 {

// A PNG whose longer side is at most 96 pixels; empty for images that are neither gray nor colour.
std::string Thumbnail(const db::ImageView<uint8_t>& view);

// "3 (ship)", or "3" without a name.
std::string LabelText(const std::vector<std::string>& class_names, int64_t label);

}  // namespace caffe2
