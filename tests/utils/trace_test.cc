#include "caffe2/utils/trace.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

TEST(TraceTest, SpansAreThoseOfTheRecording) {
  { const TracedSpan before("test", "before"); }
  StartTrace(100);
  EXPECT_TRUE(TraceIsOn());
  {
    const TracedSpan outer("test", "outer", "one");
    const TracedSpan inner("other", "inner");
  }
  const Trace trace = StopTrace();
  EXPECT_FALSE(TraceIsOn());
  { const TracedSpan after("test", "after"); }
  ASSERT_EQ(trace.spans.size(), 2u);
  const TraceSpan &inner = trace.spans[0], &outer = trace.spans[1];
  EXPECT_EQ(inner.name, "inner");
  EXPECT_STREQ(inner.category, "other");
  EXPECT_EQ(outer.name, "outer one");
  EXPECT_EQ(outer.thread, inner.thread);
  EXPECT_LE(outer.start, inner.start);
  EXPECT_LE(inner.start, inner.end);
  EXPECT_LE(inner.end, outer.end);
  EXPECT_EQ(trace.dropped, 0);
}

TEST(TraceTest, ASpanThatIsUnderWayAtAnEndOfTheRecordingIsLeftOut) {
  auto early = std::make_unique<TracedSpan>("test", "early");
  StartTrace(100);
  early.reset();
  auto late = std::make_unique<TracedSpan>("test", "late");
  EXPECT_TRUE(StopTrace().spans.empty());
  late.reset();
}

TEST(TraceTest, SpansBeyondTheLimitAreCounted) {
  StartTrace(3);
  for (int i = 0; i < 5; ++i) const TracedSpan span("test", "span");
  const Trace trace = StopTrace();
  EXPECT_EQ(trace.spans.size(), 3u);
  EXPECT_EQ(trace.dropped, 2);
}

TEST(TraceTest, ThreadsHaveNumbersOfTheirOwn) {
  StartTrace(1000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 50; ++k) const TracedSpan span("test", "span");
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<int, int> counts;
  for (const TraceSpan& span : StopTrace().spans) ++counts[span.thread];
  ASSERT_EQ(counts.size(), 4u);
  for (const auto& [thread, count] : counts) EXPECT_EQ(count, 50) << thread;
}

TEST(TraceTest, ThereIsOneRecordingAtATime) {
  EXPECT_THROW(StopTrace(), EnforceNotMet);
  StartTrace(1);
  EXPECT_THROW(StartTrace(1), EnforceNotMet);
  StopTrace();
}

}  // namespace
}  // namespace caffe2
