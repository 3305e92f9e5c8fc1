// caffe2/cuda/nccl_absent.cc, which builds without NCCL have in place of nccl.cc.
#include <gtest/gtest.h>

#include <string>

#include "caffe2/core/logging.h"
#include "caffe2/cuda/nccl.h"
#include "tests/core/log_lines.h"

namespace caffe2::cuda {
namespace {

TEST(NcclAbsentTest, ErrorsSayThatThisBuildHasNone) {
  try {
    MakeNcclId();
    FAIL() << "there is no NCCL";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("this build has no NCCL"), std::string::npos);
  }
  EXPECT_THROW(NcclGroup(NcclId(), 0, 2, 0, Stream(), nullptr), Error);
}

TEST(NcclAbsentTest, DevicesOfAProcessHaveNoGroupAndTheLogSaysWhyOnce) {
  const testing::LogLines log;
  EXPECT_EQ(LocalNcclGroup::Of({0, 1}), nullptr);
  EXPECT_EQ(LocalNcclGroup::Of({0, 1}), nullptr);
  EXPECT_EQ(log.Count("collectives among cuda:0, cuda:1 are copies and additions: "
                      "this build has no NCCL"),
            1);
}

TEST(NcclAbsentTest, DevicesThatAreNotDifferentHaveNoGroup) {
  const testing::LogLines log;
  EXPECT_EQ(LocalNcclGroup::Of({0}), nullptr);
  EXPECT_EQ(log.Count("collectives among"), 0);
  EXPECT_EQ(LocalNcclGroup::Of({1, 1}), nullptr);
  EXPECT_EQ(log.Count("collectives among cuda:1, cuda:1 are copies and additions: NCCL needs "
                      "different devices"),
            1);
}

}  // namespace
}  // namespace caffe2::cuda
