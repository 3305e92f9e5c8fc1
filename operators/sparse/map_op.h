// Maps between integers, as blobs.
#pragma once

#include <unordered_map>

#include "caffe2/core/type_meta.h"

namespace caffe2 {

template <typename Key, typename Value>
using IntegerMap = std::unordered_map<Key, Value>;

// The names of these types in files; they are Caffe2's.
using MapInt32ToInt32 = IntegerMap<int32_t, int32_t>;
using MapInt32ToInt64 = IntegerMap<int32_t, int64_t>;
using MapInt64ToInt32 = IntegerMap<int64_t, int32_t>;
using MapInt64ToInt64 = IntegerMap<int64_t, int64_t>;
CAFFE2_TYPE_NAME(MapInt32ToInt32, "(std::unordered_map<int32_t, int32_t>)");
CAFFE2_TYPE_NAME(MapInt32ToInt64, "(std::unordered_map<int32_t, int64_t>)");
CAFFE2_TYPE_NAME(MapInt64ToInt32, "(std::unordered_map<int64_t, int32_t>)");
CAFFE2_TYPE_NAME(MapInt64ToInt64, "(std::unordered_map<int64_t, int64_t>)");

}  // namespace caffe2
