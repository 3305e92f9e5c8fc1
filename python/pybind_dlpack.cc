// Tensors to and from other libraries without a copy, by the protocol DLPack
// (https://dmlc.github.io/dlpack): capsules of the old layout, and of the versioned one to
// consumers that know it.
#include <memory>
#include <optional>

#include "python/pybind_tensor.h"

namespace caffe2::python {
namespace {

// The layouts are DLPack's binary interface.
struct DlpackDevice {
  int32_t type;
  int32_t id;
};
struct DlpackType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DlpackTensor {
  void* data;
  DlpackDevice device;
  int32_t ndim;
  DlpackType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major
  uint64_t byte_offset;
};
struct DlpackManaged {
  static constexpr char kName[] = "dltensor";
  static constexpr char kUsedName[] = "used_dltensor";
  DlpackTensor tensor;
  void* context;
  void (*deleter)(DlpackManaged*);
};
struct DlpackManagedVersioned {
  static constexpr char kName[] = "dltensor_versioned";
  static constexpr char kUsedName[] = "used_dltensor_versioned";
  uint32_t major, minor;
  void* context;
  void (*deleter)(DlpackManagedVersioned*);
  uint64_t flags;
  DlpackTensor tensor;
};
constexpr int32_t kDlpackCpu = 1;
constexpr uint32_t kDlpackMajor = 1;
constexpr uint64_t kReadOnly = 1;
constexpr uint64_t kIsCopied = 2;

struct TypePair {
  TensorProto::DataType type;
  uint8_t code, bits;
};
constexpr TypePair kDlpackTypes[] = {
    {TensorProto::INT8, 0, 8},      {TensorProto::INT16, 0, 16}, {TensorProto::INT32, 0, 32},
    {TensorProto::INT64, 0, 64},    {TensorProto::UINT8, 1, 8},  {TensorProto::UINT16, 1, 16},
    {TensorProto::FLOAT16, 2, 16},  {TensorProto::FLOAT, 2, 32}, {TensorProto::DOUBLE, 2, 64},
    {TensorProto::BFLOAT16, 4, 16}, {TensorProto::BOOL, 6, 8},
};

DlpackType TypeOf(const Tensor& tensor) {
  const TensorProto::DataType type = TypeMetaToDataType(tensor.dtype());
  for (const TypePair& pair : kDlpackTypes) {
    if (pair.type == type) return {pair.code, pair.bits, 1};
  }
  throw py::buffer_error("DLPack has no elements of type " + tensor.dtype().name());
}

TypeMeta MetaOf(const DlpackType& type) {
  for (const TypePair& pair : kDlpackTypes) {
    if (pair.code == type.code && pair.bits == type.bits && type.lanes == 1) {
      return DataTypeToTypeMeta(pair.type);
    }
  }
  throw py::buffer_error("tensors have no elements of DLPack's type code " +
                         std::to_string(type.code) + " with " + std::to_string(type.bits) +
                         " bits and " + std::to_string(type.lanes) + " lanes");
}

void CheckExportable(const Tensor& tensor) {
  if (tensor.GetDeviceType() != CPU) {
    throw py::buffer_error("only tensors on the CPU are shared, not " + tensor.DebugString());
  }
  if (!tensor.has_data()) throw py::buffer_error("the tensor has no elements yet");
}

// What a capsule points to: the storage lives as long as it does.
template <typename Managed>
struct Shared {
  Managed managed{};
  Tensor owner;
  std::vector<int64_t> shape, strides;
};

template <typename Managed>
py::capsule MakeCapsule(const Tensor& tensor, bool copy) {
  auto shared = std::make_unique<Shared<Managed>>();
  if (copy) {
    shared->owner.CopyFrom(tensor);
  } else {
    shared->owner.ShareData(tensor);
  }
  shared->shape = tensor.sizes();
  shared->strides.resize(shared->shape.size());
  int64_t stride = 1;
  for (size_t i = shared->strides.size(); i-- > 0; stride *= shared->shape[i]) {
    shared->strides[i] = stride;
  }
  Managed& managed = shared->managed;
  managed.tensor = {const_cast<void*>(shared->owner.raw_data()),
                    {kDlpackCpu, 0},
                    tensor.dim(),
                    TypeOf(tensor),
                    shared->shape.data(),
                    shared->strides.data(),
                    0};
  if constexpr (std::is_same_v<Managed, DlpackManagedVersioned>) {
    managed.major = kDlpackMajor;
    managed.flags = copy ? kIsCopied : 0;
  }
  managed.context = shared.get();
  managed.deleter = [](Managed* self) { delete static_cast<Shared<Managed>*>(self->context); };
  // A consumer renames the capsule and calls the deleter itself.
  auto release = [](PyObject* capsule) {
    if (!PyCapsule_IsValid(capsule, Managed::kName)) return;
    auto* unused = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::kName));
    unused->deleter(unused);
  };
  PyObject* capsule = PyCapsule_New(&managed, Managed::kName, release);
  if (capsule == nullptr) throw py::error_already_set();
  shared.release();
  return py::reinterpret_steal<py::capsule>(capsule);
}

