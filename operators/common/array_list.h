// Lists of arrays that one kernel handles.
#pragma once

#include <cstdint>

namespace caffe2 {

// The arrays of one launch: as many as fit into a kernel's parameters.
template <typename T>
struct ArrayList {
  static constexpr int kMaxArrays = 64;
  int count = 0;
  int64_t size[kMaxArrays];
  T* data[kMaxArrays];
};

// Calls launch(list) for lists that together hold all `arrays`, in order. An array has the members
// `size`, in elements, and `data`, of any pointer type.
template <typename T, class Arrays, class Launch>
void ForEachList(const Arrays& arrays, const Launch& launch) {
  ArrayList<T> list;
  for (const auto& array : arrays) {
    list.size[list.count] = array.size;
    list.data[list.count++] = static_cast<T*>(array.data);
    if (list.count < ArrayList<T>::kMaxArrays) continue;
    launch(list);
    list.count = 0;
  }
  if (list.count > 0) launch(list);
}

}  // namespace caffe2
