// Flags whose values are lists: "30,60,80", "conv1,res2".
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "caffe2/core/usage_error.h"

namespace caffe2 {

// The numbers of a comma-separated list; an empty list has none. Throws UsageError with the name
// and the value unless all items are numbers.
inline std::vector<float> NumberList(const std::string& name, const std::string& list) {
  std::vector<float> values;
  std::stringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');) {
    char* end = nullptr;
    values.push_back(std::strtof(word.c_str(), &end));
    CheckUsage(end != word.c_str() && *end == '\0', name, " is ", list, ": \"", word,
               "\" is not a number");
  }
  return values;
}

// The numbers of a comma-separated list, or of the file of that name, where line breaks separate
// them too. Throws UsageError as NumberList, and if there is no such file.
inline std::vector<float> NumberListOrFile(const std::string& name, const std::string& value) {
  if (value.find_first_not_of("0123456789.,+-eE") == std::string::npos) {
    return NumberList(name, value);
  }
  std::ifstream file(value);
  CheckUsage(file.is_open(), name, " is ", value, ", neither a list of numbers nor a file");
  std::string list, line;
  while (std::getline(file, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) list += (list.empty() ? "" : ",") + line;
  }
  CheckUsage(!list.empty(), name, " is ", value, ", a file without numbers");
  return NumberList(name + " " + value, list);
}

// The same as NumberList for integers from 0 to 999999.
inline std::vector<int> IntegerList(const std::string& name, const std::string& list) {
  std::vector<int> values;
  std::stringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');) {
    const bool number = !word.empty() && word.size() < 7 &&
                        word.find_first_not_of("0123456789") == std::string::npos;
    CheckUsage(number, name, " is ", list, ": \"", word, "\" is not a whole number");
    values.push_back(std::stoi(word));
  }
  return values;
}

// The words of a comma-separated list, also empty ones between commas; an empty list has none.
inline std::vector<std::string> WordList(const std::string& list) {
  std::vector<std::string> words;
  std::stringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

}  // namespace caffe2
