# libcaffe2: everything except the image pipeline. It is a shared library, so that the linker keeps
# each operator's registration, whether or not a program uses the operator.
set(objects "")
foreach(library ${CAFFE2_OBJECT_LIBRARIES})
  list(APPEND objects $<TARGET_OBJECTS:${library}>)
endforeach()
add_library(caffe2 SHARED ${objects} $<TARGET_OBJECTS:caffe2_proto>)
caffe2_target_settings(caffe2)
target_link_libraries(caffe2 PRIVATE OneDnn::OneDnn LevelDb::LevelDb Lmdb::Lmdb HiredisC::HiredisC
                                     GlooC::GlooC ZLIB::ZLIB OpenSSL::SSL OpenSSL::Crypto)
target_compile_features(caffe2 INTERFACE cxx_std_20)  # for those who include its headers
# No VERSION: so there are one file and the linker's link to it. A wheel cannot hold links and would
# hold each as a copy.
set_target_properties(caffe2 PROPERTIES SOVERSION 0)
# It loads libcaffe2_cuda from its own folder.
target_link_libraries(caffe2 PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(caffe2 PROPERTIES BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")

# The HTTP server of --metrics_port. Only programs with this flag link it.
add_library(caffe2_metrics_server STATIC ${CMAKE_SOURCE_DIR}/train/observe/metrics_server.cc)
caffe2_target_settings(caffe2_metrics_server)
target_precompile_headers(caffe2_metrics_server REUSE_FROM caffe2_core)
target_link_libraries(caffe2_metrics_server PRIVATE MicroHttpd::MicroHttpd)

# libcaffe2_image: decoding and augmentation (libjpeg-turbo, OpenCV) and the operators on top of it.
file(GLOB image_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/db/image/*.cc
     ${CMAKE_SOURCE_DIR}/operators/image/image_input_*.cc)
list(FILTER image_sources EXCLUDE REGEX "(/image_file_codec_opencv|_cuda)[.]cc$")
if(image_sources)
  add_library(caffe2_image SHARED ${image_sources})
  caffe2_target_settings(caffe2_image)
  target_precompile_headers(caffe2_image REUSE_FROM caffe2_core)
  target_link_libraries(caffe2_image PUBLIC caffe2 PRIVATE JPEG::JPEG opencv_core opencv_imgproc
                                                           ${CMAKE_DL_LIBS})
  # A program that links it needs its registrations, even if it uses none of its symbols.
  target_link_options(caffe2_image INTERFACE -Wl,--no-as-needed)
  set_target_properties(caffe2_image PROPERTIES SOVERSION 0 BUILD_RPATH "$ORIGIN" INSTALL_RPATH
                                                                                "$ORIGIN")

  # libcaffe2_image_files: image file formats other than JPEG. Loaded when the first such file is
  # decoded.
  add_library(caffe2_image_files SHARED ${CMAKE_SOURCE_DIR}/db/image/image_file_codec_opencv.cc)
  caffe2_target_settings(caffe2_image_files)
  target_precompile_headers(caffe2_image_files REUSE_FROM caffe2_core)
  target_link_libraries(caffe2_image_files PRIVATE caffe2 opencv_core opencv_imgcodecs)
  set_target_properties(caffe2_image_files PROPERTIES SOVERSION 0 INSTALL_RPATH "$ORIGIN")
  add_dependencies(caffe2_image caffe2_image_files)
else()
  add_library(caffe2_image INTERFACE)
endif()
