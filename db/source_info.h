// What is known about a source of images before they are read: its classes, their order, and the
// files that are left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace caffe2::db {

// The file with the names of the classes of a database, which `doppio data prepare` writes beside
// it: "photos_db.classes.txt".
std::string ClassNamesFile(const std::string& source);
// The lines of a file of class names: line n, counted from 0, has the name of label n. Throws
// IoError if it is a folder or cannot be read.
std::vector<std::string> ReadClassNames(const std::string& path);

// The names of classes in a file that a published data set has beside `data_file`. Empty unless
// there is such a file with a name for each label.
std::vector<std::string> NamesBeside(const std::string& data_file, const std::string& names_file,
                                     int64_t num_labels);

// The files that a source of images leaves out. Files with system names (IsSystemName) do not
// count.
struct LeftOutFiles {
  int64_t images = 0;        // images outside the class folders
  int64_t others = 0;        // in class folders, without the name of an image
  std::string example = "";  // the first of the others

  void AddOther(const std::string& name);
};
// One line, "left out of <source>: ..."; "" if no files are left out.
std::string Describe(const LeftOutFiles& files, const std::string& source);

// What is known about the images of a source before they are read.
struct SourceInfo {
  // The names of the classes, by label: the folders of a source of type `images` or `tar`, the
  // names that CIFAR and STL-10 have in a file, or the lines of the ClassNamesFile of any source.
  // Empty if the labels have no names.
  std::vector<std::string> names = {};
  int64_t num_labels = 0;  // all labels are smaller; 0: not known
  bool by_class = false;   // records of several classes come class after class
  LeftOutFiles left_out = {};
  std::vector<std::string> missing = {};  // names of files that the whole data set has
};
// One line, "<source> is incomplete: it lacks ..."; "" if no files are missing.
std::string DescribeMissing(const std::vector<std::string>& missing, const std::string& source);
// The type may be "auto". Throws like CreateDB and ReadClassNames.
SourceInfo FindSourceInfo(const std::string& type, const std::string& source);

// A source and the names of its classes. `what` names the source in messages: "--train_data
// photos".
struct NamedClasses {
  std::string what;
  std::vector<std::string> names;
};
// Throws UsageError, which names a class that differs, unless both have the same names in the same
// order. A source without names matches any other.
void CheckSameClasses(const NamedClasses& first, const NamedClasses& second);

}  // namespace caffe2::db
