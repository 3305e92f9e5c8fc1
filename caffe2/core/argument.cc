#include "caffe2/core/argument.h"

#include <limits>
#include <type_traits>

#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

template <typename Def>
std::map<std::string, const Argument*> IndexArguments(const Def& def) {
  std::map<std::string, const Argument*> index;
  for (const Argument& argument : def.arg()) {
    auto [it, inserted] = index.emplace(argument.name(), &argument);
    // Python builders may repeat an argument, which is harmless if the values agree.
    CAFFE_ENFORCE(inserted || it->second->SerializeAsString() == argument.SerializeAsString(),
                  "argument ", argument.name(), " is given twice with different values");
  }
  return index;
}

// What the argument holds; null if it has no value.
const char* HeldType(const Argument& a) {
  if (a.has_f()) return "a float";
  if (a.has_i()) return "an integer";
  if (a.has_s()) return "a string";
  if (a.has_n()) return "a net";
  if (a.has_t()) return "a tensor";
  if (a.floats_size() > 0) return "a list of floats";
  if (a.ints_size() > 0) return "a list of integers";
  if (a.strings_size() > 0) return "a list of strings";
  if (a.nets_size() > 0) return "a list of nets";
  if (a.tensors_size() > 0) return "a list of tensors";
  return nullptr;
}

[[noreturn]] void ThrowType(const Argument& argument, const char* wanted) {
  const char* held = HeldType(argument);
  CAFFE_THROW("argument ", argument.name(), " must be ", wanted, ", found ",
              held != nullptr ? held : "no value");
}

template <typename T>
T CheckedInteger(const std::string& name, int64_t value) {
  if constexpr (!std::is_same_v<T, bool>) {
    // uint64 arguments travel as the same 64 bits.
    CAFFE_ENFORCE(sizeof(T) == 8 || (value >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
                                     value <= static_cast<int64_t>(std::numeric_limits<T>::max())),
                  "argument ", name, " must be from ",
                  static_cast<int64_t>(std::numeric_limits<T>::min()), " to ",
                  static_cast<int64_t>(std::numeric_limits<T>::max()), ", found ", value);
  }
  return static_cast<T>(value);
}

// Reads a single value. False if the argument does not hold one of this type.
template <typename T>
bool ReadSingle(const Argument& argument, T* value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (argument.has_f()) {
      *value = static_cast<T>(argument.f());
    } else if (argument.has_i()) {
      *value = static_cast<T>(argument.i());
    } else {
      return false;
    }
  } else if constexpr (std::is_integral_v<T>) {
    if (!argument.has_i()) return false;
    *value = CheckedInteger<T>(argument.name(), argument.i());
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!argument.has_s()) return false;
    *value = argument.s();
  } else if constexpr (std::is_same_v<T, NetDef>) {
    if (!argument.has_n()) return false;
    *value = argument.n();
  } else {
    if (!argument.has_t()) return false;
    *value = argument.t();
  }
  return true;
}

template <typename T>
void ReadRepeated(const Argument& argument, std::vector<T>* values) {
  if constexpr (std::is_floating_point_v<T>) {
    values->assign(argument.floats().begin(), argument.floats().end());
    if (values->empty()) values->assign(argument.ints().begin(), argument.ints().end());
  } else if constexpr (std::is_integral_v<T>) {
    for (int64_t value : argument.ints()) {
      values->push_back(CheckedInteger<T>(argument.name(), value));
    }
  } else if constexpr (std::is_same_v<T, std::string>) {
    values->assign(argument.strings().begin(), argument.strings().end());
  } else if constexpr (std::is_same_v<T, NetDef>) {
    values->assign(argument.nets().begin(), argument.nets().end());
  } else {
    values->assign(argument.tensors().begin(), argument.tensors().end());
  }
}

template <typename T>
const char* WantedType(bool list) {
  if constexpr (std::is_floating_point_v<T>) return list ? "a list of floats" : "a float";
  if constexpr (std::is_integral_v<T>) return list ? "a list of integers" : "an integer";
  if constexpr (std::is_same_v<T, std::string>) return list ? "a list of strings" : "a string";
  if constexpr (std::is_same_v<T, NetDef>) return list ? "a list of nets" : "a net";
  return list ? "a list of tensors" : "a tensor";
}

}  // namespace

ArgumentHelper::ArgumentHelper(const OperatorDef& def) : arguments_(IndexArguments(def)) {}
ArgumentHelper::ArgumentHelper(const NetDef& def) : arguments_(IndexArguments(def)) {}

const Argument* ArgumentHelper::Find(const std::string& name) const {
  auto it = arguments_.find(name);
  return it == arguments_.end() ? nullptr : it->second;
}

template <typename T>
T ArgumentHelper::GetSingleArgument(const std::string& name, const T& default_value) const {
  const Argument* argument = Find(name);
  if (argument == nullptr) return default_value;
  T value{};
  if (!ReadSingle(*argument, &value)) ThrowType(*argument, WantedType<T>(/*list=*/false));
  return value;
}

template <typename T>
bool ArgumentHelper::HasSingleArgumentOfType(const std::string& name) const {
  const Argument* argument = Find(name);
  T value{};
  return argument != nullptr && ReadSingle(*argument, &value);
}

