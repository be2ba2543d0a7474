# The library that reads Matrix Market files, CHOLMOD of SuiteSparse, as heapwood_matrices.
option(HEAPWOOD_CHOLMOD
    "Read graphs of Matrix Market files by CHOLMOD (LGPL 2.1 or later), fetched if it is not installed" ON)
add_library(heapwood_matrices INTERFACE)
target_compile_definitions(heapwood_matrices INTERFACE
    HEAPWOOD_HAS_CHOLMOD=$<BOOL:${HEAPWOOD_CHOLMOD}>)
if(NOT HEAPWOOD_CHOLMOD)
    message(STATUS "No CHOLMOD (-DHEAPWOOD_CHOLMOD=ON): Matrix Market files will not be readable")
    return()
endif()

# Static, so that the program can be carried to a machine without it; but not for Python's module
# (scenes/CMakeLists.txt says why).
set(suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
if(HEAPWOOD_BUILD_PYTHON)
    unset(CHOLMOD_LIBRARY CACHE)
    unset(CHOLMOD_CONFIG_LIBRARY CACHE)
    unset(CHOLMOD_OPENMP_LIBRARY CACHE)
else()
    set(CMAKE_FIND_LIBRARY_SUFFIXES .a ${CMAKE_FIND_LIBRARY_SUFFIXES})
endif()
# SuiteSparse 5.12.0; those from 6 on have a project of CMake's at their root, which asks for BLAS.
heapwood_dependency(CHOLMOD DrTimothyAldenDavis/SuiteSparse 3.0.14 v5.12.0
    SHA256=5fb0064a3398111976f30c5908a8c0b40df44c6dd8f0cc4bfa7b9e45d8c647de MODULE)
set(CMAKE_FIND_LIBRARY_SUFFIXES ${suffixes})

# Of the archive, which is one of Makefiles, what reads a matrix.
if(CHOLMOD_FETCHED)
    enable_language(C)
    FetchContent_GetProperties(CHOLMOD)
    file(GLOB core ${cholmod_SOURCE_DIR}/CHOLMOD/Core/cholmod_*.c)
    add_library(heapwood_cholmod STATIC ${core} ${cholmod_SOURCE_DIR}/CHOLMOD/Check/cholmod_read.c
        ${cholmod_SOURCE_DIR}/SuiteSparse_config/SuiteSparse_config.c)
    target_compile_definitions(heapwood_cholmod PRIVATE
        DLONG NCHOLESKY NMATRIXOPS NMODIFY NPARTITION NSUPERNODAL)
    foreach(folder SuiteSparse_config AMD/Include COLAMD/Include CHOLMOD/Include)
        target_include_directories(heapwood_cholmod SYSTEM PUBLIC ${cholmod_SOURCE_DIR}/${folder})
    endforeach()
    target_link_libraries(heapwood_cholmod PUBLIC m)
    add_library(CHOLMOD::CHOLMOD ALIAS heapwood_cholmod)
endif()
target_link_libraries(heapwood_matrices INTERFACE CHOLMOD::CHOLMOD)
