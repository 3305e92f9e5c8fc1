// Blobs: feed and fetch.
#include "caffe2/core/tensor_int8.h"
#include "python/pybind_active_runs.h"
#include "python/pybind_state.h"
#include "python/pybind_tensor.h"

namespace caffe2::python {
namespace {

Device DeviceFromBytes(const std::string& option) {
  return option.empty() ? Device{} : ToDevice(ParseProto<DeviceOption>(option));
}

// Caffe2's form of a quantized tensor: (array, scale, zero point).
void FeedInt8(const py::tuple& value, int8::Int8TensorCPU* tensor) {
  if (value.size() != 3 || !py::isinstance<py::array>(value[0])) {
    throw py::type_error("a quantized tensor is a tuple of an array, its scale and zero point");
  }
  const auto array = value[0].cast<py::array>();
  if (!py::isinstance<py::array_t<uint8_t>>(array) &&
      !py::isinstance<py::array_t<int32_t>>(array)) {
    throw py::type_error("a quantized tensor holds uint8 or int32, not " +
                         py::str(array.dtype()).cast<std::string>());
  }
  tensor->scale = value[1].cast<float>();
  tensor->zero_point = value[2].cast<int32_t>();
  TensorFromNumpy(array, &tensor->t);
}

// True if the blob holds a tensor of the array's shape and element type, whose memory is then kept.
bool KeepsMemory(const Blob& blob, const py::handle& value, const Device& device) {
  const Tensor* tensor = BlobTensor(blob);
  return tensor != nullptr && tensor->has_data() && tensor->device() == device &&
         !tensor->IsType<std::string>() && py::isinstance<py::array>(value) &&
         HasShapeAndType(py::reinterpret_borrow<py::array>(value), *tensor);
}

// FeedBlob. Throws EnforceNotMet if another thread runs a net that uses the memory that the blob
// would lose.
void FeedIdleBlob(Blob* blob, const std::string& name, const py::handle& value,
                  const Device& device) {
  if (!KeepsMemory(*blob, value, device)) {
    EnforceBlobIsIdle(blob, "cannot give blob " + name + " another shape, type or device");
  }
  FeedBlob(blob, value, device);
}

}  // namespace

void FeedBlob(Blob* blob, const py::handle& value, const Device& device) {
  if (py::isinstance<py::array>(value)) {
    TensorFromNumpy(py::reinterpret_borrow<py::array>(value), BlobGetMutableTensor(blob, device));
  } else if (py::isinstance<py::tuple>(value)) {
    int8::Int8TensorCPU tensor;
    FeedInt8(py::reinterpret_borrow<py::tuple>(value), &tensor);
    *blob->GetMutable<int8::Int8TensorCPU>() = std::move(tensor);
  } else if (py::isinstance<py::str>(value) || py::isinstance<py::bytes>(value)) {
    *blob->GetMutable<std::string>() = value.cast<std::string>();
  } else {
    throw py::type_error(
        "a blob takes a numpy array, numbers and lists of them, str, bytes or a "
        "TensorProto, not " +
        py::str(py::type::handle_of(value).attr("__name__")).cast<std::string>());
  }
}

py::object FetchBlob(const Blob& blob, const std::string& name) {
  try {
    if (const Tensor* tensor = BlobTensor(blob)) return TensorToNumpy(*tensor);
    if (blob.IsType<int8::Int8TensorCPU>()) {
      const auto& tensor = blob.Get<int8::Int8TensorCPU>();
      return py::make_tuple(TensorToNumpy(tensor.t), tensor.scale, tensor.zero_point);
    }
  } catch (Error& error) {
    error.AddContext("blob " + name);
    throw;
  }
  if (blob.IsType<std::string>()) return py::bytes(blob.Get<std::string>());
  return py::str(name + ", a C++ native class of type " + blob.TypeName() + ".");
}

void AddBlobs(py::module_& m) {
  py::class_<Blob, std::shared_ptr<Blob>>(
      m, "Blob", "A blob of a workspace; empty after it was removed there.")
      .def(
          "fetch", [](const Blob& self) { return FetchBlob(self, "(blob)"); },
          "A copy of the content, as FetchBlob.")
      .def(
          "_feed",
          [](Blob& self, const py::object& value, const std::string& device) {
            FeedIdleBlob(&self, "(blob)", value, DeviceFromBytes(device));
          },
          py::arg("value"), py::arg("device_option") = "",
          "Sets the content. `device_option` is a serialized DeviceOption.")
      .def(
          "tensor",
          [](Blob& self) {
            CAFFE_ENFORCE(self.IsType<Tensor>(), "the blob holds ", self.TypeName(),
                          ", not a tensor");
            return self.GetShared<Tensor>();
          },
          "The tensor in the blob, not a copy.")
      .def("is_tensor", [](const Blob& self) { return self.IsType<Tensor>(); })
      .def("type_name", &Blob::TypeName, "The C++ type of the content.");

  m.def(
      "feed_blob",
      [](const std::string& name, const py::object& value, const std::string& device) {
        const Device target = DeviceFromBytes(device);
        Workspace* ws = CurrentWorkspace();
        const bool is_new = !ws->HasBlob(name);
        try {
          FeedIdleBlob(ws->CreateBlob(name), name, value, target);
        } catch (Error& error) {
          if (is_new) ws->RemoveBlob(name);
          error.AddContext("blob " + name);
          throw;
        } catch (...) {
          if (is_new) ws->RemoveBlob(name);
          throw;
        }
        return true;
      },
      py::arg("name"), py::arg("value"), py::arg("device_option") = "");
  m.def("fetch_blob", [](const std::string& name) {
    const Blob* blob = CurrentWorkspace()->GetBlob(name);
    CAFFE_ENFORCE(blob != nullptr, "Can't find blob: ", name);
    return FetchBlob(*blob, name);
  });
  m.def("create_blob", [](const std::string& name) {
    CurrentWorkspace()->CreateBlob(name);
    return true;
  });
  m.def("has_blob", [](const std::string& name) { return CurrentWorkspace()->HasBlob(name); });
  m.def("blobs", [] { return CurrentWorkspace()->Blobs(); });
  m.def("local_blobs", [] { return CurrentWorkspace()->LocalBlobs(); });
}

}  // namespace caffe2::python
