// The words of a command line: flag files, recipes, unknown flags, and where each flag got its
// value.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace caffe2 {

// Returns the flags of the recipe `name`, separated by blanks: "--model=lenet --shuffle". Throws
// UsageError for an unknown name.
using RecipeFunction = std::function<std::string(const std::string& name)>;
// Returns advice about an unknown flag, which is given without dashes; "" if there is none.
using FlagAdvice = std::function<std::string(const std::string& flag)>;

// Turns the command line `words`, which begins with the program, into words for gflags. The flags
// of the recipe that --recipe names come first, the lines of a file replace its --flagfile, and the
// value of a bool flag is joined to it ("--use_cpu" "True"). gflags takes the last value of a flag,
// so flags override the recipe and the files before them. A file has the format of gflags: one
// --name=value in a line, comments that begin with #, and lines of program names, after which flags
// are for these programs only. A line without a dash names programs if one of its words or globs
// matches this program, or if flags follow it and each word may be a program: letters, digits and
// _-.+/*?[], but no flag, no number and no true or false.
//
// Throws UsageError, which names the file, for an unknown flag (with the text of `advice`, or with
// the most similar flag), for a value that is missing or of the wrong type, for a line of a file
// that is no flag (with its number), and for a file that includes itself; IoError (kNoInput) for a
// file that cannot be read. `recipe` may be null; then --recipe has no special meaning.
std::vector<std::string> ExpandFlags(const std::vector<std::string>& words,
                                     const RecipeFunction& recipe, const FlagAdvice& advice);

// Where the flag got its value, after ExpandFlags(): "default", "recipe mnist_lenet", "file
// run.flags" or "command line".
std::string SourceOfFlag(const std::string& name);

}  // namespace caffe2
