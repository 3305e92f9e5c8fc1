# cmake --install: programs, libraries, headers and a CMake package; cpack: a .deb.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(headers ${CMAKE_INSTALL_INCLUDEDIR}/doppio)
get_target_property(programs caffe2_programs MANUALLY_ADDED_DEPENDENCIES)
install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS caffe2 caffe2_image EXPORT DoppioTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${headers})
install(TARGETS caffe2_image_files LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(CAFFE2_CUDA)
  install(TARGETS caffe2_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
foreach(folder caffe2 db operators distributed train)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/${folder} DESTINATION ${headers} FILES_MATCHING PATTERN "*.h"
                                                                      PATTERN "*.proto")
endforeach()
install(DIRECTORY ${CMAKE_BINARY_DIR}/caffe2/proto DESTINATION ${headers}/caffe2
        FILES_MATCHING PATTERN "*.pb.h" PATTERN "CMakeFiles" EXCLUDE)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Doppio)
install(EXPORT DoppioTargets NAMESPACE Doppio:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/DoppioConfig.cmake.in
                              ${CMAKE_BINARY_DIR}/DoppioConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/DoppioConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/DoppioConfig.cmake ${CMAKE_BINARY_DIR}/DoppioConfigVersion.cmake
        DESTINATION ${package_dir})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME doppio)
set(CPACK_PACKAGE_CONTACT "Doppio maintainers <maintainers@doppio.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# Needed to build against the headers and the CMake package.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libprotobuf-dev, libgflags-dev, libgoogle-glog-dev")
# For the stores that shard 0 and `doppio run` start, and for the Python package.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "redis-server, python3-numpy, python3-protobuf")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # the packages of the linked libraries
# Libraries of the package itself are found beside the programs and are not dependencies.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
if(TARGET caffe2_python)
  set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};${PROJECT_NAME};ALL;/"
                                   "${CMAKE_BINARY_DIR};${PROJECT_NAME};python_deb;/")
endif()
include(CPack)
