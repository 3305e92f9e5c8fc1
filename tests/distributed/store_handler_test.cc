#include "distributed/store_handler.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "caffe2/utils/temporary_file.h"
#include "distributed/file_store_handler.h"
#include "distributed/memory_store_handler.h"
#include "distributed/prefix_store_handler.h"
#include "distributed/signed_store.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

// The contract, the same for every kind of store.
class StoreHandlerTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto is = [](const char* kind) { return GetParam().find(kind) != std::string::npos; };
    if (is("memory")) {
      stores_ = MemoryStores();
    } else if (is("file")) {
      stores_ = FileStores(directory_.path());
    } else {
      redis_ = std::make_unique<PrivateRedis>();
      REQUIRE_REDIS(*redis_);
      stores_ = RedisStores(redis_->options());
    }
    if (is("signed")) stores_ = SignedStores(stores_, "a secret of the run");
  }

  TemporaryDirectory directory_;
  std::unique_ptr<PrivateRedis> redis_;
  StoreFactory stores_;
};

TEST_P(StoreHandlerTest, SetGetRemove) {
  auto store = stores_("run");
  const std::string binary("\0\n\xff\r\n$-1", 9);
  EXPECT_EQ(store->TryGet("a/b"), std::nullopt);
  EXPECT_FALSE(store->Check({"a/b"}));
  EXPECT_TRUE(store->SetIfAbsent("a/b", binary));
  EXPECT_FALSE(store->SetIfAbsent("a/b", "other"));
  EXPECT_HAS(ErrorOf([&] { store->Set("a/b", "other"); }), "key a/b was already set");
  EXPECT_EQ(store->Get("a/b"), binary);
  EXPECT_EQ(stores_("run")->Get("a/b"), binary);            // another connection
  EXPECT_EQ(stores_("ru")->TryGet("n/a/b"), std::nullopt);  // another run
  store->Put("a/b", "", milliseconds(0));
  EXPECT_EQ(store->Get("a/b"), "");
  EXPECT_TRUE(store->Remove("a/b"));
  EXPECT_FALSE(store->Remove("a/b"));
  EXPECT_FALSE(store->Check({"a/b"}));
}

TEST_P(StoreHandlerTest, AddCountsEveryCallOnce) {
  std::atomic<int64_t> largest{0};
  RunThreads(4, [&](int) {
    auto store = stores_("run");
    for (int i = 0; i < 10; ++i) largest = std::max<int64_t>(largest, store->Add("count", 1));
  });
  auto store = stores_("run");
  EXPECT_EQ(store->Add("count", -2), 38);
  EXPECT_EQ(store->Get("count"), "38");
  EXPECT_TRUE(store->Remove("count"));
  EXPECT_EQ(store->Add("count", 5), 5);
}

TEST_P(StoreHandlerTest, OneOfManyPublishes) {
  std::atomic<int> winners{0};
  RunThreads(8, [&](int shard) {
    winners += stores_("run")->SetIfAbsent("key", std::to_string(shard)) ? 1 : 0;
  });
  EXPECT_EQ(winners, 1);
}

TEST_P(StoreHandlerTest, WaitKeepsItsDeadlineAndNamesKeys) {
  auto store = stores_("run");
  store->Set("there", "1");
  const auto start = std::chrono::steady_clock::now();
  const std::string error = ErrorOf([&] {
    store->Wait({"there", "missing/1", "missing/2"}, milliseconds(600));
  });
  EXPECT_GE(SecondsSince(start), 0.6);
  EXPECT_LT(SecondsSince(start), 0.6 + kSlackSeconds);
  EXPECT_HAS(error, "waited 600 ms for 2 of 3 keys");
  EXPECT_HAS(error, "missing/1, missing/2");
  EXPECT_THROW(store->Get("missing/1", milliseconds(0)), TimeoutError);
}

TEST_P(StoreHandlerTest, WaitSeesWhatOthersSet) {
  RunThreads(2, [&](int shard) {
    auto store = stores_("run");
    if (shard == 0) {
      SleepMs(100);
      store->Set("key", "value");
    } else {
      EXPECT_EQ(store->Get("key", milliseconds(5000)), "value");
    }
  });
}

TEST_P(StoreHandlerTest, PrefixSeparatesKeys) {
  PrefixStoreHandler one(stores_("run"), "1"), eleven(stores_("run"), "11");
  one.Set("1/key", "a");
  EXPECT_FALSE(eleven.Check({"key"}));
  EXPECT_EQ(stores_("run")->Get("1/1/key"), "a");
  EXPECT_EQ(one.Add("count", 3), 3);
  EXPECT_TRUE(one.Remove("1/key"));
}

TEST_P(StoreHandlerTest, KeysExpireWhereTheStoreKeepsTime) {
  if (GetParam().find("file") == 0) GTEST_SKIP() << "files do not expire";
  auto store = stores_("run");
  store->Put("short", "1", milliseconds(2000));
  store->SetFields("fields", {{"host", "a"}, {"pid", "17"}}, milliseconds(2000));
  store->Set("long", "1");
  store->Expire("long", milliseconds(60000));
  EXPECT_TRUE(store->Check({"short", "long", "fields"}));
  SleepMs(2200);
  EXPECT_FALSE(store->Check({"short"}));
  EXPECT_FALSE(store->Check({"fields"}));
  EXPECT_TRUE(store->Check({"long"}));
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreHandlerTest,
                         ::testing::Values("memory", "file", "redis", "memory_signed",
                                           "file_signed", "redis_signed"),
                         [](const auto& info) { return info.param; });

