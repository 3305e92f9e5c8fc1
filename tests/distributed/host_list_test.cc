#include "distributed/host_list.h"

#include <gtest/gtest.h>

#include "caffe2/core/usage_error.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

using Hosts = std::vector<std::string>;

TEST(HostListTest, RangesKeepTheirZeros) {
  EXPECT_EQ(ExpandHostList("V", "n[1-3,07-09,12],m5"),
            (Hosts{"n1", "n2", "n3", "n07", "n08", "n09", "n12", "m5"}));
  EXPECT_EQ(ExpandHostList("V", "localhost"), Hosts{"localhost"});
  EXPECT_EQ(ExpandHostList("V", "a,b-1,c.example"), (Hosts{"a", "b-1", "c.example"}));
  EXPECT_EQ(ExpandHostList("V", "n[8-11]"), (Hosts{"n8", "n9", "n10", "n11"}));
  EXPECT_EQ(ExpandHostList("V", "n[098-101]"), (Hosts{"n098", "n099", "n100", "n101"}));
}

TEST(HostListTest, NamesMayGoOnAfterARange) {
  EXPECT_EQ(ExpandHostList("V", "n[1-2]-ib,m"), (Hosts{"n1-ib", "n2-ib", "m"}));
  EXPECT_EQ(ExpandHostList("V", "r[1-2]n[3-4]"), (Hosts{"r1n3", "r1n4", "r2n3", "r2n4"}));
}

TEST(HostListTest, WrongListsAreErrorsThatNameTheVariable) {
  for (const char* list : {"", ",", "n1,", "n[", "n]", "n[1", "n[1-]", "n[-1]", "n[3-1]", "n[a-b]",
                           "n[]", "n[1,,2]", "n[[1]]", "n[1-2-3]", "n[0-99999999]", "n[1-65537]",
                           "n[1-300]m[1-300]", "n[99999999999999999999]"}) {
    EXPECT_THROW(ExpandHostList("SLURM_STEP_NODELIST", list), UsageError) << list;
    EXPECT_HAS(ErrorOf([&] { ExpandHostList("SLURM_STEP_NODELIST", list); }),
               std::string("SLURM_STEP_NODELIST=\"") + list);
  }
  EXPECT_EQ(ExpandHostList("V", "n[1-65536]").size(), 65536U);
}

}  // namespace
}  // namespace caffe2::testing
