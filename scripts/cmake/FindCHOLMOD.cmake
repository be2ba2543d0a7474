# CHOLMOD of SuiteSparse, which has no package of CMake's before SuiteSparse 6: CHOLMOD_FOUND,
# CHOLMOD_VERSION, and the target CHOLMOD::CHOLMOD of its modules that read matrices.
find_path(CHOLMOD_INCLUDE_DIR cholmod.h PATH_SUFFIXES suitesparse)
find_library(CHOLMOD_LIBRARY cholmod)
find_library(CHOLMOD_CONFIG_LIBRARY suitesparseconfig)
mark_as_advanced(CHOLMOD_INCLUDE_DIR CHOLMOD_LIBRARY CHOLMOD_CONFIG_LIBRARY)

# The numbers stand in one of two headers.
if(CHOLMOD_INCLUDE_DIR)
    foreach(header cholmod.h cholmod_core.h)
        if(NOT EXISTS "${CHOLMOD_INCLUDE_DIR}/${header}")
            continue()
        endif()
        file(READ "${CHOLMOD_INCLUDE_DIR}/${header}" text)
        if(text MATCHES "#define CHOLMOD_MAIN_VERSION +([0-9]+)")
            set(CHOLMOD_VERSION ${CMAKE_MATCH_1})
            foreach(part SUB SUBSUB)
                string(REGEX MATCH "#define CHOLMOD_${part}_VERSION +([0-9]+)" matched "${text}")
                string(APPEND CHOLMOD_VERSION .${CMAKE_MATCH_1})
            endforeach()
        endif()
    endforeach()
endif()

# From SuiteSparse 6 on it calls OpenMP, g++'s in the packages of distributions.
set(needed CHOLMOD_LIBRARY CHOLMOD_CONFIG_LIBRARY CHOLMOD_INCLUDE_DIR)
if(CHOLMOD_VERSION VERSION_GREATER_EQUAL 4)
    find_library(CHOLMOD_OPENMP_LIBRARY gomp HINTS ${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES})
    mark_as_advanced(CHOLMOD_OPENMP_LIBRARY)
    list(APPEND needed CHOLMOD_OPENMP_LIBRARY)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CHOLMOD REQUIRED_VARS ${needed} VERSION_VAR CHOLMOD_VERSION)
if(CHOLMOD_FOUND AND NOT TARGET CHOLMOD::CHOLMOD)
    add_library(CHOLMOD::CHOLMOD UNKNOWN IMPORTED GLOBAL)
    set_target_properties(CHOLMOD::CHOLMOD PROPERTIES
        IMPORTED_LOCATION "${CHOLMOD_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${CHOLMOD_INCLUDE_DIR}"
        INTERFACE_LINK_LIBRARIES "${CHOLMOD_CONFIG_LIBRARY};${CHOLMOD_OPENMP_LIBRARY};m")
endif()
