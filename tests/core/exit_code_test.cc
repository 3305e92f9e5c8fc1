#include "caffe2/core/exit_code.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <new>
#include <system_error>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/usage_error.h"

namespace caffe2 {
namespace {

TEST(ExitCodeTest, TypesHaveCodes) {
  EXPECT_EQ(ExitCodeOf(UsageError("u")), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOf(EnforceNotMet("e")), ExitCode::kBadData);
  EXPECT_EQ(ExitCodeOf(TimeoutError("t")), ExitCode::kPeerLost);
  EXPECT_EQ(ExitCodeOf(IoError("i")), ExitCode::kIo);
  EXPECT_EQ(ExitCodeOf(OutOfMemoryError("m")), ExitCode::kSystem);
  EXPECT_EQ(ExitCodeOf(std::bad_alloc()), ExitCode::kSystem);
  EXPECT_EQ(ExitCodeOf(std::system_error(EMFILE, std::generic_category())), ExitCode::kSystem);
  EXPECT_EQ(ExitCodeOf(Error("e")), ExitCode::kInternal);
  EXPECT_EQ(ExitCodeOf(std::logic_error("l")), ExitCode::kInternal);
}

TEST(ExitCodeTest, TheCodeOfAnExceptionCountsMoreThanItsType) {
  EXPECT_EQ(ExitCodeOf(WithExitCode<UsageError>(ExitCode::kNotPermitted, "u")),
            ExitCode::kNotPermitted);
  try {
    ThrowIoError(ExitCode::kNoInput, "no file ", 7);
    FAIL();
  } catch (IoError& error) {
    error.AddContext("in a net");
    EXPECT_EQ(ExitCodeOf(error), ExitCode::kNoInput);
    EXPECT_STREQ(error.what(), "no file 7 (in a net)");
  }
}

TEST(ExitCodeTest, WriteErrors) {
  for (const int error : {ENOSPC, EDQUOT, EFBIG, EROFS, EACCES, ENOENT}) {
    EXPECT_EQ(WriteErrorCode(error), ExitCode::kCannotWrite) << error;
  }
  EXPECT_EQ(WriteErrorCode(EIO), ExitCode::kIo);
}

TEST(ExitCodeTest, Descriptions) {
  EXPECT_EQ(DescribeExitStatus(75), "peer lost");
  EXPECT_EQ(DescribeExitStatus(128 + 9), "signal 9 (Killed)");
  EXPECT_EQ(DescribeExitStatus(1), "");
  EXPECT_EQ(DescribeExitStatus(255), "");
}

}  // namespace
}  // namespace caffe2
