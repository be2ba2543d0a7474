# The libraries for files of pictures, as heapwood_pictures.

# Static, so that the program can be carried to a machine without it.
set(suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
set(CMAKE_FIND_LIBRARY_SUFFIXES .a ${CMAKE_FIND_LIBRARY_SUFFIXES})
find_package(PNG)
set(CMAKE_FIND_LIBRARY_SUFFIXES ${suffixes})
set(HEAPWOOD_HAS_PNG 0)
if(PNG_FOUND)
    set(HEAPWOOD_HAS_PNG 1)
    heapwood_bill(libpng "${PNG_VERSION_STRING}")
else()
    message(STATUS "No libpng found (package libpng-dev): 'render' will not write .png")
endif()

# Its packages have no static libraries: a program for GPUs, which is carried to machines that have
# nothing installed, gets it only if asked for.
set(default ON)
if(HEAPWOOD_HAS_CUDA)
    set(default OFF)
endif()
option(HEAPWOOD_OPENEXR "Write pictures as EXR files, too, where OpenEXR is installed" ${default})
if(HEAPWOOD_OPENEXR)
    find_package(OpenEXR 3 CONFIG QUIET)
endif()
set(HEAPWOOD_HAS_EXR 0)
if(OpenEXR_FOUND)
    set(HEAPWOOD_HAS_EXR 1)
    heapwood_bill(OpenEXR "${OpenEXR_VERSION}")
else()
    message(STATUS "No OpenEXR (package libopenexr-dev, -DHEAPWOOD_OPENEXR=ON): 'render' will not "
        "write .exr")
endif()

# What files need that read or write pictures.
add_library(heapwood_pictures INTERFACE)
target_compile_definitions(heapwood_pictures INTERFACE
    HEAPWOOD_HAS_PNG=${HEAPWOOD_HAS_PNG} HEAPWOOD_HAS_EXR=${HEAPWOOD_HAS_EXR})
if(HEAPWOOD_HAS_PNG)
    target_link_libraries(heapwood_pictures INTERFACE PNG::PNG)
endif()
if(HEAPWOOD_HAS_EXR)
    target_link_libraries(heapwood_pictures INTERFACE OpenEXR::OpenEXR)
endif()
