// Suggestions for mistyped words.
#pragma once

#include <string>
#include <vector>

namespace caffe2 {

// The edit distance: the least number of steps that turn `a` into `b`. A step inserts, removes or
// replaces a letter, or swaps two neighbouring letters.
int EditDistance(const std::string& a, const std::string& b);

// The known word with the smallest edit distance from `word`, if that is at most a third of the
// length of `word`. Otherwise the shortest one that begins with `word`, if `word` has five letters
// or more. Empty if there is none.
std::string ClosestWord(const std::string& word, const std::vector<std::string>& known);

}  // namespace caffe2
