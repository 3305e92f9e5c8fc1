# caffe2_objects(NAME EXCLUDED): an object library of all .cc files of the current folder and its
# sub-folders, except files whose path matches the regular expression EXCLUDED. A new source file
# needs no entry in any list. Tests lie elsewhere.
#
# All object libraries share the precompiled header of caffe2_core.
set(CAFFE2_OBJECT_LIBRARIES "" CACHE INTERNAL "")

# In angle brackets, as a path of this checkout in the header would keep checkouts from sharing a
# compiler cache.
set(CAFFE2_PCH
    <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <functional> <map> <memory> <mutex>
    <set> <string> <thread> <unordered_map> <vector> <caffe2/core/logging.h> <caffe2/proto/caffe2.pb.h>)

# A small file takes most of its time for its headers, so eight files at a time are compiled as one.
# The files of a folder then share their anonymous namespaces. Without this option each file is
# compiled by itself, as clang-tidy sees it; that suits work on a few files.
option(CAFFE2_UNITY "Compile several files at a time" ON)

function(caffe2_target_settings target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${CAFFE2_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                                              $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}>)
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf glog::glog gflags OpenMP::OpenMP_CXX
                                         Threads::Threads)
endfunction()

function(caffe2_objects name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc
       ${CMAKE_CURRENT_SOURCE_DIR}/*/*.cc)
  list(FILTER sources EXCLUDE REGEX "${ARGN}")
  if(NOT sources)
    return()
  endif()
  add_library(${name} OBJECT ${sources})
  caffe2_target_settings(${name})
  add_dependencies(${name} caffe2_proto)
  if(name STREQUAL "caffe2_core")
    target_precompile_headers(${name} PRIVATE ${CAFFE2_PCH})
  else()
    target_precompile_headers(${name} REUSE_FROM caffe2_core)
  endif()
  set(CAFFE2_OBJECT_LIBRARIES ${CAFFE2_OBJECT_LIBRARIES} ${name} CACHE INTERNAL "")
endfunction()

# caffe2_control_code(TARGET): its files have no loops over elements, which -O3 is for; -O2 saves a
# fifth of the time that they take to compile.
function(caffe2_control_code target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
endfunction()
