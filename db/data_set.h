// Published data sets, read as databases without conversion: which files belong to which type.
//
// | type     | source                                                                        |
// |----------|-------------------------------------------------------------------------------|
// | `cifar`  | folder or file of CIFAR-10's or CIFAR-100's binary version                    |
// | `stl10`  | folder or *_X.bin file of STL-10's binary version, with labels in *_y.bin     |
// | `idx`    | folder or *-images-idx3-ubyte file of MNIST or its like, plain or gzip        |
// | `images` | folder with one sub-folder of image files for each class                      |
// | `tar`    | tar archive, or folder of tar archives, of images (tar.cc says how classed)   |
#pragma once

#include <string>
#include <vector>

namespace caffe2::db {

// A data set at a path. `train` and `test` are what to open as the types's source; for a path that
// has only one part both are the path.
struct DataSet {
  std::string type;  // "" if the path holds no known data set
  std::string train, test;
};

// Recognizes a data set by the names of its files. A folder may hold both parts, in files of their
// own or in sub-folders: train, and test or val.
DataSet FindDataSet(const std::string& path);

// The regular files right in a folder whose names match prefix*suffix, sorted; empty if there is no
// such folder. A file itself matches if `path` is one and its name does.
std::vector<std::string> FilesOf(const std::string& path, const std::string& prefix,
                                 const std::string& suffix);

// True if DecodeImage reads files with this ending (.jpg, .jpeg, .png, ...).
bool IsImageName(const std::string& name);

// The classes of a source of type `images` or `tar`, in the order of their labels; empty for labels
// without names. Throws as CreateDB.
std::vector<std::string> ClassNames(const std::string& type, const std::string& source);

}  // namespace caffe2::db
