#include "train/run_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>

#include "caffe2/utils/temporary_file.h"
#include "distributed/run_membership.h"
#include "tests/db/temporary_directory.h"
#include "train/atomic_file.h"

namespace caffe2 {
namespace {

class RunLockTest : public ::testing::Test {
 protected:
  std::string Path() const { return directory_.Path("checkpoint"); }

  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  std::string Content(const std::string& suffix = "") const {
    std::ifstream file(Path() + suffix, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string Contents() const { return Content() + Content(".1") + Content(".2"); }

  std::string ErrorOf(const RunIdentity& identity) const {
    try {
      const RunLock lock(Path(), identity);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }

  testing::TemporaryDirectory directory_;
};

TEST_F(RunLockTest, RefusesASecondRunByName) {
  const RunLock lock(Path(), {"first", 3});
  for (const RunIdentity& other : {RunIdentity{"second", 9}, RunIdentity{"", 9},
                                   RunIdentity{"first", 3}, RunIdentity{"first", 2}}) {
    const std::string error = ErrorOf(other);
    for (const std::string& text :
         {std::string("run first, generation 3"), "pid " + std::to_string(getpid()), Path()}) {
      EXPECT_NE(error.find(text), std::string::npos) << error;
    }
  }
  lock.Check();
}

TEST_F(RunLockTest, RunsOfOneProcessDoNotSupersedeEachOther) {
  const RunLock lock(Path(), {"", 1});
  EXPECT_NE(ErrorOf({"", 1}), "");
}

TEST_F(RunLockTest, LeavesNothingAtItsEnd) {
  { const RunLock lock(Path(), {"run", 1}); }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.Path(".")));
  EXPECT_EQ(ErrorOf({"other", 1}), "");
}

TEST_F(RunLockTest, FollowsNoLinkThatAwaitsIt) {
  const std::string precious = directory_.Path("precious");
  Write(precious, "precious");
  std::filesystem::create_symlink(precious,
                                  MakeString(Path(), ".lock.tmp.", PidScope(), ".", getpid()));
  const RunLock lock(Path(), {"run", 1});
  EXPECT_EQ(std::filesystem::file_size(precious), 8u);
  EXPECT_FALSE(std::filesystem::is_symlink(Path() + ".lock"));
}

TEST_F(RunLockTest, ALinkInPlaceOfTheLockIsRefused) {
  const std::string precious = directory_.Path("precious");
  Write(precious, "precious");
  std::filesystem::create_symlink(precious, Path() + ".lock");
  EXPECT_NE(ErrorOf({"run", 1}).find(".lock: it is a link; remove it"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(precious), 8u);
}

TEST_F(RunLockTest, TheLockOfAKilledProcessDoesNotBlock) {
  const pid_t child = fork();
  if (child == 0) {
    const RunLock lock(Path(), {"killed", 1});
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(Path() + ".lock"));
  EXPECT_EQ(ErrorOf({"other", 1}), "");
}

TEST_F(RunLockTest, ALaterGenerationFencesTheEarlierOne) {
  Write(Path(), "old");
  const auto frozen = std::make_unique<RunLock>(Path(), RunIdentity{"run", 1});
  AtomicFile save({Path(), frozen.get(), 2});
  Write(save.temporary_path(), "of the frozen process");
  const RunLock later(Path(), {"run", 2});
  EXPECT_FALSE(std::filesystem::exists(save.temporary_path()));
  // The frozen process wakes after it has checked the lock, or before.
  EXPECT_THROW(save.Publish(), IoError);
  AtomicFile second({Path(), frozen.get(), 2});
  Write(second.temporary_path(), "of the frozen process");
  EXPECT_THROW(second.Publish(), Superseded);
  EXPECT_EQ(Content(), "old");
  EXPECT_FALSE(std::filesystem::exists(Path() + ".1"));
  AtomicFile own({Path(), &later, 2});
  Write(own.temporary_path(), "new");
  own.Publish();
  EXPECT_EQ(Content(), "new");
}

// Another process takes the lock and saves three times, while this one is frozen.
void SaveInALaterGeneration(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    const RunLock later(path, {"run", 2});
    for (const char* text : {"a", "b", "c"}) {
      AtomicFile file({path, &later, 3});
      std::ofstream(file.temporary_path()) << text;
      file.Publish();
    }
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(RunLockTest, AProcessFrozenWhileItRenamesHarmsNoLaterFile) {
  constexpr int kRenames = 3;  // of a save that keeps three files
  for (int frozen_at = 0; frozen_at < kRenames; ++frozen_at) {
    std::filesystem::remove(Path() + ".lock");
    Write(Path(), "3");
    Write(Path() + ".1", "2");
    Write(Path() + ".2", "1");
    const RunLock frozen(Path(), {"run", 1});
    int renames = 0;
    AtomicFile save({Path(), &frozen, 3, [&] {
                       if (renames++ == frozen_at) SaveInALaterGeneration(Path());
                     }});
    Write(save.temporary_path(), "4");
    EXPECT_THROW(save.Publish(), IoError) << frozen_at;
    EXPECT_EQ(Contents(), "cba") << frozen_at;
    EXPECT_EQ(renames, frozen_at + 1);
  }
}

TEST_F(RunLockTest, TheFencedOwnerDoesNotTakeTheLockWithIt) {
  auto frozen = std::make_unique<RunLock>(Path(), RunIdentity{"run", 1});
  const RunLock later(Path(), {"run", 2});
  frozen.reset();
  later.Check();
}

TEST_F(RunLockTest, ALockFileThatWasRemovedIsMadeAgain) {
  const RunLock lock(Path(), {"run", 1});
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(std::filesystem::remove(Path() + ".lock"));
    lock.Check();
    EXPECT_NE(ErrorOf({"other", 1}).find("run run, generation 1"), std::string::npos);
  }
}

TEST_F(RunLockTest, AFencedOwnerStaysFencedAfterTheEndOfTheLaterOne) {
  const RunLock frozen(Path(), {"run", 1});
  { const RunLock later(Path(), {"run", 2}); }
  ASSERT_FALSE(std::filesystem::exists(Path() + ".lock"));
  try {
    frozen.Check();
    ADD_FAILURE() << "no error";
  } catch (const Superseded& error) {
    EXPECT_NE(std::string(error.what()).find("run run, generation 2"), std::string::npos)
        << error.what();
  }
  EXPECT_FALSE(std::filesystem::exists(Path() + ".lock"));
}

TEST_F(RunLockTest, ALockFileThatCannotBeReadEndsOneSaveOnly) {
  const RunLock lock(Path(), {"run", 1});
  Write(Path() + ".lock", "");
  try {
    lock.Check();
    ADD_FAILURE() << "no error";
  } catch (const Superseded& error) {
    ADD_FAILURE() << error.what();
  } catch (const IoError& error) {
    EXPECT_NE(std::string(error.what()).find("cannot read"), std::string::npos) << error.what();
  }
}

TEST_F(RunLockTest, ALaterStartIsNoLaterGeneration) {
  const RunLock first(Path(), {"run", 2});
  for (const int generation : {1, 2}) {
    EXPECT_NE(ErrorOf({"run", generation}).find("run run, generation 2"), std::string::npos);
  }
  first.Check();
}

// A run of the same name in another store, which has been restarted more often.
TEST_F(RunLockTest, ARunOfTheSameNameInAnotherStoreIsRefused) {
  const RunLock first(Path(), {"run", 2, "aa"});
  for (const char* token : {"bb", ""}) {
    EXPECT_NE(ErrorOf({"run", 3, token}).find("run run, generation 2"), std::string::npos) << token;
  }
  first.Check();
  const RunLock later(Path(), {"run", 3, "aa"});
  EXPECT_THROW(first.Check(), Superseded);
}

// With parameter servers: worker 1 writes models once worker 0, which may only be frozen, was given
// up, and worker 2 after it.
TEST_F(RunLockTest, ALaterWriterOfTheSameGenerationFencesTheEarlierOne) {
  Write(Path(), "old");
  const RunLock frozen(Path(), {"run", 2, "aa", 0});
  AtomicFile save({Path(), &frozen});
  Write(save.temporary_path(), "of the frozen process");
  {
    const RunLock next(Path(), {"run", 2, "aa", 1});
    EXPECT_THROW(save.Publish(), IoError);
    AtomicFile second({Path(), &frozen});
    Write(second.temporary_path(), "of the frozen process");
    EXPECT_THROW(second.Publish(), Superseded);
    EXPECT_EQ(Content(), "old");
    AtomicFile own({Path(), &next});
    Write(own.temporary_path(), "new");
    own.Publish();
    EXPECT_EQ(Content(), "new");
    const RunLock third(Path(), {"run", 2, "aa", 2});
    EXPECT_THROW(next.Check(), Superseded);
  }
  EXPECT_THROW(frozen.Check(), Superseded);
}

TEST_F(RunLockTest, AWriterSupersedesNoneAfterItNorALaterGenerationNorAnotherRun) {
  const RunLock lock(Path(), {"run", 2, "aa", 1});
  for (const RunIdentity& other : {RunIdentity{"run", 2, "aa", 1}, RunIdentity{"run", 2, "aa", 0},
                                   RunIdentity{"run", 1, "aa", 9}, RunIdentity{"run", 2, "bb", 9},
                                   RunIdentity{"other", 2, "aa", 9}}) {
    EXPECT_NE(ErrorOf(other).find("run run, generation 2"), std::string::npos) << other.writer;
  }
  lock.Check();
  const RunLock later(Path(), {"run", 3, "aa", 0});
  EXPECT_THROW(lock.Check(), Superseded);
}

TEST_F(RunLockTest, KeepsTheFilesBefore) {
  for (const char* text : {"1", "2", "3", "4"}) {
    AtomicFile file({Path(), nullptr, 3});
    Write(file.temporary_path(), text);
    file.Publish();
  }
  EXPECT_EQ(Contents(), "432");
  EXPECT_FALSE(std::filesystem::exists(Path() + ".3"));
}

}  // namespace
}  // namespace caffe2
