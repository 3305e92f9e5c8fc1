# USE_CUDA: ON, OFF, or AUTO (ON if a CUDA toolkit with cuBLASLt and cuDNN 9 is found). Sets
# CAFFE2_CUDA. Programs start without a driver, a GPU or these libraries: libcaffe2 loads
# libcaffe2_cuda when a GPU is first used (docs/design/gpu.md).
set(USE_CUDA AUTO CACHE STRING "Build the CUDA backend: ON, OFF or AUTO")
set(CAFFE2_CUDA FALSE)

function(caffe2_find_cuda found)
  set(${found} FALSE PARENT_SCOPE)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(nvcc nvcc PATHS /usr/local/cuda/bin NO_CACHE)
    if(NOT nvcc)
      return()
    endif()
    set(CMAKE_CUDA_COMPILER ${nvcc} CACHE FILEPATH "")
  endif()
  find_package(CUDAToolkit 12.0 QUIET)
  find_path(Cudnn_INCLUDE_DIR cudnn_graph.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(Cudnn_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR})
  find_path(Nccl_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})  # optional, loaded when used
  find_path(Nvjpeg_INCLUDE_DIR nvjpeg.h HINTS ${CUDAToolkit_INCLUDE_DIRS})  # only a test reads it
  if(CUDAToolkit_FOUND AND TARGET CUDA::cublasLt AND Cudnn_INCLUDE_DIR AND Cudnn_LIBRARY)
    set(${found} TRUE PARENT_SCOPE)
  endif()
endfunction()

if(USE_CUDA STREQUAL "AUTO" AND CAFFE2_SANITIZE)
  message(STATUS "No CUDA backend in a build with a sanitizer")
elseif(USE_CUDA)
  caffe2_find_cuda(found)
  if(found)
    # One architecture keeps the build short. A release uses "80-real;90a-real;90-virtual".
    set(CMAKE_CUDA_ARCHITECTURES 90a-real CACHE STRING "GPU architectures to compile for")
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # older CMake does not know that nvcc can
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    endif()
    set(CMAKE_CUDA_EXTENSIONS OFF)
    find_package(CUDAToolkit REQUIRED)  # again, for the targets of this scope
    set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG")
    set(CAFFE2_CUDA TRUE)
    message(STATUS "CUDA backend: ${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
    if(NOT Nccl_INCLUDE_DIR)
      message(STATUS "No NCCL: nccl.h not found; GPUs of several shards exchange data through Gloo")
    endif()
  elseif(USE_CUDA STREQUAL "AUTO")
    message(STATUS "No CUDA backend: no CUDA toolkit with cuBLASLt and cuDNN 9 found")
  else()
    message(FATAL_ERROR "USE_CUDA needs a CUDA toolkit with cuBLASLt and cuDNN 9")
  endif()
endif()
