// The flags of the trainers, and lists and URLs in them: lines "name=value".
#include "examples/trainer_flags.h"
#include "tests/fuzz/fuzz_target.h"

namespace caffe2::testing {
namespace {

// Flags that name files are left out: the fuzzer must not read or write any.
bool NamesFiles(const std::string& name) {
  for (const char* part : {"path", "file", "data", "dir"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

void SetFlag(const std::string& name, const std::string& value) {
  gflags::CommandLineFlagInfo info;
  if (!gflags::GetCommandLineFlagInfo(name.c_str(), &info)) {
    AdviceOnFlag(name);
  } else if (info.filename.find("examples/") != std::string::npos && !NamesFiles(name)) {
    gflags::SetCommandLineOption(name.c_str(), value.c_str());
  }
}

}  // namespace

FUZZ_TARGET(Flags, "flags", 2000) {
  const gflags::FlagSaver saver;
  FLAGS_use_cpu = true;
  FLAGS_train_data = "null";
  for (const std::string& line : FuzzLines(bytes)) {
    const size_t equal = std::min(line.find('='), line.size());
    SetFlag(line.substr(0, equal), line.substr(std::min(equal + 1, line.size())));
  }
  const Launch launch = LaunchFromFlags(/*names_directory=*/false);
  const TrainOptions options =
      OptionsFromFlags(ShardOptionsFromFlags(launch, "/nonexistent"), 128.f, 128.f);
  Validate(options);
}

FUZZ_TARGET(StoreUrl, "store_url", 5000) {
  const StoreUrl url = ParseStoreUrl(std::string(bytes));
  const std::string shown = url.ToString();
  // Not a search for the password: "s://host:6" is part of "redis://host:6379" anyway.
  StoreUrl without = url;
  without.password.clear();
  CHECK(shown == without.ToString()) << "the text depends on the password";
}

}  // namespace caffe2::testing
