# Writes the commit of the checkout SOURCE into HEADER; an empty one where git cannot tell.
execute_process(COMMAND ${GIT} rev-parse --short=12 HEAD WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
file(WRITE ${HEADER} "#define CAFFE2_COMMIT \"${commit}\"\n")
