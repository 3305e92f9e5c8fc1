// Blobs as bytes.
#include "caffe2/core/blob_serialization.h"
#include "python/pybind_active_runs.h"
#include "python/pybind_state.h"

namespace caffe2::python {

void AddSerialization(py::module_& m) {
  auto blob = py::class_<Blob>(m.attr("Blob"));
  blob.def(
      "serialize",
      [](const Blob& self, const std::string& name) {
        return py::bytes(SerializeBlob(self, name));
      },
      py::arg("name"), "The content as a serialized BlobProto of this name.");
  blob.def(
      "deserialize",
      [](Blob& self, const std::string& bytes) {
        EnforceBlobIsIdle(&self, "cannot deserialize a blob");
        DeserializeBlob(bytes, &self);
      },
      py::arg("bytes"), "Sets the content from a serialized BlobProto.");
  m.def("serialize_blob", [](const std::string& name) {
    const Blob* blob = CurrentWorkspace()->GetBlob(name);
    CAFFE_ENFORCE(blob != nullptr, "Can't find blob: ", name);
    return py::bytes(SerializeBlob(*blob, name));
  });
  m.def("deserialize_blob", [](const std::string& name, const std::string& bytes) {
    Blob* blob = CurrentWorkspace()->CreateBlob(name);
    EnforceBlobIsIdle(blob, "cannot deserialize blob " + name);
    DeserializeBlob(bytes, blob);
  });
}

}  // namespace caffe2::python
