// The sub-commands of `doppio`, one file each.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace caffe2 {

// Runs a sub-command; returns the exit status.
using Action = std::function<int()>;

// Each adds a sub-command to the program. If the command line has it, parsing sets *action.
// `command` is the part of the command line after "--"; it and *action must outlive the action.
void AddRunCommand(const std::vector<std::string>& command, CLI::App* program, Action* action);
void AddTrainCommand(CLI::App* program, Action* action);
void AddShardCommand(const std::vector<std::string>& command, CLI::App* program, Action* action);
void AddPredictCommand(const std::vector<std::string>& command, CLI::App* program, Action* action);
void AddDoctorCommand(CLI::App* program, Action* action);
void AddDataCommand(CLI::App* program, Action* action);
void AddReportCommand(CLI::App* program, Action* action);
void AddCompareCommand(CLI::App* program, Action* action);
// convert, inspect and quantize.
void AddPythonCommands(CLI::App* program, Action* action);
// top, runs and clean.
void AddStoreCommands(CLI::App* program, Action* action);
// Add it last: it knows the commands before it, and itself.
void AddCompletionCommand(CLI::App* program, Action* action);

// Lets a trainer of this installation, whose path command[0] is, check its flags, so that a wrong
// one is told once and not by each shard. Returns the status with which it refuses them; 0 for
// other programs.
int CheckTrainerFlags(std::vector<std::string> command);

}  // namespace caffe2
