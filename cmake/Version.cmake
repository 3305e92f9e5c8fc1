# What --version says: two headers in <build>/version that caffe2/utils/version.cc alone includes. The
# commit is looked up again after each commit or checkout, which compiles that one file.
set(CAFFE2_VERSION_DIR ${CMAKE_BINARY_DIR}/version)
set(build_type ${CMAKE_BUILD_TYPE})
set(cuda "none")
if(CAFFE2_CUDA)
  set(cuda "${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
endif()
set(nccl "no")
if(CAFFE2_CUDA AND Nccl_INCLUDE_DIR)
  set(nccl "yes")
endif()
set(sanitizers "none")
if(CAFFE2_SANITIZE)
  set(sanitizers ${CAFFE2_SANITIZE})
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.h.in ${CAFFE2_VERSION_DIR}/version_options.h @ONLY)

# Git writes a line into this file whenever HEAD moves.
find_package(Git QUIET)
set(head_log "")
if(GIT_FOUND AND EXISTS ${CMAKE_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --path-format=absolute --git-path logs/HEAD
                  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE head_log
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(commit_header ${CAFFE2_VERSION_DIR}/version_commit.h)
if(head_log AND EXISTS ${head_log})
  add_custom_command(
    OUTPUT ${commit_header}
    COMMAND ${CMAKE_COMMAND} -DGIT=${GIT_EXECUTABLE} -DSOURCE=${CMAKE_SOURCE_DIR}
            -DHEADER=${commit_header} -P ${CMAKE_CURRENT_LIST_DIR}/WriteCommit.cmake
    DEPENDS ${head_log} ${CMAKE_CURRENT_LIST_DIR}/WriteCommit.cmake
    COMMENT "Looking up the commit")
else()
  file(WRITE ${commit_header}.new "#define CAFFE2_COMMIT \"\"\n")
  file(COPY_FILE ${commit_header}.new ${commit_header} ONLY_IF_DIFFERENT)
endif()
add_custom_target(caffe2_commit DEPENDS ${commit_header})
add_dependencies(caffe2_utils caffe2_commit)
