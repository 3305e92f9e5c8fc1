// What operators there are: names, schemas, shapes and costs.
#include "caffe2/core/operator.h"
#include "python/pybind_state.h"

namespace caffe2::python {
namespace {

std::vector<std::string> RegisteredOperators() {
  std::set<std::string> names;
  for (const DeviceType device : {CPU, CUDA}) {
    for (const std::string& key : DeviceOperatorRegistry(device)->Keys()) names.insert(key);
  }
  return {names.begin(), names.end()};
}

std::vector<NetDef> ParseNets(const std::vector<std::string>& nets) {
  std::vector<NetDef> parsed;
  for (const std::string& net : nets) parsed.push_back(ParseProto<NetDef>(net));
  return parsed;
}

py::bytes InferShapes(const std::vector<std::string>& serialized,
                      std::map<std::string, TensorShape> known) {
  const std::vector<NetDef> nets = ParseNets(serialized);
  std::vector<const NetDef*> pointers;
  for (const NetDef& net : nets) pointers.push_back(&net);
  TensorShapes shapes;
  for (auto& [name, shape] : InferBlobShapesAndTypes(std::move(known), pointers)) {
    *shapes.add_shapes() = shape;
    shapes.mutable_shapes(shapes.shapes_size() - 1)->set_name(name);
  }
  return ProtoBytes(shapes);
}

std::map<std::string, TensorShape> ShapesOfWorkspace(const Workspace& ws) {
  std::map<std::string, TensorShape> shapes;
  for (const std::string& name : ws.Blobs()) shapes[name] = GetTensorShapeOfBlob(*ws.GetBlob(name));
  return shapes;
}

std::vector<TensorShape> ParseShapes(const std::vector<std::string>& messages) {
  std::vector<TensorShape> shapes;
  for (const std::string& message : messages) shapes.push_back(ParseProto<TensorShape>(message));
  return shapes;
}

std::vector<py::bytes> InferOperator(const OpSchema& schema, const std::string& op,
                                     const std::vector<std::string>& inputs) {
  std::vector<py::bytes> outputs;
  for (const TensorShape& shape :
       schema.InferTensor(ParseProto<OperatorDef>(op), ParseShapes(inputs))) {
    outputs.push_back(ProtoBytes(shape));
  }
  return outputs;
}

uint64_t FlopsOfShapes(const OpSchema& schema, const std::string& op,
                       const std::vector<std::string>& inputs) {
  return schema.InferCost(ParseProto<OperatorDef>(op), ParseShapes(inputs)).flops;
}

// (floating-point operations, bytes written) of one run on blobs of the current workspace.
std::pair<uint64_t, uint64_t> OperatorCost(const std::string& op,
                                           const std::vector<std::string>& input_blobs) {
  const auto def = ParseProto<OperatorDef>(op);
  const OpSchema* schema = OpSchemaRegistry::Schema(def.type());
  CAFFE_ENFORCE(schema != nullptr, "operator ", def.type(), " has no schema");
  std::vector<TensorShape> shapes;
  for (const std::string& name : input_blobs) {
    const Blob* blob = CurrentWorkspace()->GetBlob(name);
    CAFFE_ENFORCE(blob != nullptr, "Can't find blob: ", name);
    shapes.push_back(GetTensorShapeOfBlob(*blob));
  }
  const OpSchema::Cost cost = schema->InferCost(def, shapes);
  return {cost.flops, cost.bytes_written};
}

// (arguments, inputs or outputs) as pairs (name, description).
std::vector<std::pair<std::string, std::string>> Pairs(
    const std::vector<OpSchema::Parameter>& parameters) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& parameter : parameters)
    pairs.emplace_back(parameter.name, parameter.description);
  return pairs;
}

}  // namespace