TEST(FileStoreHandlerTest, NamesAreReadableAndPrivate) {
  TemporaryDirectory directory;
  {
    auto store = NewFileStore(directory.path(), "run.1");
    store->Set("1/allreduce_0_cw_op/0", "x");
    store->Set("..", "x");
    store->SetFields("status/0", {{"host", "a"}, {"pid", "17"}}, milliseconds(0));
    EXPECT_EQ(directory.Files("run.1"),
              (std::vector<std::string>{"%2E.", "1%2Fallreduce_0_cw_op%2F0", "status%2F0"}));
    struct stat info;
    ASSERT_EQ(stat((directory.path() + "/run.1").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
    std::ifstream status(directory.path() + "/run.1/status%2F0");
    EXPECT_EQ(std::string((std::istreambuf_iterator<char>(status)), {}), "host: a\npid: 17\n");
    // Of a process that is gone, and of this one.
    std::ofstream(MakeString(directory.path(), "/run.1/.tmp.", PidScope(), ".4194305.1")) << "x";
    const std::string own = MakeString(".tmp.", PidScope(), ".", getpid(), ".0");
    // A container with the same host name, in which other processes have these numbers.
    const std::string other = MakeString(".tmp.", PidScope(), "9.4194305.1");
    for (const std::string& name : {own, other}) {
      std::ofstream(directory.path() + "/run.1/" + name) << "x";
    }
    store->RemoveLeftovers("1/");
    for (const std::string& name : {own, other}) {
      EXPECT_EQ(unlink((directory.path() + "/run.1/" + name).c_str()), 0) << name;
    }
    EXPECT_EQ(directory.Files("run.1"), (std::vector<std::string>{"%2E.", "status%2F0"}));
    store->RemoveLeftovers("");
  }
  EXPECT_TRUE(directory.Files().empty());  // the last handler took the empty directory along
}

TEST(FileStoreHandlerTest, DamagedFileIsAnError) {
  TemporaryDirectory directory;
  auto store = NewFileStore(directory.path(), "run");
  for (const char* content : {"", "5\nab", "2\nabc", "abc", "99999999999999999999\na", "-1\n"}) {
    std::ofstream(directory.path() + "/run/key") << content;
    EXPECT_HAS(ErrorOf([&] { store->TryGet("key"); }), "is damaged") << content;
  }
}

TEST(FileStoreHandlerTest, WaitsForTheRestOfAFileUntilTheDeadline) {
  TemporaryDirectory directory;
  auto store = NewFileStore(directory.path(), "run");
  store->SetDeadline(Deadline(milliseconds(20000)));
  const std::string path = directory.path() + "/run/key";
  std::ofstream(path) << "";
  std::thread writer([&] {
    SleepMs(700);
    std::ofstream(path) << "2\na";
    SleepMs(700);
    std::ofstream(path, std::ios::app) << "b";
  });
  EXPECT_EQ(store->TryGet("key"), "ab");
  writer.join();
  store->SetDeadline(Deadline(milliseconds(1000)));
  std::ofstream(path) << "3\nab";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_HAS(ErrorOf([&] { store->TryGet("key"); }), "is damaged");
  EXPECT_GE(SecondsSince(start), 0.9);
}

TEST(FileStoreHandlerTest, BadDirectoriesAreRefused) {
  TemporaryDirectory directory;
  EXPECT_HAS(ErrorOf([&] { NewFileStore(directory.path() + "/none", "run"); }), "No such file");
  std::ofstream(directory.path() + "/file") << "x";
  EXPECT_HAS(ErrorOf([&] { NewFileStore(directory.path() + "/file", "run"); }), "not a directory");
  EXPECT_HAS(ErrorOf([&] { NewFileStore(directory.path(), "file"); }), "is not a directory");
  ASSERT_EQ(symlink("/tmp", (directory.path() + "/link").c_str()), 0);
  EXPECT_HAS(ErrorOf([&] { NewFileStore(directory.path(), "link"); }), "is not a directory");
  mkdir((directory.path() + "/open").c_str(), 0700);
  chmod((directory.path() + "/open").c_str(), 0777);
  EXPECT_HAS(ErrorOf([&] { NewFileStore(directory.path(), "open"); }), "writable by others");
  EXPECT_THROW(NewFileStore(directory.path(), "run")->Set(std::string(300, 'a'), ""),
               EnforceNotMet);
}

TEST(FileStoreHandlerTest, AnUnprotectedDirectoryForEverybodyIsRefused) {
  TemporaryDirectory directory;
  const std::string path = directory.path();
  chmod(path.c_str(), 0777);
  EXPECT_HAS(ErrorOf([&] { NewFileStore(path, "run"); }),
             path + " is refused: everybody may write");
  EXPECT_FALSE(std::filesystem::exists(path + "/run"));
  for (const mode_t mode : {01777u, 02775u, 0775u, 0700u}) {
    chmod(path.c_str(), mode);
    const std::string key = std::to_string(mode);
    EXPECT_EQ(ErrorOf([&] { NewFileStore(path, "run")->Set(key, "value"); }), "no error") << mode;
  }
}

TEST(FileStoreHandlerTest, FullDiskLeavesNoKey) {
  TemporaryDirectory directory;
  if (mount("none", directory.path().c_str(), "tmpfs", 0, "size=16k") != 0) {
    GTEST_SKIP() << "cannot mount a small file system";
  }
  std::string error;
  bool visible = true;
  {
    auto store = NewFileStore(directory.path(), "run");
    error = ErrorOf([&] { store->Set("key", std::string(60000, 'x')); });
    visible = store->Check({"key"});
  }
  const auto files = directory.Files("run");
  umount2(directory.path().c_str(), MNT_DETACH);
  EXPECT_HAS(error, "No space left on device");
  EXPECT_FALSE(visible);
  EXPECT_TRUE(files.empty());
}

}  // namespace
}  // namespace caffe2::testing
