#!/usr/bin/env python3
"""Compares the bill of materials in a wheel or an archive with the libraries that lie there.

    scripts/check_sbom.py FILE.whl|FILE.tar.xz

Each shared library but our own must be in the bill once, with its checksum, and each entry of the
bill must have a version, the name of a licence, and its text in the file. Fails with a line for
each one that has not.
"""

import collections
import hashlib
import json
import pathlib
import re
import sys
import tarfile
import zipfile

OWN = re.compile(r"(libcaffe2\w*|caffe2_pybind11_state)\.")


def files_of(path):
    """The contents of the regular files of an archive, by name."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {each: wheel.read(each) for each in wheel.namelist() if each[-1] != "/"}
    with tarfile.open(path) as archive:
        return {each.name: archive.extractfile(each).read() for each in archive if each.isfile()}


def only(files, pattern):
    """The name of the one file whose name has this pattern."""
    found = [name for name in files if re.search(pattern, name)]
    if len(found) != 1:
        sys.exit(f"error: {len(found)} files {pattern} instead of one")
    return found[0]


def problems(files):
    bill = json.loads(files[only(files, r"/doppio\.cdx\.json$")])
    # The licence of zlib is in every archive, which needs it for databases and models.
    licenses = only(files, r"/zlib1g/copyright$").removesuffix("/zlib1g/copyright")
    listed = collections.Counter(
        (each["name"], each["hashes"][0]["content"])
        for entry in bill["components"]
        for each in entry.get("components", [])
    )
    for name, content in files.items():
        base = name.rpartition("/")[2]
        if not re.search(r"\.so(\.|$)", base) or OWN.match(base):
            continue
        times = listed.pop((base, hashlib.sha256(content).hexdigest()), 0)
        if times != 1:
            yield f"{name}: {times} times in the bill, with its checksum"
    for name, _ in listed:
        yield f"{name}: in the bill, but not in the file"
    for entry in bill["components"]:
        name = entry["name"]
        if not entry.get("version") or not entry.get("licenses"):
            yield f"{name}: no version or no licence in the bill"
        folder = f"{licenses}/{name.partition(':')[0]}/"
        texts = [each for each in files if each.startswith(folder) and files[each].strip()]
        if not texts:
            yield f"{name}: no text of its licence in {licenses}"
        for each in texts:
            referred = re.findall(rb"/usr/share/common-licenses/([\w.+-]*\w)", files[each])
            for common in sorted({match.decode() for match in referred}):
                if f"{licenses}/common-licenses/{common}" not in files:
                    yield f"{name}: its licence refers to {common}, which is not there"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: scripts/check_sbom.py FILE.whl|FILE.tar.xz")
    files = files_of(pathlib.Path(sys.argv[1]))
    found = list(problems(files))
    for problem in found:
        print(f"error: {problem}", file=sys.stderr)
    if found:
        sys.exit(1)
    print("passed: bill of materials and licences")


if __name__ == "__main__":
    main()
