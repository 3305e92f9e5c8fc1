// Tensors as numpy arrays.
//
// Element types map one to one (float16, bool, int8 ... int64, uint8, uint16, float32, float64).
// Strings are arrays of bytes objects; str is encoded as UTF-8. bfloat16, which numpy lacks, is
// the structured type [("bfloat16", "<u2")], which holds its bits; the bfloat16 of the ml_dtypes
// package is accepted too.
//
// The caller holds the GIL.
#pragma once

#include <pybind11/numpy.h>

#include "caffe2/core/tensor.h"
#include "python/pybind_state.h"

namespace caffe2::python {

// Python shares tensors with the blobs that hold them.
using TensorClass = py::class_<Tensor, std::shared_ptr<Tensor>>;

// The array in native byte order and row-major layout, with strings as objects; itself if it is so.
// Other threads may run meanwhile.
py::array Normalized(const py::array& array);
// Copies the array, of any layout and byte order, to the tensor on its device. Raises TypeError
// for an element type that tensors do not have. Other threads may run while it is normalized, and
// while the elements are copied; the tensor is not used any more then, only its memory.
void TensorFromNumpy(const py::array& array, Tensor* tensor);
// True if tensor->sizes() and the element type are the array's.
bool HasShapeAndType(const py::array& array, const Tensor& tensor);
// Copies the tensor to an array. Throws EnforceNotMet if the tensor has no elements yet.
py::array TensorToNumpy(const Tensor& tensor);
// An array over the tensor's own storage, which it keeps alive. Writing to it writes to the
// tensor. Throws EnforceNotMet if the tensor is on a device, holds strings, or has no elements yet.
py::array TensorView(const Tensor& tensor);

// Throws EnforceNotMet if another thread runs what uses the tensor. To be called before its shape,
// type or memory changes.
void EnforceMayChange(const Tensor& tensor);

// The methods that share tensors with other libraries.
void AddDlpack(TensorClass& tensor);

}  // namespace caffe2::python
