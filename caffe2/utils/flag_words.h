// The words of a command line: flag files, recipes, unknown flags, and where each flag got its
// value.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace caffe2 {

// The flags of the recipe `name`, divided by blanks: "--model=lenet --shuffle". Throws UsageError
// for a name that it does not know.
using RecipeFunction = std::function<std::string(const std::string& name)>;
// What to say about an unknown flag, given without dashes; "" if there is nothing to say.
using FlagAdvice = std::function<std::string(const std::string& flag)>;

// The command line `words`, whose first is the program, as gflags shall parse it: the flags of the
// recipe that --recipe names come first, the lines of files take the place of --flagfile, and the
// value of a bool flag is joined to it ("--use_cpu" "True"). So a flag counts more than the recipe,
// and than a file before it. A file is as gflags has it: one --name=value in a line, comments that
// begin with #, and lines of program names after which flags are for these programs alone.
//
// Throws UsageError, which names the file, for an unknown flag (with what `advice` says to do
// instead, or with the flag that may be meant), for a line that is no flag or lacks its value, and
// for a file that includes itself; IoError (kNoInput) for a file that cannot be read. `recipe` may
// be null: then --recipe is an unknown flag.
std::vector<std::string> ExpandFlags(const std::vector<std::string>& words,
                                     const RecipeFunction& recipe, const FlagAdvice& advice);

// Where the flag has its value from, after ExpandFlags(): "default", "recipe mnist_lenet", "file
// run.flags" or "command line".
std::string SourceOfFlag(const std::string& name);

}  // namespace caffe2
