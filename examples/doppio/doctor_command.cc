// doppio doctor: looks whether a machine is ready for training.

#include <algorithm>
#include <cstdio>
#include <memory>

#include "caffe2/utils/json_text.h"
#include "examples/doppio/commands.h"
#include "examples/doppio/doctor/checks.h"
#include "examples/doppio/help_format.h"
#include "examples/doppio/redis_flags.h"

namespace caffe2 {

namespace doctor {

Finding Ok(const std::string& topic, const std::string& text) {
  return {topic, Finding::Level::kOk, text, "", ExitCode::kDone};
}
Finding Warning(const std::string& topic, const std::string& text, const std::string& fix) {
  return {topic, Finding::Level::kWarning, text, fix, ExitCode::kDone};
}
Finding Error(const std::string& topic, const std::string& text, const std::string& fix,
              ExitCode code) {
  return {topic, Finding::Level::kError, text, fix, code};
}

}  // namespace doctor

namespace {

using doctor::Finding;
using doctor::Findings;

struct DoctorFlags {
  RedisOptions redis;
  bool check_redis = false, json = false;
  std::string password_file, folder = ".";
};

const char* NameOf(Finding::Level level) {
  return level == Finding::Level::kOk        ? "OK"
         : level == Finding::Level::kWarning ? "warning"
                                             : "error";
}

Findings RunChecks(const DoctorFlags& flags) {
  Findings all;
  const auto add = [&](const Findings& findings) {
    all.insert(all.end(), findings.begin(), findings.end());
  };
  add(doctor::CheckVersions());
  add(doctor::CheckImageFormats());
  add(doctor::CheckProcessor());
  add(doctor::CheckThreads());
  add(doctor::CheckMemory());
  add(doctor::CheckGpus());
  add(doctor::CheckFileDescriptors());
  add(doctor::CheckDisk(flags.folder));
  add(doctor::CheckClock());
  add(doctor::CheckInterfaces());
  add(doctor::CheckAllreduce());
  if (flags.check_redis) {
    RedisOptions redis = flags.redis;
    CheckTlsFiles(redis, "--redis_tls");
    redis.password = FindRedisPassword(flags.password_file);
    add(doctor::CheckRedis(redis));
  }
  return all;
}

void PrintText(const Findings& findings) {
  for (const Finding& each : findings) {
    std::printf("%-7s  %-16s  %s\n", NameOf(each.level), each.topic.c_str(), each.text.c_str());
    if (!each.fix.empty()) std::printf("%-7s  %-16s  -> %s\n", "", "", each.fix.c_str());
  }
  const auto count = [&](Finding::Level level) {
    return std::count_if(findings.begin(), findings.end(),
                         [&](const Finding& each) { return each.level == level; });
  };
  std::printf("%td errors, %td warnings\n", count(Finding::Level::kError),
              count(Finding::Level::kWarning));
}

void PrintJson(const Findings& findings, ExitCode code) {
  std::string list;
  for (const Finding& each : findings) {
    JsonObject finding;
    finding.Add("topic", each.topic).Add("level", NameOf(each.level)).Add("text", each.text);
    finding.Add("fix", each.fix).Add("exit_code", static_cast<int>(each.code));
    list += (list.empty() ? "" : ",\n  ") + finding.ToString();
  }
  std::printf("{\"exit_code\": %d, \"findings\": [\n  %s\n]}\n", static_cast<int>(code),
              list.c_str());
}

int Run(const DoctorFlags& flags) {
  const Findings findings = RunChecks(flags);
  const auto first = std::find_if(findings.begin(), findings.end(), [](const Finding& each) {
    return each.level == Finding::Level::kError;
  });
  const ExitCode code = first == findings.end() ? ExitCode::kDone : first->code;
  flags.json ? PrintJson(findings, code) : PrintText(findings);
  return static_cast<int>(code);
}

}  // namespace

void AddDoctorCommand(CLI::App* program, Action* action) {
  const auto flags = std::make_shared<DoctorFlags>();
  CLI::App* doctor =
      program->add_subcommand("doctor", "look whether this machine is ready for training");
  doctor->footer(
      Examples({"doppio doctor", "doppio doctor --dir checkpoints --redis_host 10.0.0.5"}) +
      "\n\n"
      "Each line is OK, a warning or an error, with what to do. The exit status is 0 without "
      "errors, else as docs/launchers.md says for the first one.");
  doctor->add_option("--dir", flags->folder,
                     "folder for the test of the disk; default: the current one");
  doctor->add_flag("--json", flags->json, "print JSON");
  CLI::Option* host = doctor->add_option("--redis_host", flags->redis.host,
                                         "also look at the Redis server on this host");
  host->group(kRedisGroup);
  AddRedisOptions(doctor, &flags->redis, &flags->password_file);
  doctor->callback([flags, host, action] {
    flags->check_redis = host->count() > 0;
    *action = [flags] { return Run(*flags); };
  });
}

}  // namespace caffe2
