# Run at every build: writes version.cpp anew only if the commit or its state changed.
set(HEAPWOOD_GIT "unknown")
execute_process(COMMAND git -C ${SOURCE_DIR} rev-parse --short HEAD
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(NOT failed)
    set(HEAPWOOD_GIT ${commit})
    execute_process(COMMAND git -C ${SOURCE_DIR} status --porcelain --untracked-files=no
        OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
        string(APPEND HEAPWOOD_GIT "-dirty")
    endif()
endif()
configure_file(${SOURCE_DIR}/app/base/version.cpp.in ${OUTPUT} @ONLY)
