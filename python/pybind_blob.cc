// Blobs: feed and fetch.
#include <variant>

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

// What a blob is to hold; arrays are normalized.
using Content = std::variant<py::array, int8::Int8TensorCPU, std::string>;

// Other threads may run meanwhile. So this comes before the blob is looked up and checked.
Content ContentFrom(const py::handle& value) {
  if (py::isinstance<py::array>(value)) {
    return Normalized(py::reinterpret_borrow<py::array>(value));
  }
  if (py::isinstance<py::tuple>(value)) {
    int8::Int8TensorCPU tensor;
    FeedInt8(py::reinterpret_borrow<py::tuple>(value), &tensor);
    return tensor;
  }
  if (py::isinstance<py::str>(value) || py::isinstance<py::bytes>(value)) {
    return value.cast<std::string>();
  }
  throw py::type_error(
      "a blob takes a numpy array, numbers and lists of them, str, bytes or a "
      "TensorProto, not " +
      py::str(py::type::handle_of(value).attr("__name__")).cast<std::string>());
}

// True if the blob holds a tensor of the array's shape and element type, whose memory is then kept.
bool KeepsMemory(const Blob& blob, const Content& content, const Device& device) {
  const Tensor* tensor = BlobTensor(blob);
  const auto* array = std::get_if<py::array>(&content);
  return array != nullptr && tensor != nullptr && tensor->has_data() &&
         tensor->device() == device && !tensor->IsType<std::string>() &&
         HasShapeAndType(*array, *tensor);
}

// Throws EnforceNotMet if another thread runs a net that uses the memory that the blob would lose.
void FeedIdleBlob(Blob* blob, const std::string& name, Content content, const Device& device) {
  if (!KeepsMemory(*blob, content, device)) {
    EnforceBlobIsIdle(blob, "cannot give blob " + name + " another shape, type or device");
  }
  if (const auto* array = std::get_if<py::array>(&content)) {
    TensorFromNumpy(*array, BlobGetMutableTensor(blob, device));
  } else if (auto* tensor = std::get_if<int8::Int8TensorCPU>(&content)) {
    *blob->GetMutable<int8::Int8TensorCPU>() = std::move(*tensor);
  } else {
    *blob->GetMutable<std::string>() = std::get<std::string>(std::move(content));
  }
}

void FeedBlob(const std::string& name, const py::object& value, const std::string& device_option) {
  const Device device = DeviceFromBytes(device_option);
  Content content = ContentFrom(value);
  // Another thread may reset the workspace while the elements are copied.
  const auto ws = CurrentWorkspace()->shared_from_this();
  const bool is_new = !ws->HasBlob(name);
  try {
    FeedIdleBlob(ws->CreateBlob(name), name, std::move(content), device);
  } catch (...) {
    if (is_new) ws->RemoveBlob(name);
    throw;
  }
}

}  // namespace

py::object FetchBlob(const Blob& blob, const std::string& name) {
  try {
    if (const Tensor* tensor = BlobTensor(blob)) return TensorToNumpy(*tensor);
    if (blob.IsType<int8::Int8TensorCPU>()) {
      const auto& tensor = blob.Get<int8::Int8TensorCPU>();
      const float scale = tensor.scale;  // before TensorToNumpy lets other threads run
      const int32_t zero_point = tensor.zero_point;
      return py::make_tuple(TensorToNumpy(tensor.t), scale, zero_point);
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
            FeedIdleBlob(&self, "(blob)", ContentFrom(value), DeviceFromBytes(device));
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
        try {
          FeedBlob(name, value, device);
        } catch (Error& error) {
          error.AddContext("blob " + name);
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