void AddSchemas(py::module_& m) {
  py::class_<OpSchema> schema(m, "OpSchema", "What an operator type accepts and produces.");
  py::class_<OpSchema::Parameter>(schema, "Argument")
      .def_readonly("name", &OpSchema::Parameter::name)
      .def_readonly("description", &OpSchema::Parameter::description)
      .def_readonly("required", &OpSchema::Parameter::required)
      .def_property_readonly(
          "type", [](const OpSchema::Parameter& p) { return ArgumentTypeName(p.type); },
          "What it may be, such as \"int\" or \"list of int\"; \"any\" if the schema does not say.")
      .def_readonly("choices", &OpSchema::Parameter::choices,
                    "The values that a string may have; [] if it may be any string.");
  schema
      .def_static("get", &OpSchemaRegistry::Schema, py::arg("type"),
                  py::return_value_policy::reference, "The schema of a type, or None.")
      .def_property_readonly("type", &OpSchema::type)
      .def_property_readonly("file", &OpSchema::file)
      .def_property_readonly("line", &OpSchema::line)
      .def_property_readonly("doc", &OpSchema::doc)
      .def_property_readonly("private", &OpSchema::private_op)
      .def_property_readonly("args", &OpSchema::args)
      .def_property_readonly("input_desc", [](const OpSchema& s) { return Pairs(s.input_desc()); })
      .def_property_readonly("output_desc",
                             [](const OpSchema& s) { return Pairs(s.output_desc()); })
      .def_property_readonly("min_input", &OpSchema::min_input)
      .def_property_readonly("max_input", &OpSchema::max_input)
      .def_property_readonly("min_output", &OpSchema::min_output)
      .def_property_readonly("max_output", &OpSchema::max_output)
      .def_property_readonly("cpu_only", &OpSchema::cpu_only,
                             "Why the operator has no version for GPUs; \"\" if it has one.")
      .def_property_readonly("inputs_can_cross_devices", &OpSchema::inputs_can_cross_devices)
      .def("inplace_enforced", &OpSchema::inplace_enforced, py::arg("input"), py::arg("output"))
      .def("inplace_allowed", &OpSchema::inplace_allowed, py::arg("input"), py::arg("output"))
      .def("CalculateOutput", &OpSchema::CalculateOutput, py::arg("num_inputs"),
           "The number of outputs, or -1 if the schema cannot tell.")
      .def("_infer_tensor", &InferOperator, py::arg("op"), py::arg("input_shapes"))
      .def("_infer_flops", &FlopsOfShapes, py::arg("op"), py::arg("input_shapes"));

  m.def("get_operator_cost", &OperatorCost, py::arg("op"), py::arg("input_blobs"));
  m.def("registered_operators", &RegisteredOperators);
  m.def(
      "verify_operator",
      [](const std::string& op) {
        const auto def = ParseProto<OperatorDef>(op);
        if (const OpSchema* schema = OpSchemaRegistry::Schema(def.type())) schema->Verify(def);
      },
      py::arg("op"),
      "Raises RuntimeError if the schema rejects an operator: its inputs, arguments or in-place "
      "use.");
  m.def("op_registry_key", [](const std::string& type, const std::string& engine) {
    return engine.empty() || engine == "DEFAULT" ? type : type + "_ENGINE_" + engine;
  });
  m.def("nearby_opnames", &NearbyOperatorNames, py::arg("type"),
        "Registered types that look most like this one, best first.");
  m.def("set_global_engine_pref", [](const std::map<int, std::vector<std::string>>& preferences) {
    for (const auto& [device, engines] : preferences) {
      SetGlobalEnginePreference(static_cast<DeviceType>(device), engines);
    }
  });
  m.def("set_op_engine_pref",
        [](const std::string& op_type, const std::map<int, std::vector<std::string>>& preferences) {
          for (const auto& [device, engines] : preferences) {
            SetOperatorEnginePreference(static_cast<DeviceType>(device), op_type, engines);
          }
        });
  m.def("infer_shapes_and_types_from_workspace", [](const std::vector<std::string>& nets) {
    return InferShapes(nets, ShapesOfWorkspace(*CurrentWorkspace()));
  });
  m.def(
      "infer_shapes_and_types_from_map",
      [](const std::vector<std::string>& nets,
         const std::map<std::string, std::vector<int64_t>>& dims,
         const std::map<std::string, int>& types) {
        std::map<std::string, TensorShape> known;
        for (const auto& [name, shape] : dims) {
          auto type = types.find(name);
          known[name] = CreateTensorShape(
              shape, type == types.end() ? TensorProto::FLOAT
                                         : static_cast<TensorProto::DataType>(type->second));
        }
        return InferShapes(nets, std::move(known));
      },
      py::arg("nets"), py::arg("dims"), py::arg("types") = std::map<std::string, int>());
}

}  // namespace caffe2::python
