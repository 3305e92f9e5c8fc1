#include "caffe2/core/closest_word.h"

#include <algorithm>

namespace caffe2 {

int EditDistance(const std::string& a, const std::string& b) {
  // distance[i][j]: from the first i letters of a to the first j letters of b.
  std::vector<std::vector<int>> distance(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) distance[i][0] = static_cast<int>(i);
  for (size_t j = 0; j <= b.size(); ++j) distance[0][j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      int best = std::min({replaced, distance[i - 1][j] + 1, distance[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) best = std::min(best, distance[i - 2][j - 2] + 1);
      distance[i][j] = best;
    }
  }
  return distance[a.size()][b.size()];
}

std::string ClosestWord(const std::string& word, const std::vector<std::string>& known) {
  std::string closest;
  int smallest = static_cast<int>(word.size()) / 3 + 1;
  for (const std::string& each : known) {
    const int distance = EditDistance(word, each);
    if (distance >= smallest) continue;
    smallest = distance;
    closest = each;
  }
  constexpr size_t kMinLetters = 5;  // fewer say little about the rest of a word
  if (!closest.empty() || word.size() < kMinLetters) return closest;
  for (const std::string& each : known) {
    const bool begins = each.compare(0, word.size(), word) == 0;
    if (begins && (closest.empty() || each.size() < closest.size())) closest = each;
  }
  return closest;
}

}  // namespace caffe2
