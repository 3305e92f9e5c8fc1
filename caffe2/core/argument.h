// Typed access to the named arguments of an operator or net.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Reads arguments by name. Keeps pointers into the definition, which must outlive it.
//
// T is a number, bool, std::string, NetDef or TensorProto. Integers may be read as floats. Any
// other mismatch of types throws EnforceNotMet, which names the argument and both types; so does an
// integer that does not fit T. The constructors throw EnforceNotMet if one argument is given twice
// with different values. The net that makes or runs the operator adds its own name to the message.
class ArgumentHelper {
 public:
  ArgumentHelper() = default;
  explicit ArgumentHelper(const OperatorDef& def);
  explicit ArgumentHelper(const NetDef& def);

  bool HasArgument(const std::string& name) const { return arguments_.count(name) != 0; }
  // The value, or `default_value` if there is no such argument.
  template <typename T>
  T GetSingleArgument(const std::string& name, const T& default_value) const;
  // True if GetSingleArgument<T> would read a value from the argument. Throws EnforceNotMet for an
  // integer that does not fit T.
  template <typename T>
  bool HasSingleArgumentOfType(const std::string& name) const;
  // The list, or `default_value`. A single value counts as a list of one. An argument without a
  // value, which is how an empty list is stored, gives an empty list.
  template <typename T>
  std::vector<T> GetRepeatedArgument(const std::string& name,
                                     const std::vector<T>& default_value = {}) const;

 private:
  const Argument* Find(const std::string& name) const;
  std::map<std::string, const Argument*> arguments_;
};

// T is float, double (stored as float), bool, int32_t, int64_t, std::string, NetDef, TensorProto,
// or a vector of float, int32_t, int64_t or std::string.
template <typename T>
Argument MakeArgument(const std::string& name, const T& value);
// Adds the argument, or replaces the one of this name.
template <typename T>
void SetArgument(OperatorDef* def, const std::string& name, const T& value);
// Null if the operator has no such argument.
const Argument* FindArgument(const OperatorDef& def, const std::string& name);

}  // namespace caffe2
