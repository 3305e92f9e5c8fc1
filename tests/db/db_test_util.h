// Databases made and read by the tests.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "db/db.h"

namespace caffe2::testing {

using Records = std::vector<std::pair<std::string, std::string>>;

// `n` records with keys "00000000", "00000001", ... in one transaction.
Records MakeRecords(int n, const std::function<std::string(int)>& value);
void WriteDB(const std::string& db_type, const std::string& path, const Records& records);
// All records, through a cursor.
Records ReadDB(const std::string& db_type, const std::string& path);

// The file as a string, and back.
std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& bytes);

// What `body` throws as a T; "" (and a failed test) if it throws nothing or something else.
template <typename T>
std::string ThrownMessage(const std::function<void()>& body);

}  // namespace caffe2::testing
