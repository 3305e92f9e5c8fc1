# shellcheck shell=bash
# The libraries that programs need beside themselves on machines without our packages; sourced, not run.

# Libraries that belong to the system or to CUDA.
SYSTEM_LIBRARIES='^(ld-linux.*|lib(c|m|dl|pthread|rt|resolv|util)|libstdc\+\+|libgcc_s|libcuda.*|libcublas.*|libcudnn.*|libnccl|libnv.*)\.so'

# copy_needed_libraries FOLDER TARGET: copies into TARGET what the programs and libraries below FOLDER
# need from this system and TARGET does not have, and prints the names.
copy_needed_libraries() {
  local folder target=$2 library name
  folder=$(realpath "$1")
  find "$folder" -type f \( -perm -u+x -o -name '*.so*' \) ! -name '*.sh' ! -name '*.py' |
    LD_LIBRARY_PATH=$target${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} xargs -r ldd 2>/dev/null |
    awk '$3 ~ /^\// { print $3 }' | sort -u | while read -r library; do
    name=$(basename "$library")
    [[ $name =~ $SYSTEM_LIBRARIES || $library == "$folder"/* || -e $target/$name ]] ||
      { cp -L "$library" "$target/$name" && echo "$name"; }
  done
}

# headers_compiled_in BUILD: an option of scripts/make_sbom.py for each library of headers that the
# programs and the Python package of a build folder hold.
headers_compiled_in() {
  local cache=$1/CMakeCache.txt
  sed -n 's|^Cli11_INCLUDE_DIR:PATH=\(.*\)|--compiled_in=\1/CLI/CLI.hpp|p' "$cache"
  sed -n 's|^pybind11_INCLUDE_DIRS:INTERNAL=\([^;]*\).*|--compiled_in=\1/pybind11/pybind11.h|p' "$cache"
}
