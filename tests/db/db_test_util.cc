#include "tests/db/db_test_util.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>

namespace caffe2::testing {

Records MakeRecords(int n, const std::function<std::string(int)>& value) {
  Records records;
  for (int i = 0; i < n; ++i) {
    char key[16];
    std::snprintf(key, sizeof(key), "%08d", i);
    records.emplace_back(key, value(i));
  }
  return records;
}

void WriteDB(const std::string& db_type, const std::string& path, const Records& records) {
  auto database = db::CreateDB(db_type, path, db::NEW);
  {
    auto transaction = database->NewTransaction();
    for (const auto& [key, value] : records) transaction->Put(key, value);
    transaction->Commit();
  }
  database->Close();
}

Records ReadDB(const std::string& db_type, const std::string& path) {
  auto database = db::CreateDB(db_type, path, db::READ);
  auto cursor = database->NewCursor();
  Records records;
  for (; cursor->Valid(); cursor->Next()) records.emplace_back(cursor->key(), cursor->value());
  return records;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

template <typename T>
std::string ThrownMessage(const std::function<void()>& body) {
  try {
    body();
  } catch (const T& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another type of exception: " << error.what();
    return "";
  }
  ADD_FAILURE() << "nothing thrown";
  return "";
}
template std::string ThrownMessage<IoError>(const std::function<void()>&);
template std::string ThrownMessage<EnforceNotMet>(const std::function<void()>&);

}  // namespace caffe2::testing
