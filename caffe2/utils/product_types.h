// The element types of matrix products, which devices differ in.
#pragma once

#include "caffe2/core/half.h"

namespace caffe2::math {

// List<float, bfloat16> on the host; other devices specialise it.
template <class Context, template <typename...> class List>
struct ProductTypesOf {
  using type = List<float, bfloat16>;
};
template <class Context, template <typename...> class List>
using ProductTypes = typename ProductTypesOf<Context, List>::type;

}  // namespace caffe2::math
