#include "train/observe/run_trace.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

// Exchanges at the given times of shard 0, each entered and left by the other shard so much later
// than by shard 0. The clock of the other shard is `ahead`.
std::vector<ExchangeTimes> Seen(const std::vector<ExchangeTimes>& first, int64_t ahead,
                                int64_t entered_later, int64_t left_later) {
  std::vector<ExchangeTimes> seen;
  for (const ExchangeTimes& each : first) {
    seen.push_back({each.entered + ahead + entered_later, each.left + ahead + left_later});
  }
  return seen;
}

const std::vector<ExchangeTimes> kFirst = {{1000, 1300}, {2000, 2100}, {3000, 3500}};

TEST(RunTraceTest, TheShortestExchangeBoundsTheOffset) {
  const ClockOffset offset = AlignClock(kFirst, Seen(kFirst, 1'000'000, 0, 0), false);
  EXPECT_EQ(offset.ahead, 1'000'000);
  EXPECT_EQ(offset.error, 100);  // the second exchange took so long
}

TEST(RunTraceTest, TheTrueOffsetIsWithinTheError) {
  for (const int64_t ahead : std::vector<int64_t>{-5'000'000'000, -7, 0, 12, 8'000'000'000}) {
    for (const int64_t entered : {-80, 0, 90}) {
      for (const int64_t left : {-5, 0, 300}) {
        const ClockOffset offset = AlignClock(kFirst, Seen(kFirst, ahead, entered, left), false);
        EXPECT_LE(std::abs(offset.ahead - ahead), offset.error) << ahead << " " << entered;
        EXPECT_LE(offset.error, 400);
      }
    }
  }
}

TEST(RunTraceTest, OneClockNeedsNoEstimate) {
  const ClockOffset same = AlignClock(kFirst, Seen(kFirst, 0, 40, 10), true);
  EXPECT_EQ(same.ahead, 0);
  EXPECT_EQ(same.error, 0);
  // Containers of one machine may have clocks of their own.
  const ClockOffset other = AlignClock(kFirst, Seen(kFirst, 5000, 0, 0), true);
  EXPECT_EQ(other.ahead, 5000);
  EXPECT_EQ(other.error, 100);
}

TEST(RunTraceTest, OtherNumbersOfExchangesAreAnError) {
  EXPECT_THROW(AlignClock(kFirst, {{0, 1}}, false), EnforceNotMet);
  EXPECT_THROW(AlignClock({}, {}, false), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2
