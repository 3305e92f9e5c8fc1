// Published data sets, read as databases; their files are made here, byte by byte.
#include "db/data_set.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "db/db_reader.h"
#include "db/source_info.h"
#include "tests/db/data_set_fixture.h"
#include "tests/db/db_test_util.h"

namespace caffe2::testing {
namespace {

namespace fs = std::filesystem;

TEST_F(DataSetTest, Cifar10IsReadFromItsFolder) {
  Write("data_batch_2.bin", CifarRecord("\7", 4, 5, 6));
  Write("data_batch_1.bin", CifarRecord("\3", 1, 2, 3) + CifarRecord(Bytes({0}), 7, 8, 9));
  Write("test_batch.bin", CifarRecord("\5", 1, 1, 1));
  const db::DataSet set = db::FindDataSet(Path());
  EXPECT_EQ(set.type, "cifar");
  const auto images = Read("cifar", set.train);
  EXPECT_EQ(Labels(images), (std::vector<int>{3, 0, 7}));
  EXPECT_EQ(Keys(images), (std::vector<std::string>{"00000000", "00000001", "00000002"}));
  const caffe::Datum& first = images[0].datum;
  EXPECT_EQ(first.channels(), 3);
  EXPECT_EQ(first.height(), 32);
  EXPECT_EQ(first.width(), 32);
  EXPECT_EQ(first.data(), CifarRecord("", 3, 2, 1));  // blue, green, red
  EXPECT_EQ(Labels(Read("cifar", set.test)), std::vector<int>{5});
}

TEST_F(DataSetTest, MissingBatchesOfCifar10AreNamed) {
  const auto missing = [&](const std::string& source) {
    return db::DescribeMissing(db::FindSourceInfo("cifar", source).missing, "it");
  };
  Write("data_batch_1.bin", CifarRecord("\3", 1, 2, 3));
  Write("data_batch_3.bin", CifarRecord("\3", 1, 2, 3));
  Write("test_batch.bin", CifarRecord("\5", 1, 1, 1));
  EXPECT_EQ(missing(Path()),
            "it is incomplete: it lacks data_batch_2.bin, data_batch_4.bin, data_batch_5.bin");
  for (const int i : {2, 4, 5})
    Write(MakeString("data_batch_", i, ".bin"), CifarRecord("\1", 1, 2, 3));
  EXPECT_EQ(missing(Path()), "");
  for (const char* file : {"data_batch_1.bin", "test_batch.bin"})
    EXPECT_EQ(missing(Path(file)), "");
}

TEST_F(DataSetTest, AnUnknownFileIsNoCifarFile) {
  Write("junk.bin", std::string(5000, 'x'));
  EXPECT_EQ(db::TypeOfDataSet(Path("junk.bin")), "");
  EXPECT_NE(ThrownMessage<IoError>([&] {
              db::CreateDB("auto", Path("junk.bin"), db::READ);
            }).find("there is no database or known data set at " + Path("junk.bin") + "; known: "),
            std::string::npos);
  Write("mine.bin", CifarRecord("\3", 1, 2, 3));
  EXPECT_EQ(db::TypeOfDataSet(Path("mine.bin")), "cifar");
  Write("data_batch_1.bin", "cut");
  EXPECT_EQ(db::TypeOfDataSet(Path("data_batch_1.bin")), "cifar");
}

TEST_F(DataSetTest, Cifar100HasFineLabels) {
  Write("train.bin", CifarRecord(Bytes({1, 90}), 1, 2, 3) + CifarRecord(Bytes({2, 17}), 1, 2, 3));
  Write("test.bin", CifarRecord(Bytes({3, 5}), 1, 2, 3));
  const db::DataSet set = db::FindDataSet(Path());
  EXPECT_EQ(Labels(Read(set.type, set.train)), (std::vector<int>{90, 17}));
  EXPECT_EQ(Labels(Read(set.type, set.test)), std::vector<int>{5});
}

TEST_F(DataSetTest, LabelsThatADataSetDoesNotHaveAreErrors) {
  Write("data_batch_1.bin", CifarRecord("\3", 1, 2, 3) + CifarRecord("\12", 1, 2, 3));
  Write("train.bin", CifarRecord(Bytes({1, 99}), 1, 2, 3) + CifarRecord(Bytes({1, 100}), 1, 2, 3));
  Write("train_X.bin", std::string(2 * 3 * 96 * 96, '\0'));
  Write("train_y.bin", Bytes({1, 0}));
  Write("test_X.bin", std::string(3 * 96 * 96, '\0'));
  Write("test_y.bin", Bytes({11}));
  for (const auto& [type, file, text] :
       {std::array{"cifar", "data_batch_1.bin", "image 1 has label 10, must be less than 10"},
        std::array{"cifar", "train.bin", "image 1 has label 100, must be less than 100"},
        std::array{"stl10", "train_X.bin", "image 1 has label 0, must be from 1 to 10"},
        std::array{"stl10", "test_X.bin", "image 0 has label 11, must be from 1 to 10"}}) {
    EXPECT_NE(ThrownMessage<IoError>([&, type = type, file = file] {
                Read(type, Path(file));
              }).find(text),
              std::string::npos)
        << file;
  }
}

TEST_F(DataSetTest, ACutCifarFileIsNamed) {
  Write("data_batch_1.bin", CifarRecord("\3", 1, 2, 3).substr(1));
  EXPECT_NE(ThrownMessage<IoError>([&] {
              db::CreateDB("cifar", Path(), db::READ);
            }).find("data_batch_1.bin is cut short"),
            std::string::npos);
}

TEST_F(DataSetTest, Stl10IsTurnedAndItsLabelsBeginAtZero) {
  constexpr size_t kPlane = 96 * 96;
  std::string image(3 * kPlane, '\0');
  image[5] = 'r';                // red: column 0, row 5
  image[2 * kPlane + 96] = 'b';  // blue: column 1, row 0
  Write("train_X.bin", image + image);
  Write("train_y.bin", Bytes({1, 10}));
  Write("test_X.bin", image);
  Write("test_y.bin", Bytes({4}));
  const db::DataSet set = db::FindDataSet(Path());
  EXPECT_EQ(set.type, "stl10");
  const auto images = Read("stl10", set.train);
  EXPECT_EQ(Labels(images), (std::vector<int>{0, 9}));
  std::string expected(3 * kPlane, '\0');
  expected[1] = 'b';
  expected[2 * kPlane + 5 * 96] = 'r';
  EXPECT_EQ(images[0].datum.data(), expected);
  EXPECT_EQ(Labels(Read("stl10", set.test)), std::vector<int>{3});
  Write("train_y.bin", Bytes({1}));
  EXPECT_THROW(db::CreateDB("stl10", set.train, db::READ), IoError);
}

TEST_F(DataSetTest, IdxFilesArePaired) {
  const std::string two = Bytes({0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3});
  Write("train-images-idx3-ubyte", two + "abcdef");
  Write("train-labels-idx1-ubyte", Bytes({0, 0, 8, 1, 0, 0, 0, 2, 4, 9}));
  Write("t10k-images-idx3-ubyte", two + "ghijkl");
  Write("t10k-labels-idx1-ubyte", Bytes({0, 0, 8, 1, 0, 0, 0, 2, 1, 0}));
  const db::DataSet set = db::FindDataSet(Path());
  EXPECT_EQ(set.type, "idx");
  const auto images = Read("idx", set.train);
  EXPECT_EQ(Labels(images), (std::vector<int>{4, 9}));
  EXPECT_EQ(images[1].datum.data(), "def");
  EXPECT_EQ(images[1].datum.height(), 1);
  EXPECT_EQ(images[1].datum.width(), 3);
  EXPECT_EQ(Labels(Read("idx", set.test)), (std::vector<int>{1, 0}));
  fs::remove(Path("t10k-labels-idx1-ubyte"));
  EXPECT_NE(ThrownMessage<IoError>([&] {
              db::CreateDB("idx", set.test, db::READ);
            }).find("t10k-labels-idx1-ubyte"),
            std::string::npos);
}

TEST_F(DataSetTest, ClassesOfAnImageFolderAreItsSubFolders) {
  Write("train/dog/b.JPG", "B");
  Write("train/dog/deep/a.png", "A");
  Write("train/cat/c.jpeg", "C");
  Write("train/cat/notes.txt", "no image");
  Write("train/.hidden/x.png", "X");
  Write("val/cat/d.png", "D");
  Write("val/dog/e.png", "E");
  const db::DataSet set = db::FindDataSet(Path());
  EXPECT_EQ(set.type, "images");
  const auto images = Read("images", set.train);
  EXPECT_EQ(Keys(images), (std::vector<std::string>{"cat/c.jpeg", "dog/b.JPG", "dog/deep/a.png"}));
  EXPECT_EQ(Labels(images), (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(images[2].datum.data(), "A");
  EXPECT_TRUE(images[2].datum.encoded());
  EXPECT_EQ(Labels(Read("images", set.test)), (std::vector<int>{0, 1}));
  EXPECT_EQ(db::FindSourceInfo("images", set.train).names,
            (std::vector<std::string>{"cat", "dog"}));
}

// It would shift the numbers of the other classes.
TEST_F(DataSetTest, AClassWithoutImagesIsNamed) {
  Write("cat/1.png", "A");
  Write("bird/2.heic", "B");
  EXPECT_NE(ThrownMessage<IoError>([&] {
              db::CreateDB("images", Path(), db::READ);
            }).find("the class folder " + Path("bird") + " holds no image"),
            std::string::npos);
  Write("photos.tar", Tar({{"a/cat/1.jpg", "A"}, {"a/bird/2.heic", "B"}, {"a/readme", "C"}}));
  EXPECT_NE(ThrownMessage<IoError>([&] {
              db::CreateDB("tar", Path("photos.tar"), db::READ);
            }).find("the folder a/bird/ in "),
            std::string::npos);
}

TEST_F(DataSetTest, AFolderThatCannotBeListedIsAnError) {
  if (geteuid() == 0) GTEST_SKIP() << "root may list every folder";
  Write("cat/a.jpg", "A");
  Write("cat/locked/b.jpg", "B");
  fs::permissions(Path("cat/locked"), fs::perms::none);
  const std::string message =
      ThrownMessage<IoError>([&] { db::CreateDB("images", Path(), db::READ); });
  fs::permissions(Path("cat/locked"), fs::perms::owner_all);
  EXPECT_NE(message.find("cannot list"), std::string::npos) << message;
}

TEST_F(DataSetTest, ATarOfClassFoldersHasTheirNamesAsClasses) {
  Write("a.tar",
        Tar({{"./dog/1.jpg", "one"}, {"cat/2.jpg", std::string(600, 'x')}, {"dog/3.png", "3"}}));
  const db::DataSet set = db::FindDataSet(Path("a.tar"));
  EXPECT_EQ(set.type, "tar");
  const auto images = Read("tar", set.train);
  EXPECT_EQ(Keys(images), (std::vector<std::string>{"dog/1.jpg", "cat/2.jpg", "dog/3.png"}));
  EXPECT_EQ(Labels(images), (std::vector<int>{1, 0, 1}));
  EXPECT_EQ(images[1].datum.data(), std::string(600, 'x'));
}

TEST_F(DataSetTest, WebDatasetShardsHaveLabelsInClsFiles) {
  Write("train-001.tar", Tar({{"0003.cls", "5\n"}, {"0003.jpg", "C"}}));
  Write("train-000.tar", Tar({{"0001.jpg", "A"},
                              {"0001.cls", "2"},
                              {"0001.json", "{}"},
                              {"0002.jpg", "B"},
                              {"0002.cls", "0"}}));
  const auto images = Read("tar", Path());
  EXPECT_EQ(Keys(images), (std::vector<std::string>{"train-000/0001.jpg", "train-000/0002.jpg",
                                                    "train-001/0003.jpg"}));
  EXPECT_EQ(Labels(images), (std::vector<int>{2, 0, 5}));
  Write("train-002.tar", Tar({{"0004.jpg", "D"}}));
  EXPECT_NE(ThrownMessage<IoError>([&] {
              db::CreateDB("tar", Path(), db::READ);
            }).find("train-002/0004.jpg has no .cls file"),
            std::string::npos);
}

TEST_F(DataSetTest, TheArchiveOfImageNetHoldsAnArchiveForEachClass) {
  Write("ILSVRC2012_img_train.tar",
        Tar({{"n02.tar", Tar({{"n02_1.JPEG", "A"}, {"n02_2.JPEG", "B"}})},
             {"n01.tar", Tar({{"n01_1.JPEG", "C"}})}}));
  const auto images = Read("tar", Path("ILSVRC2012_img_train.tar"));
  EXPECT_EQ(Keys(images),
            (std::vector<std::string>{"n02/n02_1.JPEG", "n02/n02_2.JPEG", "n01/n01_1.JPEG"}));
  EXPECT_EQ(Labels(images), (std::vector<int>{1, 1, 0}));
  EXPECT_EQ(images[2].datum.data(), "C");
}

TEST_F(DataSetTest, LongNamesOfTarArchivesAreRead) {
  const std::string gnu = "cat/" + std::string(120, 'g') + ".jpg", pax = "dog/p.jpg";
  const std::string record = "18 path=" + pax + "\n";
  ASSERT_EQ(record.size(), 18u);
  Write("a.tar", TarMember("././@LongLink", gnu + std::string(1, '\0'), 'L') +
                     TarMember("short.jpg", "A") + TarMember("PaxHeaders/x", record, 'x') +
                     TarMember("other.jpg", "B") + std::string(1024, '\0'));
  EXPECT_EQ(Keys(Read("tar", Path("a.tar"))), (std::vector<std::string>{gnu, pax}));
}

// What anyone has after unpacking an archive in place.
TEST_F(DataSetTest, ManyArchivesInsideOfEachOtherAreAnError) {
  std::string bytes = Tar({{"a.jpg", "A"}});
  for (int i = 0; i < 10; ++i) bytes = Tar({{"inner.tar", bytes}});
  Write("a.tar", bytes);
  const std::string message =
      ThrownMessage<IoError>([&] { db::CreateDB("tar", Path("a.tar"), db::READ); });
  EXPECT_NE(message.find("inside each other"), std::string::npos) << message;
}

TEST_F(DataSetTest, SubFoldersArePreferredToArchivesBesideThem) {
  for (const char* name : {"train/cat/a.png", "train/dog/b.png", "test/cat/c.png"})
    Write(name, "A");
  Write("photos.tar", Tar({{"train/cat/a.png", "A"}}));
  db::DataSet set = db::FindDataSet(Path());
  EXPECT_EQ(set.type, "images");
  EXPECT_EQ(set.train, directory_.Path("set/train"));
  EXPECT_EQ(set.test, directory_.Path("set/test"));
  set = db::FindDataSet(Path(), "tar");
  EXPECT_EQ(set.type, "tar");
  EXPECT_EQ(set.train, Path());
  EXPECT_EQ(db::FindDataSet(Path(), "idx").type, "");
  fs::remove_all(Path("test"));
  fs::rename(Path("train"), Path("pets"));
  EXPECT_EQ(db::FindDataSet(Path()).type, "images");
}

TEST_F(DataSetTest, ATarMayHoldBothParts) {
  Write("photos.tar", Tar({{"photos/readme", "R"},
                           {"photos/test/cat/3.jpg", "C"},
                           {"photos/train/dog/1.jpg", "A"},
                           {"photos/train/cat/2.jpg", "B"}}));
  for (const std::string& path : {Path("photos.tar"), Path()}) {
    const db::DataSet set = db::FindDataSet(path);
    EXPECT_EQ(set.type, "tar");
    const auto train = Read("auto", set.train), test = Read("auto", set.test);
    EXPECT_EQ(Keys(train),
              (std::vector<std::string>{"photos/train/dog/1.jpg", "photos/train/cat/2.jpg"}));
    EXPECT_EQ(Labels(train), (std::vector<int>{1, 0}));
    EXPECT_EQ(Keys(test), std::vector<std::string>{"photos/test/cat/3.jpg"});
    EXPECT_EQ(db::FindSourceInfo("tar", set.test).names, std::vector<std::string>{"cat"});
  }
  // Classes of these names are no parts.
  Write("photos.tar", Tar({{"train/1.jpg", "A"}, {"test/2.jpg", "B"}}));
  const db::DataSet set = db::FindDataSet(Path("photos.tar"));
  EXPECT_EQ(set.train, Path("photos.tar"));
  EXPECT_EQ(set.test, Path("photos.tar"));
}

TEST_F(DataSetTest, DamagedAndCompressedArchivesAreNamed) {
  const auto message = [&] {
    return ThrownMessage<IoError>([&] { db::CreateDB("tar", Path("a.tar"), db::READ); });
  };
  const std::string whole = Tar({{"cat/1.jpg", std::string(2000, 'x')}});
  Write("a.tar", whole.substr(0, 1500));
  EXPECT_NE(message().find("a.tar is cut short"), std::string::npos) << message();
  Write("a.tar", "\x1f\x8b" + std::string(2000, 'z'));
  EXPECT_NE(message().find("unpack a compressed archive"), std::string::npos) << message();
  Write("a.tar", std::string(1024, '\0'));
  EXPECT_NE(message().find("there is no image"), std::string::npos) << message();
}

// Sharding, shuffling and resuming are the same as of other databases.
TEST_F(DataSetTest, ReadersShardShuffleAndContinue) {
  for (int i = 0; i < 10; ++i) Write(MakeString("c", i % 3, "/", i, ".jpg"), MakeString(i));
  std::vector<std::string> seen;
  for (int shard = 0; shard < 2; ++shard) {
    const db::DBReaderOptions options{
        .num_shards = 2, .shard_id = shard, .shuffle = true, .seed = 3};
    db::DBReader whole("images", Path(), options), resumed("images", Path(), options);
    db::RecordBatch batch, rest;
    whole.ReadBatch(5, &batch);
    for (const db::Record& record : batch.records) seen.push_back(record.key);
    resumed.Restore(3);
    resumed.ReadBatch(2, &rest);
    EXPECT_EQ(rest.records[0].key, batch.records[3].key);
    EXPECT_EQ(rest.records[1].key, batch.records[4].key);
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()) - seen.begin(), 10);
}

TEST_F(DataSetTest, SortedKeysCanBeSought) {
  for (const char* name : {"a/1.jpg", "a/3.jpg", "b/2.jpg"}) Write(name, name);
  const auto database = db::CreateDB("images", Path(), db::READ);
  const auto cursor = database->NewCursor();
  ASSERT_TRUE(cursor->SupportsSeek());
  cursor->Seek("a/2");
  EXPECT_EQ(cursor->key(), "a/3.jpg");
  cursor->Seek("c");
  EXPECT_FALSE(cursor->Valid());
}

TEST_F(DataSetTest, CannotBeWritten) {
  Write("a/1.jpg", "A");
  for (const db::Mode mode : {db::NEW, db::WRITE}) {
    EXPECT_THROW(db::CreateDB("images", Path(), mode), IoError);
  }
  EXPECT_THROW(db::CreateDB("images", Path(), db::READ)->NewTransaction(), EnforceNotMet);
}

TEST_F(DataSetTest, AutoFindsTheTypeOfAnyDatabase) {
  Write("a/1.jpg", "A");
  EXPECT_EQ(Keys(Read("auto", Path())), std::vector<std::string>{"a/1.jpg"});
  for (const std::string type : {"lmdb", "leveldb", "minidb"}) {
    WriteDB(type, directory_.Path(type), {{"key", "value"}});
    EXPECT_EQ(ReadDB("auto", directory_.Path(type)), Records({{"key", "value"}}));
  }
  WriteFile(directory_.Path("text"), "neither");
  const std::string message =
      ThrownMessage<IoError>([&] { db::CreateDB("auto", directory_.Path("text"), db::READ); });
  EXPECT_NE(message.find(directory_.Path("text")), std::string::npos) << message;
}

}  // namespace
}  // namespace caffe2::testing
