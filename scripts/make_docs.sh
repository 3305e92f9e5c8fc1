#!/usr/bin/env bash
# Builds the site of the documentation into build/site, or the folder given: scripts/make_docs.sh [DIR]
# Fails for a broken link. Needs a build (scripts/build.sh), whose library the references describe.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/dependencies.sh
make_python_environment build/venv
PYTHONPATH=build/release/python build/venv/bin/python -m mkdocs build --quiet --strict \
  --site-dir "$(realpath -m "${1:-build/site}")"
echo "The site is in ${1:-build/site}: open index.html"
