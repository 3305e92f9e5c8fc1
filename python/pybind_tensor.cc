#include "python/pybind_tensor.h"

#include <cstring>

#include "caffe2/utils/parallel.h"
#include "python/pybind_active_runs.h"

namespace caffe2::python {
namespace {

constexpr size_t kReleaseGilBytes = 1 << 16;  // smaller copies are done before another thread runs
// What a thread copies at least: one alone neither fills the memory's bandwidth nor takes the page
// faults of new memory fast enough.
constexpr int64_t kCopyGrain = 4 << 20;

struct NumpyType {
  TensorProto::DataType type;
  char kind;
  int itemsize;
};
constexpr NumpyType kNumpyTypes[] = {
    {TensorProto::FLOAT, 'f', 4}, {TensorProto::DOUBLE, 'f', 8}, {TensorProto::FLOAT16, 'f', 2},
    {TensorProto::INT8, 'i', 1},  {TensorProto::INT16, 'i', 2},  {TensorProto::INT32, 'i', 4},
    {TensorProto::INT64, 'i', 8}, {TensorProto::UINT8, 'u', 1},  {TensorProto::UINT16, 'u', 2},
    {TensorProto::BOOL, 'b', 1},
};

py::dtype BFloat16Dtype() {
  py::list fields;
  fields.append(py::make_tuple("bfloat16", "<u2"));
  return py::dtype::from_args(fields);
}

bool IsBFloat16(const py::dtype& dtype) {
  if (dtype.kind() != 'V' || dtype.itemsize() != 2) return false;
  const py::object names = dtype.attr("names");
  if (names.is_none()) return dtype.attr("name").cast<std::string>() == "bfloat16";
  const auto fields = names.cast<py::tuple>();
  return fields.size() == 1 && fields[0].cast<std::string>() == "bfloat16";
}

TypeMeta TypeMetaOf(const py::dtype& dtype) {
  for (const NumpyType& entry : kNumpyTypes) {
    if (entry.kind == dtype.kind() && entry.itemsize == dtype.itemsize()) {
      return DataTypeToTypeMeta(entry.type);
    }
  }
  if (IsBFloat16(dtype)) return TypeMeta::Make<bfloat16>();
  throw py::type_error("numpy arrays of " + py::str(dtype).cast<std::string>() +
                       " cannot become tensors; convert them with astype first");
}

py::dtype DtypeOf(TypeMeta meta) {
  const TensorProto::DataType type = TypeMetaToDataType(meta);
  for (const NumpyType& entry : kNumpyTypes) {
    if (entry.type == type) {
      return py::dtype(std::string(1, entry.kind) + std::to_string(entry.itemsize));
    }
  }
  CAFFE_ENFORCE(meta.Match<bfloat16>(), "tensors of ", meta.name(), " have no numpy counterpart");
  return BFloat16Dtype();
}

std::vector<int64_t> ShapeOf(const py::array& array) {
  return {array.shape(), array.shape() + array.ndim()};
}

py::tuple ShapeTuple(const Tensor& tensor) { return py::tuple(py::cast(tensor.sizes())); }

// From a normalized array.
void StringsFromNumpy(const py::array& objects, Tensor* tensor) {
  auto* const* items = static_cast<PyObject* const*>(objects.data());
  Tensor strings(ShapeOf(objects), CPU);
  std::string* data = strings.mutable_data<std::string>();
  for (int64_t i = 0; i < strings.numel(); ++i) {
    const py::handle item(items[i]);
    if (!py::isinstance<py::str>(item) && !py::isinstance<py::bytes>(item)) {
      throw py::type_error("element " + std::to_string(i) +
                           " of an object array must be str or bytes, not " +
                           py::str(py::type::handle_of(item).attr("__name__")).cast<std::string>());
    }
    data[i] = item.cast<std::string>();
  }
  tensor->CopyFrom(strings);
}

// The storage of a tensor, which lives on when another thread resizes the tensor meanwhile.
Tensor HeldStorage(const Tensor& tensor) {
  Tensor held;
  held.ShareData(tensor);
  return held;
}

py::array StringsToNumpy(const Tensor& tensor) {
  const Tensor held = HeldStorage(tensor);  // the collection of garbage may run other threads
  py::array result(py::dtype("O"), held.sizes());
  auto** items = static_cast<PyObject**>(result.mutable_data());
  const std::string* data = held.data<std::string>();
  for (int64_t i = 0; i < held.numel(); ++i) {
    Py_XDECREF(items[i]);  // numpy fills new object arrays with None
    items[i] = py::bytes(data[i]).release().ptr();
  }
  return result;
}

void CopyBytes(const void* source, const Device& from, void* destination, const Device& to,
               size_t nbytes) {
  if (nbytes == 0) return;
  if (nbytes < kReleaseGilBytes) {
    CopyBytesSync(nbytes, source, from, destination, to);
    return;
  }
  py::gil_scoped_release release;
  if (from.type != CPU || to.type != CPU) {
    CopyBytesSync(nbytes, source, from, destination, to);
    return;
  }
  ParallelFor(static_cast<int64_t>(nbytes), kCopyGrain, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(destination) + begin, static_cast<const char*>(source) + begin,
                static_cast<size_t>(end - begin));
  });
}

}  // namespace

