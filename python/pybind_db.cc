// Databases of records: C.create_db, DB, Cursor, Transaction.
#include <glog/logging.h>

#include <memory>

#include "db/db.h"
#include "db/record_fingerprint.h"
#include "python/pybind_state.h"

namespace caffe2::python {
namespace {

// As in Caffe2, a transaction that is dropped is committed. Scripts rely on it.
struct CommitAndDelete {
  void operator()(db::Transaction* transaction) const {
    const std::unique_ptr<db::Transaction> owner(transaction);
    try {
      owner->Commit();
    } catch (const std::exception& error) {
      LOG(ERROR) << "the last records of a transaction are lost: " << error.what();
    }
  }
};

}  // namespace

void AddDatabases(py::module_& m) {
  using db::Cursor;
  using db::DB;
  using db::Transaction;
  py::enum_<db::Mode>(m, "Mode", "How a database is opened.")
      .value("read", db::READ)
      .value("write", db::WRITE)
      .value("new", db::NEW)
      .export_values();
  using TransactionHolder = std::unique_ptr<Transaction, CommitAndDelete>;
  py::class_<Transaction, TransactionHolder>(
      m, "Transaction",
      "Adds records. They are committed by commit() or, at the latest, when the object is freed.")
      .def(
          "put",
          [](Transaction& self, const std::string& key, const std::string& value) {
            self.Put(key, value);
          },
          py::arg("key"), py::arg("value"))
      .def("commit", &Transaction::Commit, "Makes the records put so far durable.");
  py::class_<Cursor>(m, "Cursor", "Walks the records of a database in its order.")
      .def("supports_seek", &Cursor::SupportsSeek)
      .def(
          "seek", [](Cursor& self, const std::string& key) { self.Seek(key); }, py::arg("key"),
          "Moves to the record with this key, or else to the first one after it.")
      .def("seek_to_first", &Cursor::SeekToFirst)
      .def("next", &Cursor::Next)
      .def("valid", &Cursor::Valid, "False after the last record.")
      .def(
          "key", [](const Cursor& self) { return py::bytes(self.key()); },
          "The key of the current record.")
      .def(
          "value", [](const Cursor& self) { return py::bytes(self.value()); },
          "The value of the current record.");
  py::class_<DB>(m, "DB", "A database of records (key, value).")
      .def(
          "new_transaction",
          [](DB& self) { return TransactionHolder(self.NewTransaction().release()); },
          py::keep_alive<0, 1>())
      .def("new_cursor", &DB::NewCursor, py::keep_alive<0, 1>(), "A Cursor at the first record.")
      .def("close", &DB::Close, "Ends writing. Only then is a new database complete.");
  m.def("create_db", &db::CreateDB, py::arg("db_type"), py::arg("source"), py::arg("mode"),
        "Opens a database.");
  m.def(
      "record_fingerprint",
      [](const std::string& db_type, const std::string& source) {
        const auto database = db::CreateDB(db_type, source, db::READ);
        return db::RecordFingerprint(database->NewIndex().get());
      },
      py::arg("db_type"), py::arg("source"), py::call_guard<py::gil_scoped_release>(),
      "A line that tells the records of two databases apart: their number and a checksum of some.");
  m.def("registered_dbs", [] { return db::DBRegistry().Keys(); });
}

}  // namespace caffe2::python
