#!/usr/bin/env python3
"""Says which packages the libraries of a bundle or a wheel come from, and under which licences.

    scripts/make_sbom.py TARGET VERSION [LIBRARY...]

Each LIBRARY is a copy of a library of this system: a path, whose name the loader knows. Written are
TARGET/doppio.cdx.json (CycloneDX 1.5) and TARGET/licenses: the copyright file of each package, and
the licences to which they refer. Fails if a library has no package, or a package no copyright file.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

COMMON_LICENSES = pathlib.Path("/usr/share/common-licenses")
FIELDS = "\n".join(
    [
        "${Package}",
        "${Version}",
        "${Architecture}",
        "${source:Package}",
        "${source:Version}",
        "${Homepage}",
    ]
)


def loader_paths():
    """The path of each library that the loader knows, by its name and by the name of its file."""
    ldconfig = shutil.which("ldconfig") or "/sbin/ldconfig"
    text = subprocess.run([ldconfig, "-p"], check=True, stdout=subprocess.PIPE, text=True).stdout
    paths = {}
    for name, path in re.findall(r"^\t(\S+) .*=> (\S+)$", text, re.MULTILINE):
        for each in (name, os.path.basename(os.path.realpath(path))):
            paths.setdefault(each, path)  # the first entry of a name counts
    return paths


def library_name(path):
    """The name without what auditwheel adds before the first dot: libjpeg.so.62 for
    libjpeg-1a2b3c4d.so.62, libopenblasp-r0.3.21.so for libopenblasp-r0-1a2b3c4d.3.21.so."""
    return re.sub(r"^([^.]*)-[0-9a-f]{8}(?=[.])", r"\1", path.name)


def package_of(path):
    real = os.path.realpath(path)
    # Packages may name files below /lib that the system has below /usr/lib.
    for each in (real, real.removeprefix("/usr")):
        found = subprocess.run(
            ["dpkg-query", "--search", each],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        if found.returncode == 0:
            return found.stdout.partition(": ")[0].partition(",")[0]
    sys.exit(f"error: no package of this system owns {path}")


def copy_licenses(package, target):
    """Copies the copyright file of a package and what it refers to; returns the names in it."""
    name = package.partition(":")[0]
    source = pathlib.Path("/usr/share/doc") / name / "copyright"
    if not source.exists():
        sys.exit(f"error: the licence of {package} is missing: {source}")
    text = source.read_text(errors="replace")
    (target / name).mkdir(parents=True, exist_ok=True)
    (target / name / "copyright").write_text(text)
    for common in re.findall(rf"{COMMON_LICENSES}/([\w.+-]*\w)", text):
        if (COMMON_LICENSES / common).is_file():
            (target / "common-licenses").mkdir(exist_ok=True)
            shutil.copy(COMMON_LICENSES / common, target / "common-licenses" / common)
    return sorted(set(re.findall(r"^License: *(\S.*)$", text, re.MULTILINE)))


def component(package, libraries, distribution, target):
    found = subprocess.run(
        ["dpkg-query", "--show", "--showformat", FIELDS, package],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    name, version, architecture, source, source_version, homepage = found.split("\n")
    quoted = version.replace("+", "%2B").replace(":", "%3A")
    return {
        "type": "library",
        "name": name,
        "version": version,
        "purl": f"pkg:deb/{distribution}/{name}@{quoted}?arch={architecture}",
        "licenses": [{"license": {"name": each}} for each in copy_licenses(package, target)],
        "externalReferences": [{"type": "website", "url": homepage}] if homepage else [],
        "properties": [{"name": "source", "value": f"{source} {source_version}"}],
        "components": [
            {
                "type": "file",
                "name": path.name,
                "hashes": [
                    {"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}
                ],
            }
            for path in sorted(libraries)
        ],
    }


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.partition("\n\n")[2].partition("\n\n")[0].strip())
    target, version = pathlib.Path(sys.argv[1]), sys.argv[2]
    known, packages = loader_paths(), {}
    for path in map(pathlib.Path, sys.argv[3:]):
        if library_name(path) not in known:
            sys.exit(f"error: the loader knows no {library_name(path)}")
        packages.setdefault(package_of(known[library_name(path)]), []).append(path)
    system = pathlib.Path("/etc/os-release").read_text()
    distribution = re.search(r'^ID="?(\w+)', system, re.MULTILINE)[1]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "doppio",
                "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [
            component(package, packages[package], distribution, target / "licenses")
            for package in sorted(packages)
        ],
    }
    (target / "doppio.cdx.json").write_text(json.dumps(bill, indent=1) + "\n")
    print(f"{len(sys.argv) - 3} libraries of {len(packages)} packages")


if __name__ == "__main__":
    main()
