#include "caffe2/core/operator.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "caffe2/core/closest_word.h"
#include "caffe2/core/device_backend.h"
#include "caffe2/core/fork_safe_mutex.h"
#include "caffe2/core/workspace.h"

namespace caffe2 {

OperatorBase::OperatorBase(const OperatorDef& def, Workspace* ws)
    : def_(std::make_shared<OperatorDef>(def)), arguments_(*def_) {
  for (const std::string& input : def.input()) {
    const Blob* blob = ws->GetBlob(input);
    CAFFE_ENFORCE(blob != nullptr, "operator ", def.type(), " reads blob ", input,
                  ", which does not exist");
    inputs_.push_back(blob);
  }
  for (const std::string& output : def.output()) outputs_.push_back(ws->CreateBlob(output));
  SeparateOutputs();
  shared_blobs_.reserve(shared_blobs_.size() + inputs_.size() + outputs_.size());
  for (const Blob* input : inputs_) shared_blobs_.push_back(input->weak_from_this().lock());
  for (const Blob* output : outputs_) shared_blobs_.push_back(output->weak_from_this().lock());
}

// Two outputs in one blob would resize each other's memory. The workspace gets the last one, as if
// it had been written last. Outputs that are also inputs, such as queues, may be the same object.
void OperatorBase::SeparateOutputs() {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const auto after = outputs_.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    if (std::find(after, outputs_.end(), outputs_[i]) == outputs_.end()) continue;
    if (std::find(inputs_.begin(), inputs_.end(), outputs_[i]) != inputs_.end()) continue;
    LOG(WARNING) << "operator " << type() << " writes output " << i << " and a later one to blob "
                 << def_->output(static_cast<int>(i))
                 << ", which gets only the last: give each output a blob of its own";
    auto own = std::make_shared<Blob>();
    outputs_[i] = own.get();
    shared_blobs_.push_back(std::move(own));
  }
}

OperatorBase::~OperatorBase() = default;

template class Operator<CPUContext>;
template class Registry<std::string, OperatorBase, const OperatorDef&, Workspace*>;
template struct Registerer<std::string, OperatorBase, const OperatorDef&, Workspace*>;

void internal::ThrowUnsupportedType(TypeMeta meta, std::initializer_list<TypeMeta> supported) {
  std::string names;
  for (const TypeMeta& type : supported) names += " " + type.name();
  CAFFE_THROW("element type ", meta.name(), " is not supported here; supported:", names);
}

void OperatorBase::ThrowInputType(int i, TypeMeta wanted) const {
  CAFFE_THROW("input ", i, ", blob ", def_->input(i), ", holds ", inputs_[i]->TypeName(), " where ",
              wanted.name(), " is needed");
}

void OperatorBase::ThrowNoInput(int i) const {
  CAFFE_THROW("input ", i, " is needed, and the operator has ", InputSize(), " inputs");
}

void OperatorBase::ThrowNoOutput(int i) const {
  CAFFE_THROW("output ", i, " is needed, and the operator has ", OutputSize(), " outputs");
}

OperatorRegistry* DeviceOperatorRegistry(DeviceType type) {
  static auto* registries = new std::array<OperatorRegistry, DeviceType_ARRAYSIZE>;
  CAFFE_ENFORCE(DeviceType_IsValid(type), "unknown device type ", static_cast<int>(type));
  return &(*registries)[type];
}

std::set<DeviceType> DevicesOf(const std::string& op_type) {
  std::set<DeviceType> devices;
  for (int type = DeviceType_MIN; type <= DeviceType_MAX; ++type) {
    const auto device = static_cast<DeviceType>(type);
    for (const std::string& key : DeviceOperatorRegistry(device)->Keys()) {
      if (key == op_type || key.rfind(op_type + "_ENGINE_", 0) == 0) devices.insert(device);
    }
  }
  return devices;
}

