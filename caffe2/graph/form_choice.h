// Passes may ask which of two forms of a part of a net is the better one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Two forms of a part of `net`, in which it is still plain; both compute the same blobs.
struct FormSite {
  const NetDef* net = nullptr;
  NetDef plain, changed;
  // Blobs of the part that the rest of the net reads and whose gradient comes from there. Empty if
  // the part is of a backward pass itself.
  std::vector<std::string> results;
};

// True for the changed form, nothing if it is not known.
using ChooseForm = std::function<std::optional<bool>(const FormSite& site)>;

}  // namespace caffe2
