# Installation: libraries and headers for find_package(heapwood).
#
# Headers keep their folders under include/heapwood, and are found by two paths: a consumer writes
# <heapwood/allocators/circular.cuh>, they call one another "allocators/circular.cuh". The link
# makes the consumer's spelling work in a build tree too.
set(libraries heapwood_allocators heapwood_heap heapwood_scenes heapwood_kdtree)
if(HEAPWOOD_HAS_CUDA)
    list(APPEND libraries heapwood_device_heap)
endif()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
file(CREATE_LINK ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/include/heapwood SYMBOLIC)
foreach(library IN LISTS libraries)
    target_include_directories(${library} INTERFACE
        $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:include>)
endforeach()

set(installable ${PROJECT_IS_TOP_LEVEL})
if(glm_FETCHED)
    message(STATUS "GLM was fetched: nothing to install, for the package would need it (libglm-dev)")
    set(installable OFF)
endif()
option(HEAPWOOD_INSTALL "Install the libraries" ${installable})
if(NOT HEAPWOOD_INSTALL)
    return()
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/heapwood)

install(TARGETS ${libraries} EXPORT heapwoodTargets)
install(EXPORT heapwoodTargets NAMESPACE heapwood:: DESTINATION ${package_directory})
# But those for the files that are compiled with other vector instructions than all else.
install(DIRECTORY allocators scenes kdtree DESTINATION include/heapwood
    FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh" PATTERN "models" EXCLUDE
    PATTERN "four_tests.h" EXCLUDE PATTERN "vector_rays.h" EXCLUDE)

# The heap's device functions for other compilers than nvcc.
if(HEAPWOOD_HAS_CUDA)
    get_property(files TARGET heapwood_heap_files PROPERTY HEAPWOOD_FILES)
    install(FILES ${files} DESTINATION ${CMAKE_INSTALL_LIBDIR}/heapwood)
endif()

# What a consumer needs in turn: static libraries hand their private dependencies on. The decompressors are
# of the kind that heapwood's own program has.
set(decompressors "")
get_target_property(linked heapwood_scenes LINK_LIBRARIES)
foreach(library lzma z)
    if(linked MATCHES heapwood::${library}>)
        list(APPEND decompressors ${library})
    endif()
endforeach()
set(static_library lib\${library}.a)
configure_package_config_file(scripts/cmake/heapwoodConfig.cmake.in
    ${PROJECT_BINARY_DIR}/heapwoodConfig.cmake INSTALL_DESTINATION ${package_directory}
    PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heapwoodConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heapwoodConfig.cmake
    ${PROJECT_BINARY_DIR}/heapwoodConfigVersion.cmake scripts/cmake/HeapwoodCuda20.cmake
    DESTINATION ${package_directory})
