#include "db/source_info.h"

#include "tests/db/data_set_fixture.h"

namespace caffe2::testing {
namespace {

class SourceInfoTest : public DataSetTest {};

TEST_F(SourceInfoTest, FilesThatAreNotReadAreCounted) {
  for (const char* name :
       {"cat/1.jfif", "cat/2.JPE", "cat/3.heic", "cat/Thumbs.db", "dog/.DS_Store", "dog/4",
        "dog/5.png", "6.png", "7.jpg", "notes.txt", "__MACOSX/cat/1.jpg"}) {
    Write(name, name);
  }
  EXPECT_EQ(Labels(Read("images", Path())), (std::vector<int>{0, 0, 1}));
  const db::LeftOutFiles files = db::FindSourceInfo("images", Path()).left_out;
  EXPECT_EQ(files.images, 2);
  EXPECT_EQ(files.others, 2);
  EXPECT_EQ(db::Describe(files, "photos"),
            "left out of photos: images outside its sub-folders, which are the classes (2); "
            "files with names that do not end like .jpg or .png (2, for instance " +
                files.example + ")");
  EXPECT_EQ(db::Describe({}, "photos"), "");
  Write("photos.tar", Tar({{"cat/1.jpg", "A"}, {"cat/._1.jpg", "B"}, {"cat/2.heic", "C"}}));
  EXPECT_EQ(Read("tar", Path("photos.tar")).size(), 1u);
  EXPECT_EQ(db::FindSourceInfo("tar", Path("photos.tar")).left_out.example, "cat/2.heic");
}

TEST_F(SourceInfoTest, TheNumberOfLabelsIsKnownBeforeImagesAreRead) {
  const auto labels = [&](const std::string& name) {
    return db::FindSourceInfo("auto", Path(name)).num_labels;
  };
  Write("ten.bin", CifarRecord("\3", 1, 2, 3));
  Write("train.bin", CifarRecord(Bytes({1, 90}), 1, 2, 3));
  Write("train_X.bin", std::string(3 * 96 * 96, 'x'));
  Write("train_y.bin", Bytes({4}));
  Write("images", Bytes({0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3}) + "abcdef");
  Write("labels", Bytes({0, 0, 8, 1, 0, 0, 0, 2, 4, 200}));
  Write("shard.tar", Tar({{"1.jpg", "A"}, {"1.cls", "6"}}));
  Write("classes.tar", Tar({{"cat/1.jpg", "A"}, {"dog/1.jpg", "6"}}));
  EXPECT_EQ(labels("ten.bin"), 10);
  EXPECT_EQ(labels("train.bin"), 100);
  EXPECT_EQ(labels("train_X.bin"), 10);
  EXPECT_EQ(labels("images"), 201);
  EXPECT_EQ(labels("shard.tar"), 7);
  EXPECT_EQ(labels("classes.tar"), 2);
  WriteDB("minidb", Path("db"), {{"key", "value"}});
  EXPECT_EQ(labels("db"), 0);
  Write("db.classes.txt", "a\nb\nc\n");
  EXPECT_EQ(labels("db"), 3);
}

TEST_F(SourceInfoTest, PublishedSetsHaveTheirNamesInAFile) {
  const auto names = [&](const std::string& name) {
    return db::FindSourceInfo("auto", Path(name)).names;
  };
  const std::vector<std::string> ten = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  std::string lines;
  for (const std::string& name : ten) lines += name + "\n";
  Write("cifar/data_batch_1.bin", CifarRecord("\3", 1, 2, 3));
  EXPECT_TRUE(names("cifar").empty());
  Write("cifar/batches.meta.txt", lines + "\n");  // as published, with an empty line at the end
  EXPECT_EQ(names("cifar"), ten);
  EXPECT_EQ(names("cifar/data_batch_1.bin"), ten);
  Write("cifar/batches.meta.txt", lines + "k\n");  // belongs to other data
  EXPECT_TRUE(names("cifar").empty());
  Write("hundred/train.bin", CifarRecord(Bytes({1, 90}), 1, 2, 3));
  std::string many;
  for (int i = 0; i < 100; ++i) many += "class" + std::to_string(i) + "\n";
  Write("hundred/fine_label_names.txt", many);
  ASSERT_EQ(names("hundred").size(), 100u);
  EXPECT_EQ(names("hundred")[90], "class90");
  Write("stl/train_X.bin", std::string(3 * 96 * 96, 'x'));
  Write("stl/train_y.bin", Bytes({4}));
  Write("stl/class_names.txt", lines);
  EXPECT_EQ(names("stl"), ten);
}

TEST_F(SourceInfoTest, ClassesInOrderAreNoticed) {
  const auto in_order = [&](const std::string& name) {
    return db::FindSourceInfo("auto", Path(name)).by_class;
  };
  Write("photos/cat/1.jpg", "A");
  EXPECT_FALSE(in_order("photos"));
  Write("photos/dog/1.jpg", "B");
  EXPECT_TRUE(in_order("photos"));
  Write("a.tar", Tar({{"dog/1.jpg", "A"}, {"dog/2.jpg", "A"}, {"cat/1.jpg", "B"}}));
  EXPECT_TRUE(in_order("a.tar"));
  Write("b.tar", Tar({{"dog/1.jpg", "A"}, {"cat/1.jpg", "B"}, {"dog/2.jpg", "A"}}));
  EXPECT_FALSE(in_order("b.tar"));
}

}  // namespace
}  // namespace caffe2::testing
