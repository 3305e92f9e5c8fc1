#include "caffe2/utils/program_help.h"

#include <gflags/gflags.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>

#include "caffe2/core/closest_word.h"
#include "caffe2/utils/program.h"

namespace caffe2 {
namespace {

using Info = gflags::CommandLineFlagInfo;

constexpr char kRequired[] = " (required)";

std::map<std::string, Info> FlagsByName() {
  std::map<std::string, Info> flags;
  for (const Info& flag : ProgramFlags()) flags.emplace(flag.name, flag);
  return flags;
}

bool IsRequired(const Info& flag) { return flag.description.find(kRequired) != std::string::npos; }

// "text" in lines of at most 96 characters, indented.
std::string Wrapped(const std::string& text) {
  constexpr size_t kWidth = 96;
  std::string wrapped, line = "     ";
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > kWidth) {
      wrapped += line + "\n";
      line = "     ";
    }
    line += " " + word;
  }
  return wrapped + line + "\n";
}

std::string Describe(const Info& flag) {
  const bool is_bool = flag.type == "bool";
  std::string text = (is_bool ? "  --[no]" : "  --") + flag.name;
  if (!is_bool) text += flag.type == "string" ? " TEXT" : " NUMBER";
  text += IsRequired(flag) ? kRequired
                           : " (default: " + FlagValueText(flag.type, flag.default_value) + ")";
  std::string description = flag.description;
  const size_t required = description.find(kRequired);
  if (required != std::string::npos) description.erase(required, sizeof(kRequired) - 1);
  return text + "\n" + Wrapped(description);
}

// Takes the flags that `wanted` names out of `left`.
template <typename Wanted>
std::string DescribeGroup(const std::string& title, std::map<std::string, Info>* left,
                          const Wanted& wanted) {
  std::string text;
  for (auto it = left->begin(); it != left->end();) {
    if (!wanted(it->second)) {
      ++it;
      continue;
    }
    text += Describe(it->second);
    it = left->erase(it);
  }
  return text.empty() || title.empty() ? text : "\n" + title + ":\n" + text;
}

bool HasWord(const std::string& words, const std::string& wanted) {
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    if (word == wanted) return true;
  }
  return false;
}

}  // namespace

std::string FlagValueText(const std::string& type, const std::string& text) {
  if (text.empty()) return "none";
  if (type != "double") return text;
  const double value = std::strtod(text.c_str(), nullptr);
  const bool plain = value == 0 || (std::abs(value) >= 1e-6 && std::abs(value) < 1e9);
  char number[64];
  const auto end = std::to_chars(number, number + sizeof(number), value,
                                 plain ? std::chars_format::fixed : std::chars_format::general);
  return std::string(number, end.ptr);
}

std::string HelpText(const std::string& program, const std::string& usage,
                     const ProgramHelp& help) {
  std::string text = program + ": " + usage + "\n\n";
  std::istringstream examples(help.examples);
  if (!help.examples.empty()) text += "Examples:\n";
  for (std::string line; std::getline(examples, line);) text += "  " + line + "\n";
  if (!help.examples.empty()) text += "\n";
  text += "Flags:\n";
  std::map<std::string, Info> left = FlagsByName();
  text += DescribeGroup(help.groups.empty() ? "" : "Required", &left, IsRequired);
  for (const FlagGroup& group : help.groups) {
    text += DescribeGroup(group.title, &left,
                          [&](const Info& flag) { return HasWord(group.flags, flag.name); });
  }
  text +=
      DescribeGroup(help.groups.empty() ? "" : "Other", &left, [](const Info&) { return true; });
  return text +
         "\nA file may hold flags, one --name=value in each line: --flagfile FILE. --version "
         "prints\n"
         "the version, --helpfull also lists the flags of libraries.\n";
}

std::string SimilarFlag(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [own, flag] : FlagsByName()) {
    known.push_back(own);
    if (flag.type == "bool") known.push_back("no" + own);
  }
  std::string wanted = name;
  for (char& c : wanted) c = c == '-' ? '_' : c;
  return ClosestWord(wanted, known);
}

}  // namespace caffe2
