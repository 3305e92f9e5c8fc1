# Language level, warnings, sanitizers, ccache and where products go.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# -fPIC everywhere, instead of -fPIE for programs: one precompiled header then serves both.
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
add_compile_options($<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:-fPIC>)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
# Programs find libraries in ../lib, in the build tree and when installed. The older kind of tag
# (RPATH) also applies to the libraries that these load, which a bundle needs.
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
add_link_options(-Wl,--disable-new-dtags)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")

add_compile_options("$<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:-Wall;-Wextra;-Wno-unused-parameter>")
# Square roots vectorize only if they need not set errno. Nothing here reads it after them.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno>)
# Choices (x > 0 ? x : a * x) vectorize for AVX2 only if both values may be computed. A value that is
# not chosen may overflow, which sets a flag of the processor that nothing here reads.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-trapping-math>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(
    $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>  # lets ccache see through PCH
    # GCC 12 to 14 warn about strings and vectors in their own library.
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-restrict;-Wno-array-bounds>"
    # GCC 13 and 14 warn if a function that takes a temporary name returns a reference.
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>
    # GCC takes the files that are compiled as one (CAFFE2_UNITY) for headers.
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()

# Messages and binaries name files by their path in the source.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=>)

# Hardening: checked stack frames and buffer functions, and tables of addresses that are read-only
# once a program runs. tests/programs/test_hardening.py reads the flags back from what is installed.
option(CAFFE2_HARDEN "Compile and link with the compiler's hardening flags" ON)
if(CAFFE2_HARDEN AND NOT CAFFE2_SANITIZE)
  add_compile_options(
    "$<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:-fstack-protector-strong>"
    # Some distributions predefine it.
    "$<$<AND:$<CONFIG:Release>,$<NOT:$<COMPILE_LANGUAGE:CUDA>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
  string(APPEND CMAKE_EXE_LINKER_FLAGS " -pie")
endif()

if(CAFFE2_SANITIZE)
  # -O1: the tests as a whole take hours without; stack traces stay readable. GCC's instrumented code
  # makes it warn of uninitialized members inside <regex>.
  add_compile_options(-fsanitize=${CAFFE2_SANITIZE} -fno-omit-frame-pointer
                      "$<$<COMPILE_LANGUAGE:CXX>:-O1;-g1>"
                      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${CAFFE2_SANITIZE})
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # With the last two, checkouts in different folders share a cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
endif()
find_program(LLD_PROGRAM ld.lld)
if(LLD_PROGRAM)
  add_link_options(-fuse-ld=lld)
endif()
