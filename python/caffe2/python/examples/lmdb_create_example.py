"""Writes an LMDB database of random images and labels, and reads it again through a net.

``python -m caffe2.python.examples.lmdb_create_example --output_file /tmp/example_lmdb``

Each value is a TensorProtos of two tensors: the image (float, [3, height, width]) and its label
(int32, [1]), as TensorProtosDBInput reads them.
"""

from __future__ import annotations

import argparse

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import model_helper, utils, workspace


def create_db(output_file: str, num_images: int = 128, size: tuple[int, ...] = (3, 32, 32),
              seed: int = 0) -> float:
    """Makes the database; returns the sum of all pixels and labels."""
    random = np.random.RandomState(seed)
    database = C.create_db("lmdb", output_file, C.Mode.new)
    transaction = database.new_transaction()
    checksum = 0.0
    for i in range(num_images):
        image = random.rand(*size).astype(np.float32)
        label = np.array([i % 10], dtype=np.int32)
        protos = caffe2_pb2.TensorProtos()
        protos.protos.extend([
            utils.NumpyArrayToCaffe2Tensor(image), utils.NumpyArrayToCaffe2Tensor(label)])
        transaction.put(f"{i:08d}", protos.SerializeToString())
        checksum += image.astype(np.float64).sum() + int(label[0])
    transaction.commit()
    database.close()
    return checksum


def read_db_with_caffe2(db_file: str, expected_checksum: float, num_images: int = 128,
                        batch_size: int = 32) -> None:
    """Reads the database in batches; raises ValueError if the sum differs."""
    model = model_helper.ModelHelper(name="lmdbtest")
    data, label = model.TensorProtosDBInput(
        [], ["data", "label"], batch_size=batch_size, db=db_file, db_type="lmdb")
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net)
    checksum = 0.0
    for _ in range(num_images // batch_size):
        workspace.RunNet(model.net)
        checksum += workspace.FetchBlob(data).astype(np.float64).sum()
        checksum += int(workspace.FetchBlob(label).sum())
    if abs(checksum - expected_checksum) > 1e-6 * abs(expected_checksum):
        raise ValueError(f"{db_file}: read {checksum}, written {expected_checksum}")


def main() -> None:
    """Writes the example database, reads it back and compares."""
    parser = argparse.ArgumentParser(description="LMDB creation")
    parser.add_argument("--output_file", required=True, help="path of the new database")
    args = parser.parse_args()
    checksum = create_db(args.output_file)
    read_db_with_caffe2(args.output_file, checksum)
    print(f"{args.output_file}: written and read, checksum {checksum:.6f}")


if __name__ == "__main__":
    main()
