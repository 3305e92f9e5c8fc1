"""Databases of records that Python programs write and read."""

import pytest

from caffe2.python import workspace

C = workspace.C
TYPES = ["lmdb", "leveldb", "minidb"]


def records(db_type, path):
    cursor = C.create_db(db_type, path, C.Mode.read).new_cursor()
    found = {}
    while cursor.valid():
        found[cursor.key().decode()] = cursor.value()
        cursor.next()
    return found


@pytest.mark.parametrize("db_type", TYPES)
def test_close_commits_the_transactions_that_are_left(db_type, tmp_path):
    path = str(tmp_path / "data")
    database = C.create_db(db_type, path, C.Mode.new)
    transaction = database.new_transaction()
    transaction.put("a", b"1")
    transaction.commit()
    transaction.put("b", b"2")
    database.close()
    for call in (lambda: transaction.put("c", b"3"), transaction.commit):
        with pytest.raises(RuntimeError, match="the database of this transaction is closed"):
            call()
    for call in (database.new_transaction, database.new_cursor):
        with pytest.raises(RuntimeError, match="the database is closed"):
            call()
    database.close()
    assert records(db_type, path) == {"a": b"1", "b": b"2"}


@pytest.mark.parametrize("db_type", TYPES)
def test_close_ends_cursors(db_type, tmp_path):
    path = str(tmp_path / "data")
    database = C.create_db(db_type, path, C.Mode.new)
    transaction = database.new_transaction()
    transaction.put("a", b"1")
    del transaction
    database.close()
    database = C.create_db(db_type, path, C.Mode.read)
    cursor = database.new_cursor()
    assert cursor.value() == b"1"
    database.close()
    for call in (cursor.valid, cursor.key, cursor.value, cursor.next, cursor.seek_to_first):
        with pytest.raises(RuntimeError, match="the database of this cursor is closed"):
            call()


@pytest.mark.parametrize("db_type", TYPES)
def test_a_database_that_is_dropped_keeps_its_records(db_type, tmp_path):
    path = str(tmp_path / "data")
    database = C.create_db(db_type, path, C.Mode.new)
    transaction = database.new_transaction()
    transaction.put("a", b"1")
    del database  # the transaction holds it
    transaction.commit()
    del transaction
    assert records(db_type, path) == {"a": b"1"}
