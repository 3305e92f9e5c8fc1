// The text that `--help` prints, and suggestions for mistyped flags.
#pragma once

#include <string>
#include <vector>

namespace caffe2 {

// Flags that belong together. Flags that are in no group are listed after the groups. A group may
// name flags that the program does not have.
struct FlagGroup {
  const char* title;  // "Data"
  const char* flags;  // names separated by blanks
};

struct ProgramHelp {
  std::vector<FlagGroup> groups;  // in the order of --help; empty: one list, sorted by name
  std::string examples;           // command lines, each on a line of its own
};

// The text of --help: usage, examples, and ProgramFlags() by group. Flags whose description
// contains "(required)" come first. Defaults are written as by FlagValueText.
std::string HelpText(const std::string& program, const std::string& usage, const ProgramHelp& help);

// The value of a flag of gflags' `type` as people write it: "0.1", where gflags writes
// 0.10000000000000001, and "none" for an empty text.
std::string FlagValueText(const std::string& type, const std::string& text);

// The flag of the program that is most similar to `name`; empty if none is close. Also suggests
// "noshuffle".
std::string SimilarFlag(const std::string& name);

}  // namespace caffe2
