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
