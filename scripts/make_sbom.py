#!/usr/bin/env python3
"""Says which packages the libraries of a bundle or a wheel come from, and under which licences.

    scripts/make_sbom.py TARGET VERSION [--compiled_in HEADER]... [LIBRARY...]

Each LIBRARY is a copy of a library of this system: a path, whose name the loader knows. A HEADER is
one of a library that is nothing but headers, so that our own files hold it; it may be of a package
from PyPI. Written are TARGET/doppio.cdx.json (CycloneDX 1.5) and TARGET/licenses: the copyright
file of each package, and the licences to which they refer. Fails if a library has no package, or a
package no copyright file. scripts/check_sbom.py checks the archive that holds them.
"""

import argparse
import hashlib
import importlib.metadata
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
    """The package of this system that owns a file, or None."""
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
    return None


def distribution_of(path):
    """The package from PyPI that owns a file, or None."""
    for folder in path.parents:
        for info in folder.glob("*.dist-info"):
            distribution = importlib.metadata.Distribution.at(info)
            if any(folder / each == path for each in distribution.files or []):
                return distribution
    return None


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
    named = sorted(set(re.findall(r"^License: *(\S.*)$", text, re.MULTILINE)))
    return named or [f"see the copyright file of {name}"]  # older ones are plain text


def copy_python_licenses(distribution, target):
    """Copies the licence files of a package from PyPI; returns what its metadata says of them."""
    name, metadata = distribution.metadata["Name"], distribution.metadata
    texts = [
        each
        for each in distribution.files
        if each.parts[0].endswith(".dist-info") and re.match("(?i)licen[cs]e|copying", each.name)
    ]
    if not texts:
        sys.exit(f"error: the licence of {name} is missing: {distribution.locate_file('')}")
    (target / name).mkdir(parents=True, exist_ok=True)
    for each in texts:
        shutil.copy(distribution.locate_file(each), target / name)
    return [metadata["License-Expression"] or metadata["License"] or "see its text"]


def compiled_in(header, system, target):
    """The component of a library of headers."""
    package = package_of(header)
    if package is not None:
        entry = component(package, [], system, target)
    else:
        distribution = distribution_of(header)
        if distribution is None:
            sys.exit(f"error: no package of this system or from PyPI owns {header}")
        name, version = distribution.metadata["Name"], distribution.version
        licenses = copy_python_licenses(distribution, target)
        entry = {
            "type": "library",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name}@{version}",
            "licenses": [{"license": {"name": each}} for each in licenses],
        }
    entry["properties"] = [*entry.get("properties", []), {"name": "use", "value": "compiled in"}]
    return entry


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
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("target", type=pathlib.Path)
    arguments.add_argument("version")
    arguments.add_argument("--compiled_in", type=pathlib.Path, action="append", default=[])
    arguments.add_argument("libraries", type=pathlib.Path, nargs="*")
    flags = arguments.parse_intermixed_args()
    known, packages = loader_paths(), {}
    for path in flags.libraries:
        name = library_name(path)
        if name not in known:
            sys.exit(f"error: the loader knows no {name}")
        package = package_of(known[name])
        if package is None:
            sys.exit(f"error: no package of this system owns {known[name]}")
        packages.setdefault(package, []).append(path)
    os_release = pathlib.Path("/etc/os-release").read_text()
    system = re.search(r'^ID="?(\w+)', os_release, re.MULTILINE)[1]
    licenses = flags.target / "licenses"
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "doppio",
                "version": flags.version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [
            *(component(each, packages[each], system, licenses) for each in sorted(packages)),
            *(compiled_in(each, system, licenses) for each in flags.compiled_in),
        ],
    }
    (flags.target / "doppio.cdx.json").write_text(json.dumps(bill, indent=1) + "\n")
    print(
        f"{len(flags.libraries)} libraries of {len(packages)} packages"
        + (f", and {len(flags.compiled_in)} that are compiled in" if flags.compiled_in else "")
    )


if __name__ == "__main__":
    main()
