# BUILD_PYTHON: ON, OFF, or AUTO (ON if Python, its headers and pybind11 are found). pybind11 comes
# from the interpreter's packages (build/venv if there is one) or from the distribution. With a
# sanitizer AUTO means OFF, because the sanitizer's library would have to be loaded before the
# interpreter.
set(BUILD_PYTHON AUTO CACHE STRING "Build the Python package: ON, OFF or AUTO")

function(caffe2_find_python found)
  set(${found} FALSE PARENT_SCOPE)
  if(NOT Python_EXECUTABLE AND EXISTS ${CMAKE_SOURCE_DIR}/build/venv/bin/python)
    set(Python_EXECUTABLE ${CMAKE_SOURCE_DIR}/build/venv/bin/python CACHE FILEPATH "")
  endif()
  find_package(Python 3.9 COMPONENTS Interpreter Development.Module)
  if(NOT Python_FOUND)
    return()
  endif()
  execute_process(COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir
                  OUTPUT_VARIABLE hint OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  find_package(pybind11 2.11 CONFIG QUIET HINTS ${hint})
  set(pybind11_DIR ${pybind11_DIR} PARENT_SCOPE)
  set(${found} ${pybind11_FOUND} PARENT_SCOPE)
endfunction()

if(BUILD_PYTHON STREQUAL "AUTO" AND CAFFE2_SANITIZE)
  message(STATUS "No Python package in a build with a sanitizer")
elseif(BUILD_PYTHON)
  caffe2_find_python(found)
  if(found)
    find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module)
    find_package(pybind11 2.11 CONFIG REQUIRED)
    add_subdirectory(python)
  elseif(BUILD_PYTHON STREQUAL "AUTO")
    message(STATUS "No Python package: Python 3.9, its headers or pybind11 2.11 not found")
  else()
    message(FATAL_ERROR "BUILD_PYTHON needs Python 3.9, its headers and pybind11 2.11")
  endif()
endif()
