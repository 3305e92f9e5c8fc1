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
# programs and, if it was built, the Python package of a build folder hold. Fails if one is not found.
headers_compiled_in() {
  local cache=$1/CMakeCache.txt
  header_of "$cache" Cli11_INCLUDE_DIR:PATH CLI/CLI.hpp || return
  ! grep -q '^pybind11_INCLUDE_DIRS:' "$cache" || header_of "$cache" pybind11_INCLUDE_DIRS:INTERNAL pybind11/pybind11.h
}
header_of() {  # CACHE VARIABLE HEADER
  local folder
  folder=$(sed -n "s|^$2=\([^;]*\).*|\1|p" "$1")
  [ -f "$folder/$3" ] || { echo "$1: $2 does not name the folder of $3" >&2 && return 1; }
  echo "--compiled_in=$folder/$3"
}