// The protocol's __dlpack__.
py::capsule ExportTensor(const Tensor& self, const py::object& stream,
                         const std::optional<std::pair<int, int>>& max_version,
                         const std::optional<std::pair<int, int>>& device,
                         const std::optional<bool>& copy) {
  CheckExportable(self);
  if (!stream.is_none()) throw py::buffer_error("tensors on the CPU have no stream");
  if (device && *device != std::pair<int, int>(kDlpackCpu, 0)) {
    throw py::buffer_error("a tensor on the CPU cannot be shared with device (" +
                           std::to_string(device->first) + ", " + std::to_string(device->second) +
                           ")");
  }
  if (max_version && max_version->first >= static_cast<int>(kDlpackMajor)) {
    return MakeCapsule<DlpackManagedVersioned>(self, copy.value_or(false));
  }
  return MakeCapsule<DlpackManaged>(self, copy.value_or(false));
}

void CheckImportable(const DlpackTensor& source) {
  if (source.device.type != kDlpackCpu) {
    throw py::buffer_error("only memory of the CPU can be shared, not of DLPack's device type " +
                           std::to_string(source.device.type));
  }
  int64_t expected = 1;
  for (int i = source.ndim; i-- > 0; expected *= source.shape[i]) {
    if (source.strides != nullptr && source.shape[i] > 1 && source.strides[i] != expected) {
      throw py::buffer_error("only row-major arrays can be shared: copy it first");
    }
  }
}

template <typename Managed>
void TakeOver(const py::capsule& capsule, Tensor* tensor) {
  auto* managed = capsule.get_pointer<Managed>();
  const DlpackTensor& source = managed->tensor;
  if constexpr (std::is_same_v<Managed, DlpackManagedVersioned>) {
    if (managed->major != kDlpackMajor) {
      throw py::buffer_error("DLPack " + std::to_string(managed->major) + " is not known here");
    }
    if (managed->flags & kReadOnly) {
      throw py::buffer_error("read-only memory cannot become a tensor: copy it first");
    }
  }
  CheckImportable(source);
  Tensor result(CPU);
  result.Resize(std::vector<int64_t>(source.shape, source.shape + source.ndim));
  const TypeMeta meta = MetaOf(source.dtype);
  void* data = static_cast<char*>(source.data) + source.byte_offset;
  // From here on the deleter is ours to call.
  if (PyCapsule_SetName(capsule.ptr(), Managed::kUsedName) != 0) throw py::error_already_set();
  std::shared_ptr<void> storage(data, [managed](void*) {
    if (managed->deleter != nullptr) managed->deleter(managed);
  });
  result.ShareExternalPointer(std::move(storage), meta, result.numel() * meta.itemsize());
  *tensor = std::move(result);
}

// From an array of any library that speaks DLPack, or from a capsule.
void ImportTensor(Tensor& self, const py::object& source) {
  py::object object = source;
  if (py::hasattr(source, "__dlpack__")) {
    try {
      object = source.attr("__dlpack__")(py::arg("max_version") = std::pair<int, int>(1, 0));
    } catch (py::error_already_set& error) {
      if (!error.matches(PyExc_TypeError)) throw;
      object = source.attr("__dlpack__")();  // it knows the old layout alone
    }
  }
  EnforceMayChange(self);
  if (PyCapsule_IsValid(object.ptr(), DlpackManagedVersioned::kName)) {
    TakeOver<DlpackManagedVersioned>(py::reinterpret_borrow<py::capsule>(object), &self);
  } else if (PyCapsule_IsValid(object.ptr(), DlpackManaged::kName)) {
    TakeOver<DlpackManaged>(py::reinterpret_borrow<py::capsule>(object), &self);
  } else {
    throw py::type_error(
        "a tensor comes from an object with __dlpack__ or an unused DLPack "
        "capsule, not from " +
        py::repr(source).cast<std::string>());
  }
}

}  // namespace

void AddDlpack(TensorClass& tensor) {
  tensor
      .def("__dlpack__", &ExportTensor, py::kw_only(), py::arg("stream") = py::none(),
           py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(),
           py::arg("copy") = py::none(),
           "A DLPack capsule over the tensor's own memory, which lives as long as it is used: "
           "numpy.from_dlpack(tensor), torch.from_dlpack(tensor). BufferError for strings, other "
           "devices than the CPU and tensors without elements.")
      .def(
          "to_dlpack",
          [](const Tensor& self) { return ExportTensor(self, py::none(), {}, {}, {}); },
          "The capsule of __dlpack__, in the layout that all versions of DLPack know.")
      .def("__dlpack_device__",
           [](const Tensor& self) {
             CheckExportable(self);
             return std::pair<int, int>(kDlpackCpu, 0);
           })
      .def("from_dlpack", &ImportTensor, py::arg("source"),
           "Shares the memory of an array of another library (an object with __dlpack__, or a "
           "capsule): a write to one changes the other. BufferError unless the array is on the "
           "CPU, row-major and writable, with an element type that tensors have.");
}

}  // namespace caffe2::python
