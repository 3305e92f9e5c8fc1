# cmake --install: programs, libraries, headers and a CMake package; cpack: a .deb.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
