# The library that reads Matrix Market files, CHOLMOD of SuiteSparse, as heapwood_matrices. It is not
# fetched: the archive has some ninety megabytes, of which a few files would be used.
option(HEAPWOOD_CHOLMOD
    "Read graphs of Matrix Market files by CHOLMOD (LGPL 2.1 or later) where it is installed" ON)
# Static, so that the program can be carried to a machine without it.
if(HEAPWOOD_CHOLMOD)
    set(suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
    set(CMAKE_FIND_LIBRARY_SUFFIXES .a ${CMAKE_FIND_LIBRARY_SUFFIXES})
    find_package(CHOLMOD 3.0.14 QUIET MODULE)
    set(CMAKE_FIND_LIBRARY_SUFFIXES ${suffixes})
endif()

add_library(heapwood_matrices INTERFACE)
target_compile_definitions(heapwood_matrices INTERFACE
    HEAPWOOD_HAS_CHOLMOD=$<BOOL:${CHOLMOD_FOUND}>)
if(CHOLMOD_FOUND)
    target_link_libraries(heapwood_matrices INTERFACE CHOLMOD::CHOLMOD)
else()
    message(STATUS "No CHOLMOD (Debian: libsuitesparse-dev): Matrix Market files will not be readable")
endif()
