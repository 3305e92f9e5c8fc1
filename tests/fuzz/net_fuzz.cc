// NetDef files, text and binary, and the check of models on them.
#include "caffe2/utils/net_io.h"
#include "tests/fuzz/fuzz_target.h"
#include "train/restrict_model.h"

namespace caffe2::testing {
namespace {

void Check(NetDef net) {
  ModelLimits limits;
  limits.max_operators = 1000;
  RestrictModel("fuzz", limits, &net);
}

}  // namespace

FUZZ_TARGET(NetText, "net_text", 2000) { Check(ParseNetDefText(std::string(bytes), "fuzz")); }

FUZZ_TARGET(NetBinary, "net_binary", 2000) {
  const FuzzFile file(bytes);
  Check(ReadNetDef(file.path()));
}

}  // namespace caffe2::testing
