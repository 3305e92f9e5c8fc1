#include "examples/doppio/help_format.h"

#include <algorithm>

namespace caffe2 {
namespace {

std::string KindText(const std::string& type) {
  return type == "INT" || type == "UINT" || type == "FLOAT" ? "NUMBER" : type;
}

// `limits` is what CLI11 says of the validator of an option.
std::string LimitsText(const std::string& limits) {
  if (limits == "NONNEGATIVE") return " (0 or more)";
  if (limits == "POSITIVE") return " (more than 0)";
  const size_t begin = limits.find('['), middle = limits.find(" - "), end = limits.find(']');
  if (begin == std::string::npos || middle == std::string::npos || end == std::string::npos) {
    return "";
  }
  return " (" + limits.substr(begin + 1, middle - begin - 1) + " to " +
         limits.substr(middle + 3, end - middle - 3) + ")";
}

}  // namespace

std::string HelpFormat::make_help(const CLI::App* command, std::string name,
                                  CLI::AppFormatMode mode) const {
  std::string text = CLI::Formatter::make_help(command, std::move(name), mode);
  // CLI11 writes two empty lines between two groups of options.
  for (size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at)) {
    text.erase(at, 1);
  }
  return text;
}

std::string HelpFormat::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return "";  // a flag
  const std::string type = option->get_type_name();
  const size_t colon = std::min(type.find(':'), type.size());
  const std::string limits = colon == type.size() ? "" : type.substr(colon + 1);
  std::string text = " " + KindText(type.substr(0, colon)) + LimitsText(limits);
  if (limits.size() > 2 && limits.front() == '{') {
    text = " " + limits.substr(1, limits.size() - 2);
    std::replace(text.begin(), text.end(), ',', '|');
  }
  return text + (option->get_required() ? " (required)" : "");
}

std::string Examples(const std::vector<std::string>& lines) {
  std::string text = "Examples:";
  for (const std::string& line : lines) text += "\n  " + line;
  return text;
}

}  // namespace caffe2
