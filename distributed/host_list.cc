#include "distributed/host_list.h"

#include <algorithm>

#include "caffe2/core/usage_error.h"
#include "distributed/run_record.h"

namespace caffe2 {

namespace {

constexpr size_t kMaxHosts = 65536;
constexpr size_t kMaxDigits = 9;

[[noreturn]] void RefuseList(const std::string& variable, const std::string& list,
                             const std::string& why) {
  ThrowUsage(variable, "=\"", OneLine(list).substr(0, 200), "\" is not a list of hosts: ", why);
}

bool IsDigits(const std::string& text) {
  return !text.empty() && text.size() <= kMaxDigits &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

// Expands "1-3,07". Numbers have at least as many digits as the first number of their range.
std::vector<std::string> ExpandRanges(const std::string& variable, const std::string& list,
                                      const std::string& ranges) {
  std::vector<std::string> numbers;
  size_t begin = 0;
  while (begin <= ranges.size()) {
    const size_t end = std::min(ranges.find(',', begin), ranges.size());
    const std::string range = ranges.substr(begin, end - begin);
    const size_t dash = range.find('-');
    const std::string low = range.substr(0, dash);
    const std::string high = dash == std::string::npos ? low : range.substr(dash + 1);
    if (!IsDigits(low) || !IsDigits(high) || std::stoi(high) < std::stoi(low)) {
      RefuseList(variable, list, "\"" + OneLine(range) + "\" is not a range of numbers");
    }
    for (int number = std::stoi(low); number <= std::stoi(high); ++number) {
      std::string text = std::to_string(number);
      if (text.size() < low.size()) text.insert(0, low.size() - text.size(), '0');
      numbers.push_back(text);
      if (numbers.size() > kMaxHosts) RefuseList(variable, list, "more than 65536 hosts");
    }
    begin = end + 1;
  }
  return numbers;
}

// Expands "rack[1-2]n[1-4]" to every combination; the last bracket varies fastest.
std::vector<std::string> ExpandPart(const std::string& variable, const std::string& list,
                                    const std::string& part) {
  const size_t open = part.find('['), close = part.find(']');
  if (open == std::string::npos) {
    if (part.empty()) RefuseList(variable, list, "a name is empty");
    return {part};
  }
  const std::string rest = part.substr(close + 1);
  const std::vector<std::string> tails =
      rest.empty() ? std::vector<std::string>{""} : ExpandPart(variable, list, rest);
  std::vector<std::string> hosts;
  for (const std::string& number :
       ExpandRanges(variable, list, part.substr(open + 1, close - open - 1))) {
    for (const std::string& tail : tails) hosts.push_back(part.substr(0, open) + number + tail);
    if (hosts.size() > kMaxHosts) RefuseList(variable, list, "more than 65536 hosts");
  }
  return hosts;
}

}  // namespace

std::vector<std::string> SplitHostList(const std::string& variable, const std::string& list) {
  std::vector<std::string> parts(1);
  bool bracket = false;
  for (const char c : list) {
    if (c == '[' && bracket) RefuseList(variable, list, "a bracket within brackets");
    if (c == ']' && !bracket) RefuseList(variable, list, "] without [");
    if (c == '[') bracket = true;
    if (c == ']') bracket = false;
    if (c == ',' && !bracket) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (bracket) RefuseList(variable, list, "[ without ]");
  return parts;
}

std::vector<std::string> ExpandHostList(const std::string& variable, const std::string& list) {
  std::vector<std::string> hosts;
  for (const std::string& part : SplitHostList(variable, list)) {
    for (std::string& host : ExpandPart(variable, list, part)) hosts.push_back(std::move(host));
    if (hosts.size() > kMaxHosts) RefuseList(variable, list, "more than 65536 hosts");
  }
  return hosts;
}

}  // namespace caffe2
