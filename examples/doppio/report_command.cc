// doppio report and doppio compare: pages about runs.
#include <cstdio>
#include <memory>

#include "examples/doppio/commands.h"
#include "examples/doppio/help_format.h"
#include "examples/doppio/html.h"
#include "examples/doppio/report/page.h"
#include "train/atomic_file.h"

namespace caffe2 {

void AddReportCommand(CLI::App* program, Action* action) {
  struct Flags {
    std::string directory, output;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = program->add_subcommand(
      "report", "write a page about a run: doppio report LOG_DIR [--output report.html]");
  command->footer(Examples({"doppio report runs/1", "doppio report runs/1 --output lenet.html"}) +
                  "\n\nThe page needs no server and no other file.");
  command->add_option("directory", flags->directory, "what a trainer wrote with --log_dir")
      ->required();
  command->add_option("--output", flags->output, "the page; default: report.html in the directory");
  command->callback([flags, action] {
    *action = [flags] {
      const std::string path =
          flags->output.empty() ? flags->directory + "/report.html" : flags->output;
      const std::string page = report::ReportPage(report::ReadRunRecords(flags->directory));
      CheckPagePath(path);
      WriteWholeFile(path, page);
      std::printf("%s\n", path.c_str());
      return 0;
    };
  });
}

void AddCompareCommand(CLI::App* program, Action* action) {
  struct Flags {
    std::string a, b, html;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command =
      program->add_subcommand("compare", "compare two runs: doppio compare LOG_DIR LOG_DIR");
  command->add_option("first", flags->a, "what a trainer wrote with --log_dir")->required();
  command->add_option("second", flags->b, "the same of the other run")->required();
  command->add_option("--html", flags->html, "also write a page with curves");
  command->footer(
      Examples({"doppio compare runs/1 runs/2", "doppio compare runs/1 runs/2 --html both.html"}));
  command->callback([flags, action] {
    *action = [flags] {
      const auto a = report::ReadRunRecords(flags->a), b = report::ReadRunRecords(flags->b);
      if (!flags->html.empty()) {
        CheckPagePath(flags->html);
        WriteWholeFile(flags->html, report::ComparePage(a, b));
      }
      std::fputs(report::CompareText(a, b).c_str(), stdout);
      return 0;
    };
  });
}

}  // namespace caffe2
