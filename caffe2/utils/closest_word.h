// Suggestions for words that are mistyped.
#pragma once

#include <string>
#include <vector>

namespace caffe2 {

// The number of letters to insert, remove, replace or swap with their neighbour to turn `a` into
// `b`.
int EditDistance(const std::string& a, const std::string& b);

// The word with the smallest distance from `word`; empty if none is closer than a third of its
// letters.
std::string ClosestWord(const std::string& word, const std::vector<std::string>& known);

}  // namespace caffe2