py::array Normalized(const py::array& array) {
  py::object native = array;
  if (array.dtype().kind() == 'S' || array.dtype().kind() == 'U') {
    native = array.attr("astype")("O");
  } else if (!array.dtype().attr("isnative").cast<bool>()) {
    native = array.attr("astype")(array.dtype().attr("newbyteorder")("="));
  }
  return py::array::ensure(native, py::array::c_style);
}

void TensorFromNumpy(const py::array& array, Tensor* tensor) {
  const py::array source = Normalized(array);
  if (source.dtype().kind() == 'O') return StringsFromNumpy(source, tensor);
  const TypeMeta meta = TypeMetaOf(source.dtype());
  tensor->Resize(ShapeOf(source));
  void* destination = tensor->raw_mutable_data(meta);
  const Tensor held = HeldStorage(*tensor);
  CopyBytes(source.data(), Device{}, destination, held.device(), held.nbytes());
}

bool HasShapeAndType(const py::array& array, const Tensor& tensor) {
  const char kind = array.dtype().kind();
  return kind != 'O' && kind != 'S' && kind != 'U' && ShapeOf(array) == tensor.sizes() &&
         TypeMetaOf(array.dtype()) == tensor.dtype();
}

py::array TensorToNumpy(const Tensor& tensor) {
  CAFFE_ENFORCE(tensor.has_data(), "the tensor has a shape, ", ShapeString(tensor.sizes()),
                ", but no elements yet");
  if (tensor.IsType<std::string>()) return StringsToNumpy(tensor);
  py::array result(DtypeOf(tensor.dtype()), tensor.sizes());
  const Tensor held = HeldStorage(tensor);
  CopyBytes(held.raw_data(), held.device(), result.mutable_data(), Device{}, held.nbytes());
  return result;
}

void EnforceMayChange(const Tensor& tensor) {
  EnforceTensorIsIdle(tensor, "cannot give a tensor another shape, type or memory");
}

py::array TensorView(const Tensor& tensor) {
  CAFFE_ENFORCE(tensor.GetDeviceType() == CPU, "only tensors on the CPU can be viewed, not ",
                tensor.DebugString());
  CAFFE_ENFORCE(tensor.has_data(), "the tensor has no elements yet");
  CAFFE_ENFORCE(!tensor.IsType<std::string>(), "tensors of strings cannot be viewed: fetch them");
  auto owner = std::make_unique<Tensor>();
  owner->ShareData(tensor);
  const void* data = owner->raw_data();
  const py::capsule base(owner.release(), [](void* p) { delete static_cast<Tensor*>(p); });
  return py::array(DtypeOf(tensor.dtype()), tensor.sizes(), data, base);
}

namespace {
void ResizeIdle(Tensor& tensor, const std::vector<int64_t>& dims) {
  if (tensor.sizes() != dims) EnforceMayChange(tensor);
  tensor.Resize(dims);
}
}  // namespace

void AddTensors(py::module_& m) {
  TensorClass tensor(m, "TensorCPU", "A tensor in host memory, as Python operators see it.");
  AddDlpack(tensor);
  tensor.def(py::init<>())
      .def_property_readonly(
          "data",
          [](Tensor& self) {
            if (!self.has_data()) {
              EnforceMayChange(self);
              self.raw_mutable_data(TypeMeta::Make<float>());
            }
            return TensorView(self);
          },
          "A numpy array over the tensor's own memory: writing to it changes the tensor. A tensor "
          "without elements becomes one of floats.")
      .def(
          "feed",
          [](Tensor& self, const py::array& array) {
            const py::array ready = Normalized(array);
            if (!self.has_data() || !HasShapeAndType(ready, self)) EnforceMayChange(self);
            TensorFromNumpy(ready, &self);
          },
          py::arg("array"), "Copies a numpy array into the tensor.")
      .def("fetch", &TensorToNumpy, "A copy as a numpy array.")
      .def_property_readonly("_shape", &ShapeTuple)
      .def_property_readonly("shape", &ShapeTuple)
      .def("reshape", &ResizeIdle, py::arg("dims"),
           "Sets the shape; the content is undefined if the size changes.")
      .def("_reshape", &ResizeIdle)
      .def(
          "init",
          [](Tensor& self, const std::vector<int64_t>& dims, int type) {
            const TypeMeta meta = DataTypeToTypeMeta(static_cast<TensorProto::DataType>(type));
            CAFFE_ENFORCE(meta, "there is no tensor element type ", type);
            if (!self.has_data() || self.sizes() != dims || self.dtype() != meta) {
              EnforceMayChange(self);
            }
            self.Resize(dims);
            self.raw_mutable_data(meta);
          },
          py::arg("dims"), py::arg("type"),
          "Allocates elements of a TensorProto.DataType; their content is undefined.")
      .def("__repr__", [](const Tensor& self) { return "<TensorCPU " + self.DebugString() + ">"; });
}

}  // namespace caffe2::python
