#include "caffe2/utils/flag_words.h"

#include <fnmatch.h>
#include <gflags/gflags.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/utils/program.h"
#include "caffe2/utils/program_help.h"

namespace caffe2 {
namespace {

constexpr char kCommandLine[] = "command line";

struct Word {
  std::string text;
  std::string source;  // as SourceOfFlag()
};

std::map<std::string, std::string>& Sources() {
  static auto* sources = new std::map<std::string, std::string>;
  return *sources;
}

bool IsBoolFlag(const std::string& name) {
  gflags::CommandLineFlagInfo info;
  return gflags::GetCommandLineFlagInfo(name.c_str(), &info) && info.type == "bool";
}

bool IsBoolWord(const std::string& word) {
  return word == "True" || word == "False" || word == "true" || word == "false";
}

// "name" for "--name", "-name" and "--name=value"; empty for other words.
std::string NameOfFlag(const std::string& word) {
  const size_t begin = word.find_first_not_of('-');
  if (begin == std::string::npos || begin == 0 || begin > 2) return "";
  return std::isalpha(static_cast<unsigned char>(word[begin]))
             ? word.substr(begin, word.find('=') - begin)
             : "";
}

// The flag that `name` sets: "shuffle" for "noshuffle". Empty if there is none.
std::string FlagOf(const std::string& name) {
  gflags::CommandLineFlagInfo info;
  if (gflags::GetCommandLineFlagInfo(name.c_str(), &info)) return name;
  return name.compare(0, 2, "no") == 0 && IsBoolFlag(name.substr(2)) ? name.substr(2) : "";
}

// True for "--name" without a value, which is then the next word.
bool LacksValue(const std::string& word, const std::string& flag) {
  gflags::CommandLineFlagInfo info;
  return word.find('=') == std::string::npos &&
         gflags::GetCommandLineFlagInfo(flag.c_str(), &info) && info.type != "bool";
}

bool HasProgram(const std::string& globs) {
  std::istringstream stream(globs);
  for (std::string glob; stream >> glob;) {
    for (const char* name :
         {gflags::ProgramInvocationName(), gflags::ProgramInvocationShortName()}) {
      if (fnmatch(glob.c_str(), name, FNM_PATHNAME) == 0) return true;
    }
  }
  return false;
}

// How "name=value", "name: value" and "name value" are written as a flag.
std::string AsFlag(const std::string& line) {
  const size_t end = std::min(line.find_first_of("=: \t"), line.size());
  const std::string flag = FlagOf(line.substr(0, end)).empty() ? "" : line.substr(0, end);
  if (flag.empty()) return "--name=value";
  const size_t begin = std::min(line.find_first_not_of("=: \t\"'", end), line.size());
  const size_t last = line.find_last_not_of("\"'");
  const bool has_value = begin <= last && begin < line.size();
  if (has_value) return "--" + flag + "=" + ShownText(line.substr(begin, last + 1 - begin));
  return "--" + flag + (IsBoolFlag(flag) ? "" : "=value");
}

// Whether all words of a line may be names of programs, or globs of them.
bool LooksLikePrograms(const std::string& line) {
  std::istringstream stream(line);
  for (std::string word; stream >> word;) {
    const bool name = std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return std::isalnum(c) || std::strchr("_-.+/*?[]", c) != nullptr;
    });
    const bool begins = std::isalpha(static_cast<unsigned char>(word[0])) ||
                        std::strchr("_./*?", word[0]) != nullptr;
    if (!name || !begins || IsBoolWord(word) || !FlagOf(word).empty()) return false;
  }
  return true;
}

// Reads the lines of a flag file, and keeps the flags that are for this program.
class FlagFile {
 public:
  explicit FlagFile(const std::string& path) : path_(path) {}

  std::vector<std::string> Read() {
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      ++number_;
      const size_t begin = line.find_first_not_of(" \t\r");
      if (begin == std::string::npos || line[begin] == '#') continue;
      Add(line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin));
    }
    // Reading a folder fails only here.
    if (!file.eof()) {
      ThrowIoError(ExitCode::kNoInput, "cannot read --flagfile ", path_, ": ",
                   std::strerror(errno));
    }
    if (in_programs_ && !ours_) Refuse(programs_, programs_number_);
    return std::move(flags_);
  }

 private:
  void Add(const std::string& line) {
    if (line[0] == '-') {
      in_programs_ = false;
      if (!ours_) return;
      if (NameOfFlag(line).empty()) Refuse(line, number_);
      flags_.push_back(line);
      return;
    }
    const bool matches = HasProgram(line);
    if (!matches && !LooksLikePrograms(line)) Refuse(line, number_);
    ours_ = matches || (in_programs_ && ours_);
    in_programs_ = true;
    programs_ = line;
    programs_number_ = number_;
  }

  [[noreturn]] void Refuse(const std::string& line, int number) const {
    ThrowUsage("file ", path_, ", line ", number, ": \"", ShownText(line),
               "\" is not a flag: write ", AsFlag(line));
  }

  const std::string& path_;
  int number_ = 0;
  bool ours_ = true;          // the flags that follow are for this program
  bool in_programs_ = false;  // the last line names programs
  std::string programs_;      // the last line that does, and its number
  int programs_number_ = 0;
  std::vector<std::string> flags_;
};

class Expander {
 public:
  Expander(const RecipeFunction& recipe, const FlagAdvice& advice)
      : recipe_(recipe), advice_(advice) {}

  std::vector<Word> Expand(const std::vector<std::string>& words) {
    Add(words, kCommandLine);
    if (recipe_name_.empty()) return std::move(words_);
    std::vector<Word> others = std::move(words_);
    words_ = {};
    std::istringstream stream(recipe_(recipe_name_));
    const std::vector<std::string> flags(std::istream_iterator<std::string>(stream), {});
    Add(flags, "recipe " + recipe_name_);
    words_.insert(words_.end(), others.begin(), others.end());
    return std::move(words_);
  }

