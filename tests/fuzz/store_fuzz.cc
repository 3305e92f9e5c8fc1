// Values in the store: records of runs, and whole runs that are joined. Lines "key=value".
#include "distributed/memory_store_handler.h"
#include "distributed/run_blame.h"
#include "distributed/run_membership.h"
#include "distributed/run_record.h"
#include "tests/fuzz/fuzz_target.h"

namespace caffe2::testing {

FUZZ_TARGET(RunRecord, "run_record", 5000) {
  const std::string text(bytes);
  if (const auto record = ParseRecord(text)) {
    const auto again = ParseRecord(FormatRecord(*record));
    CHECK(again && *again == *record) << FormatRecord(*record);
    DescribeDifference(*record, {{"shard", "0"}, {"num_shards", "2"}});
  }
  if (const auto member = MemberRecord::Parse(text)) {
    member->Describe();
    member->AgeSeconds();
    member->process.IsAlive();
    const auto again = MemberRecord::Parse(member->Format());
    CHECK(again && again->Format() == member->Format());
  }
  const RunFailure failure = RunFailure::Parse(text);
  CHECK(RunFailure::Parse(failure.Format()).line == failure.line);
  const int generation = ParseGeneration(text);
  CHECK(generation >= 1 && generation <= 1'000'000'000);
  const std::string token = ParseRunToken(text);
  CHECK(ParseRunToken(FormatGeneration(generation, token)) == token);
  CHECK_LE(OneLine(text).size(), 1000u);
  FindLaggingShard(0, {5, "Allreduce"}, {"", text, text});
}

FUZZ_TARGET(Store, "store", 15) {
  const StoreFactory stores = MemoryStores();
  const auto store = stores("run");
  for (const std::string& line : FuzzLines(bytes)) {
    const size_t equal = std::min(line.find('='), line.size());
    store->Put(line.substr(0, equal), line.substr(std::min(equal + 1, line.size())));
  }
  RunOptions options;
  options.run_id = "run";
  options.num_shards = 2;
  options.join_timeout = milliseconds(20);
  options.heartbeat = milliseconds(2);
  options.lease = options.exit_timeout = milliseconds(10);
  RunMembership::Join(stores, options)->Leave();
}

}  // namespace caffe2::testing
