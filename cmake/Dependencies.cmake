# All libraries that the build uses. The distribution has packages of them (scripts/dependencies.sh
# names them).
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Protobuf REQUIRED)
find_package(gflags CONFIG REQUIRED)
find_package(glog CONFIG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(JPEG REQUIRED)  # libjpeg-turbo
find_package(OpenCV REQUIRED COMPONENTS core imgproc imgcodecs)

# Libraries without a CMake package on all distributions: found by header and library name.
function(caffe2_find_library name header library)
  find_path(${name}_INCLUDE_DIR ${header} REQUIRED)
  find_library(${name}_LIBRARY ${library} REQUIRED)
  add_library(${name}::${name} INTERFACE IMPORTED)
  target_include_directories(${name}::${name} SYSTEM INTERFACE ${${name}_INCLUDE_DIR})
  target_link_libraries(${name}::${name} INTERFACE ${${name}_LIBRARY})
endfunction()
caffe2_find_library(Lmdb lmdb.h lmdb)
# LevelDB's CMake package needs Snappy's, which Ubuntu does not ship.
caffe2_find_library(LevelDb leveldb/db.h leveldb)
caffe2_find_library(HiredisC hiredis/hiredis.h hiredis)
# oneDNN's CMake package on Debian needs OpenCL's headers.
caffe2_find_library(OneDnn oneapi/dnnl/dnnl.h dnnl)
caffe2_find_library(GlooC gloo/context.h gloo)
caffe2_find_library(MicroHttpd microhttpd.h microhttpd)

# Headers only; its CMake package has other names in other versions.
find_path(Cli11_INCLUDE_DIR CLI/CLI.hpp REQUIRED)
add_library(Cli11::Cli11 INTERFACE IMPORTED)
target_include_directories(Cli11::Cli11 SYSTEM INTERFACE ${Cli11_INCLUDE_DIR})
