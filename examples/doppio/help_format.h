// How the sub-commands of `doppio` write their --help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace caffe2 {

// Writes what an option takes as people do: "NUMBER (1 to 65536)" for CLI11's "INT:INT in [1 -
// 65536]", "local|ssh" for "TEXT:{local,ssh}".
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* command, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
};

// "Examples:", and a line for each of them: text for the end of a help.
std::string Examples(const std::vector<std::string>& lines);

}  // namespace caffe2