 private:
  void Add(const std::vector<std::string>& words, const std::string& source) {
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string &word = words[i], name = NameOfFlag(word);
      if (word == "--") {
        for (; i < words.size(); ++i) words_.push_back({words[i], source});
        return;
      }
      allows_unknown_ = allows_unknown_ || name == "undefok";
      const std::string flag = FlagOf(name);
      if (!name.empty() && flag.empty() && !allows_unknown_) Refuse(name, source);
      const bool in_file = source != kCommandLine;
      const bool next = LacksValue(word, flag);
      CheckUsage(!next || !in_file, source, ": ", word, " has no value: write ", word, "=VALUE");
      CheckUsage(flag != "flagfile" || !next || i + 1 < words.size(),
                 "--flagfile has no value: write --flagfile FILE");
      const std::string value = !next ? word.substr(std::min(word.find('='), word.size() - 1) + 1)
                                : i + 1 < words.size() ? words[i + 1]
                                                       : "";
      if (flag == "flagfile") {
        AddFiles(value);
        i += next ? 1 : 0;
        continue;
      }
      if (flag == "recipe" && recipe_) recipe_name_ = value;
      words_.push_back({word, source});
      if (next && i + 1 < words.size()) words_.push_back({words[++i], source});
    }
  }

  void AddFiles(const std::string& list) {
    std::stringstream stream(list);
    for (std::string path; std::getline(stream, path, ',');) {
      CheckUsage(std::find(open_.begin(), open_.end(), path) == open_.end(), "--flagfile ", path,
                 " includes itself");
      open_.push_back(path);
      Add(FlagFile(path).Read(), "file " + path);
      open_.pop_back();
    }
  }

  [[noreturn]] void Refuse(const std::string& name, const std::string& source) const {
    const std::string where = source == kCommandLine ? "" : source + ": ";
    const std::string advice = advice_ ? advice_(name) : "";
    if (!advice.empty()) ThrowUsage(where, "unknown flag --", name, ": ", advice);
    const std::string similar = SimilarFlag(name);
    ThrowUsage(where, "unknown flag --", name, ": ",
               similar.empty() ? "see --help" : "did you mean --" + similar + "?");
  }

  const RecipeFunction& recipe_;
  const FlagAdvice& advice_;
  std::vector<Word> words_;
  std::vector<std::string> open_;  // flag files
  std::string recipe_name_;
  bool allows_unknown_ = false;
};

// Joins "--flag" "True" to "--flag=true", because programs with argparse are called so.
void JoinBoolValues(std::vector<Word>* words) {
  for (size_t i = 1; i + 1 < words->size() && (*words)[i].text != "--"; ++i) {
    std::string& word = (*words)[i].text;
    const std::string value = (*words)[i + 1].text;
    if (word.find('=') != std::string::npos || !IsBoolFlag(NameOfFlag(word)) ||
        !IsBoolWord(value)) {
      continue;
    }
    word += (value[0] == 'T' || value[0] == 't') ? "=true" : "=false";
    words->erase(words->begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

const char* DescribeType(const std::string& type) {
  if (type == "bool") return "true or false";
  return type == "double" ? "a number" : "a whole number";
}

// Throws UsageError for a value that its flag cannot have: gflags would write two lines.
void CheckValues(const std::vector<Word>& words) {
  const gflags::FlagSaver restores_flags;
  for (size_t i = 1; i < words.size() && words[i].text != "--"; ++i) {
    const std::string& word = words[i].text;
    const std::string name = NameOfFlag(word), flag = FlagOf(name);
    if (flag.empty()) continue;
    const bool next = LacksValue(word, flag);
    if (next && i + 1 == words.size()) ThrowUsage(word, " has no value: write ", word, "=VALUE");
    const size_t equals = word.find('=');
    if ((!next && equals == std::string::npos) || name != flag) continue;
    const std::string value = next ? words[i + 1].text : word.substr(equals + 1);
    i += next ? 1 : 0;
    const std::string type = gflags::GetCommandLineFlagInfoOrDie(flag.c_str()).type;
    if (type == "string" || !gflags::SetCommandLineOption(flag.c_str(), value.c_str()).empty()) {
      continue;
    }
    const std::string where = words[i].source == kCommandLine ? "" : words[i].source + ": ";
    ThrowUsage(where, "--", flag, " is \"", value, "\", must be ", DescribeType(type), " (", type,
               ")");
  }
}

void NoteSources(const std::vector<Word>& words) {
  Sources().clear();
  for (size_t i = 1; i < words.size() && words[i].text != "--"; ++i) {
    const std::string flag = FlagOf(NameOfFlag(words[i].text));
    if (flag.empty()) continue;
    Sources()[flag] = words[i].source;
    if (LacksValue(words[i].text, flag)) ++i;
  }
}

}  // namespace

std::vector<std::string> ExpandFlags(const std::vector<std::string>& words,
                                     const RecipeFunction& recipe, const FlagAdvice& advice) {
  std::vector<Word> all = Expander(recipe, advice).Expand({words.begin() + 1, words.end()});
  all.insert(all.begin(), {words[0], kCommandLine});
  JoinBoolValues(&all);
  CheckValues(all);
  NoteSources(all);
  std::vector<std::string> texts;
  for (const Word& word : all) texts.push_back(word.text);
  return texts;
}

std::string SourceOfFlag(const std::string& name) {
  const auto source = Sources().find(name);
  return source == Sources().end() ? "default" : source->second;
}

}  // namespace caffe2