template <typename T>
std::vector<T> ArgumentHelper::GetRepeatedArgument(const std::string& name,
                                                   const std::vector<T>& default_value) const {
  const Argument* argument = Find(name);
  if (argument == nullptr) return default_value;
  std::vector<T> values;
  T single{};
  if (ReadSingle(*argument, &single)) {
    values.push_back(single);
    return values;
  }
  ReadRepeated(*argument, &values);
  if (values.empty() && HeldType(*argument) != nullptr) {
    ThrowType(*argument, WantedType<T>(/*list=*/true));
  }
  return values;
}

#define CAFFE2_INSTANTIATE_ARGUMENT(T)                                                 \
  template T ArgumentHelper::GetSingleArgument<T>(const std::string&, const T&) const; \
  template bool ArgumentHelper::HasSingleArgumentOfType<T>(const std::string&) const;  \
  template std::vector<T> ArgumentHelper::GetRepeatedArgument<T>(const std::string&,   \
                                                                 const std::vector<T>&) const;
CAFFE2_INSTANTIATE_ARGUMENT(float)
CAFFE2_INSTANTIATE_ARGUMENT(double)
CAFFE2_INSTANTIATE_ARGUMENT(bool)
CAFFE2_INSTANTIATE_ARGUMENT(int8_t)
CAFFE2_INSTANTIATE_ARGUMENT(int16_t)
CAFFE2_INSTANTIATE_ARGUMENT(int32_t)
CAFFE2_INSTANTIATE_ARGUMENT(int64_t)
CAFFE2_INSTANTIATE_ARGUMENT(uint8_t)
CAFFE2_INSTANTIATE_ARGUMENT(uint16_t)
CAFFE2_INSTANTIATE_ARGUMENT(uint32_t)
CAFFE2_INSTANTIATE_ARGUMENT(uint64_t)
CAFFE2_INSTANTIATE_ARGUMENT(std::string)
CAFFE2_INSTANTIATE_ARGUMENT(NetDef)
CAFFE2_INSTANTIATE_ARGUMENT(TensorProto)
#undef CAFFE2_INSTANTIATE_ARGUMENT

namespace {
void SetValue(Argument* a, float value) { a->set_f(value); }
void SetValue(Argument* a, double value) { a->set_f(static_cast<float>(value)); }
void SetValue(Argument* a, bool value) { a->set_i(value); }
void SetValue(Argument* a, int32_t value) { a->set_i(value); }
void SetValue(Argument* a, int64_t value) { a->set_i(value); }
void SetValue(Argument* a, const std::string& value) { a->set_s(value); }
void SetValue(Argument* a, const NetDef& value) { *a->mutable_n() = value; }
void SetValue(Argument* a, const TensorProto& value) { *a->mutable_t() = value; }
void SetValue(Argument* a, const std::vector<float>& v) {
  a->mutable_floats()->Add(v.begin(), v.end());
}
void SetValue(Argument* a, const std::vector<int32_t>& v) {
  a->mutable_ints()->Add(v.begin(), v.end());
}
void SetValue(Argument* a, const std::vector<int64_t>& v) {
  a->mutable_ints()->Add(v.begin(), v.end());
}
void SetValue(Argument* a, const std::vector<std::string>& v) {
  for (const auto& text : v) a->add_strings(text);
}
}  // namespace

template <typename T>
Argument MakeArgument(const std::string& name, const T& value) {
  Argument argument;
  argument.set_name(name);
  SetValue(&argument, value);
  return argument;
}

template <typename T>
void SetArgument(OperatorDef* def, const std::string& name, const T& value) {
  for (Argument& argument : *def->mutable_arg()) {
    if (argument.name() == name) {
      argument = MakeArgument(name, value);
      return;
    }
  }
  *def->add_arg() = MakeArgument(name, value);
}

#define CAFFE2_INSTANTIATE_MAKE(T)                                 \
  template Argument MakeArgument<T>(const std::string&, const T&); \
  template void SetArgument<T>(OperatorDef*, const std::string&, const T&);
CAFFE2_INSTANTIATE_MAKE(float)
CAFFE2_INSTANTIATE_MAKE(double)
CAFFE2_INSTANTIATE_MAKE(bool)
CAFFE2_INSTANTIATE_MAKE(int32_t)
CAFFE2_INSTANTIATE_MAKE(int64_t)
CAFFE2_INSTANTIATE_MAKE(std::string)
CAFFE2_INSTANTIATE_MAKE(NetDef)
CAFFE2_INSTANTIATE_MAKE(TensorProto)
CAFFE2_INSTANTIATE_MAKE(std::vector<float>)
CAFFE2_INSTANTIATE_MAKE(std::vector<int32_t>)
CAFFE2_INSTANTIATE_MAKE(std::vector<int64_t>)
CAFFE2_INSTANTIATE_MAKE(std::vector<std::string>)
#undef CAFFE2_INSTANTIATE_MAKE

const Argument* FindArgument(const OperatorDef& def, const std::string& name) {
  for (const Argument& argument : def.arg()) {
    if (argument.name() == name) return &argument;
  }
  return nullptr;
}

}  // namespace caffe2
