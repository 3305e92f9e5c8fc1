// Suggestions for words that are mistyped.
#pragma once

#include <string>
#include <vector>

namespace caffe2 {

// The number of steps that turn `a` into `b`. A step inserts, removes or replaces a letter, or
// swaps two neighbours.
int EditDistance(const std::string& a, const std::string& b);

// The known word with the smallest distance from `word`; empty if the distance is more than a third
// of the letters of `word`.
std::string ClosestWord(const std::string& word, const std::vector<std::string>& known);

}  // namespace caffe2