namespace {

struct EnginePreferences {
  ForkSafeMutex mutex;
  std::map<DeviceType, std::vector<std::string>> global = {{CUDA, {"CUDNN"}}};
  std::map<std::pair<DeviceType, std::string>, std::vector<std::string>> of_operator;
};

EnginePreferences& Preferences() {
  static auto* preferences = new EnginePreferences;
  return *preferences;
}

std::vector<std::string> SplitEngines(const std::string& list) {
  std::vector<std::string> engines;
  std::stringstream stream(list);
  for (std::string engine; std::getline(stream, engine, ',');) {
    if (!engine.empty()) engines.push_back(engine);
  }
  return engines;
}

// The engines to try: the operator's, then the preferred ones.
std::vector<std::string> EnginesToTry(const OperatorDef& def, DeviceType type) {
  std::vector<std::string> engines = SplitEngines(def.engine());
  EnginePreferences& preferences = Preferences();
  std::lock_guard<ForkSafeMutex> lock(preferences.mutex);
  auto it = preferences.of_operator.find({type, def.type()});
  const auto& more = it != preferences.of_operator.end() ? it->second : preferences.global[type];
  engines.insert(engines.end(), more.begin(), more.end());
  return engines;
}

std::string LowerCase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// An operator of a device that lets the CPU do another operator's work.
constexpr char kHostFallback[] = "HostFallback";

// Logs once for each type: a fallback is slow and may not be what the user expects.
void LogFallback(const std::string& op_type, const Device& device) {
  static ForkSafeMutex mutex;
  static auto* told = new std::set<std::string>;
  {
    std::lock_guard<ForkSafeMutex> lock(mutex);
    if (!told->insert(op_type).second) return;
  }
  const OpSchema* schema = OpSchemaRegistry::Schema(op_type);
  const std::string reason = schema == nullptr ? "" : schema->cpu_only();
  LOG(INFO) << "operator " << op_type << " has no version for " << device.ToString()
            << (reason.empty() ? "" : " (" + reason + ")")
            << ": the host does its work, with copies before and after";
}

[[noreturn]] void ThrowUnknownOperator(const OperatorDef& def, DeviceType type) {
  const std::set<DeviceType> devices = DevicesOf(def.type());
  if (!devices.empty()) {
    std::string names;
    for (DeviceType device : devices) names += (names.empty() ? "" : ", ") + DeviceTypeName(device);
    CAFFE_THROW("operator ", def.type(), " has no implementation for device ", DeviceTypeName(type),
                def.engine().empty() ? "" : " and engine " + def.engine(),
                "; it exists for: ", names);
  }
  const std::vector<std::string> nearby = NearbyOperatorNames(def.type());
  CAFFE_THROW("unknown operator ", def.type(),
              nearby.empty() ? "" : "; did you mean " + nearby[0] + "?");
}

}  // namespace

void SetGlobalEnginePreference(DeviceType type, std::vector<std::string> engines) {
  std::lock_guard<ForkSafeMutex> lock(Preferences().mutex);
  Preferences().global[type] = std::move(engines);
}

void SetOperatorEnginePreference(DeviceType type, const std::string& op_type,
                                 std::vector<std::string> engines) {
  std::lock_guard<ForkSafeMutex> lock(Preferences().mutex);
  Preferences().of_operator[{type, op_type}] = std::move(engines);
}

std::vector<std::string> NearbyOperatorNames(const std::string& type) {
  std::set<std::string> names;
  for (int device = DeviceType_MIN; device <= DeviceType_MAX; ++device) {
    for (const std::string& key : DeviceOperatorRegistry(static_cast<DeviceType>(device))->Keys()) {
      names.insert(key.substr(0, key.find("_ENGINE_")));
    }
  }
  std::vector<std::pair<int, std::string>> ranked;
  for (const std::string& name : names) {
    const int distance = EditDistance(LowerCase(type), LowerCase(name));
    if (distance <= std::max<int>(2, static_cast<int>(type.size()) / 3)) {
      ranked.emplace_back(distance, name);
    }
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> nearby;
  for (auto& [distance, name] : ranked) nearby.push_back(name);
  return nearby;
}

std::unique_ptr<OperatorBase> CreateOperator(const OperatorDef& def, Workspace* ws,
                                             int net_position) {
  try {
    if (const OpSchema* schema = OpSchemaRegistry::Schema(def.type())) schema->Verify(def);
    const Device device = ToDevice(def.device_option());
    const DeviceType type = device.type;
    if (type == CUDA) CheckDevice(device);  // other types have no backend, and so no operators
    // A registry key with an engine is not an operator type: no schema would check it.
    CAFFE_ENFORCE(def.type().find("_ENGINE_") == std::string::npos, "unknown operator ", def.type(),
                  "; name the engine in the field engine");
    OperatorRegistry* registry = DeviceOperatorRegistry(type);
    for (const std::string& engine : EnginesToTry(def, type)) {
      auto op = registry->Create(def.type() + "_ENGINE_" + engine, def, ws);
      if (op != nullptr) return op;
      VLOG(1) << "engine " << engine << " is not available for operator " << def.type();
    }
    auto op = registry->Create(def.type(), def, ws);
    if (op == nullptr && type != CPU && DeviceOperatorRegistry(CPU)->Has(def.type())) {
      op = registry->Create(kHostFallback, def, ws);
      if (op != nullptr) LogFallback(def.type(), device);
    }
    if (op == nullptr) ThrowUnknownOperator(def, type);
    return op;
  } catch (Error& error) {
    std::string where =
        net_position < 0 ? "" : MakeString("operator ", net_position, " of the net");
    if (!def.name().empty()) where += (where.empty() ? "" : ", ") + ("named " + def.name());
    if (!where.empty()) error.AddContext(where);
    throw;
  }
}

}  // namespace caffe2
