// Processes that write an LMDB while this one reads it.
#include "db/lmdb_snapshot.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "db/lmdb_file.h"
#include "tests/db/db_test_util.h"
#include "tests/db/temporary_directory.h"

namespace caffe2::testing {
namespace {

constexpr int kRecords = 500;

Records RecordsOf(char fill) {
  return MakeRecords(kRecords,
                     [fill](int i) { return std::string(i % 50 == 0 ? 9000 : 300, fill); });
}

// A process that writes the whole database anew, again and again, in transactions of their own.
class Writer {
 public:
  explicit Writer(const std::string& path) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    commits_ = ends[0];
    pid_ = fork();
    if (pid_ != 0) {
      close(ends[1]);
      return;
    }
    const auto database = db::CreateDB("lmdb", path, db::WRITE);
    for (char fill = 'B';; fill = fill == 'Y' ? 'B' : static_cast<char>(fill + 1)) {
      const auto transaction = database->NewTransaction();
      for (const auto& [key, value] : RecordsOf(fill)) transaction->Put(key, value);
      transaction->Commit();
      if (write(ends[1], &fill, 1) != 1) _exit(0);
    }
  }
  ~Writer() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(commits_);
  }

  pid_t pid() const { return pid_; }
  void WaitForCommits(int n) const {
    char fill;
    for (int i = 0; i < n; ++i) ASSERT_EQ(read(commits_, &fill, 1), 1);
  }

 private:
  pid_t pid_;
  int commits_;
};

class LmdbSnapshotTest : public ::testing::Test {
 protected:
  void SetUp() override { WriteDB("lmdb", path_, RecordsOf('A')); }

  // All values; they must belong to one transaction.
  static std::string ValuesOf(db::LmdbFile* file) {
    std::string fills, key, value;
    for (int64_t i = 0; i < file->NumRecords(); ++i) {
      file->Read(i, &key, &value);
      EXPECT_EQ(value, std::string(value.size(), value[0]));
      fills += value[0];
    }
    return fills;
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("db");
  const std::string file_ = directory_.Path("db/data.mdb");
};

TEST_F(LmdbSnapshotTest, AReaderGoesOnWhileAnotherProcessWrites) {
  db::LmdbFile before(file_);
  const Writer writer(path_);
  for (int round = 0; round < 20; ++round) {
    writer.WaitForCommits(3);
    EXPECT_EQ(ValuesOf(&before), std::string(kRecords, 'A'));
    // It shares the place of the first one in the table, and sees a later state.
    db::LmdbFile now(file_);
    const std::string values = ValuesOf(&now);
    ASSERT_EQ(values.size(), static_cast<size_t>(kRecords));
    EXPECT_NE(values[0], 'A');
    EXPECT_EQ(values, std::string(kRecords, values[0]));
    EXPECT_EQ(ValuesOf(&now), values);
  }
}

TEST_F(LmdbSnapshotTest, ReadersOpenAndCloseWhileAnotherProcessWrites) {
  const Writer writer(path_);
  for (int round = 0; round < 40; ++round) {
    writer.WaitForCommits(1);
    db::LmdbFile now(file_);
    const std::string values = ValuesOf(&now);
    EXPECT_EQ(values, std::string(kRecords, values.at(0)));
  }
}

// With a lock file that the readers must not change. A process of root may, so the test takes the
// file away; the writer makes a new one.
TEST_F(LmdbSnapshotTest, WithoutAPlaceTheWriterIsNamed) {
  std::filesystem::remove(db::LmdbLockFile(file_));
  db::LmdbFile reader(file_);
  EXPECT_EQ(ValuesOf(&reader), std::string(kRecords, 'A'));
  const Writer writer(path_);
  writer.WaitForCommits(2);
  const std::string message = ThrownMessage<IoError>([&] { ValuesOf(&reader); });
  EXPECT_NE(message.find(file_ + " was written while it was read: this process reads transaction"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("opened by pid " + std::to_string(writer.pid()) + " ("), std::string::npos)
      << message;
}

TEST_F(LmdbSnapshotTest, OneCommitOfAWriterDoesNotHarmAReaderWithoutAPlace) {
  std::filesystem::remove(db::LmdbLockFile(file_));
  db::LmdbFile reader(file_);
  const auto database = db::CreateDB("lmdb", path_, db::WRITE);
  const auto transaction = database->NewTransaction();
  transaction->Put("x", "y");
  transaction->Commit();
  EXPECT_EQ(ValuesOf(&reader), std::string(kRecords, 'A'));
}

TEST_F(LmdbSnapshotTest, AProcessThatWritesTheDatabaseTakesNoPlace) {
  const auto held = db::LmdbSnapshot::Take(file_);
  ASSERT_NE(held, nullptr);
  EXPECT_TRUE(held->held());
  {
    const auto database = db::CreateDB("lmdb", path_, db::WRITE);
    EXPECT_FALSE(held->held());
    EXPECT_EQ(db::LmdbSnapshot::Take(file_), nullptr);
  }
}

TEST_F(LmdbSnapshotTest, ALockFileThatIsNoneIsAWarning) {
  std::filesystem::remove(db::LmdbLockFile(file_));
  std::filesystem::create_directory(db::LmdbLockFile(file_));
  ::testing::internal::CaptureStderr();
  db::LmdbFile reader(file_), second(file_);
  const std::string text = ::testing::internal::GetCapturedStderr();
  const size_t at = text.find("no slot in its reader table (Is a directory)");
  EXPECT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find("no place in its table", at + 1), std::string::npos) << text;
  EXPECT_EQ(ValuesOf(&reader), std::string(kRecords, 'A'));
}

}  // namespace
}  // namespace caffe2::testing
