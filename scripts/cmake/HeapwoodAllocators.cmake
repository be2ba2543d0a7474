# Source files that exist once for every allocator of HEAPWOOD_ALLOCATORS.

# heapwood_allocator_sources(VARIABLE TEMPLATE SUFFIX [SOUND] [ONLY name...])
#
# Makes a file NAME_SUFFIX from TEMPLATE for every allocator (with SOUND: but the specimens; with
# ONLY: those named, which must exist) and puts their paths into VARIABLE. In the template,
# @HEAPWOOD_NAME@ is the name on the command line, @HEAPWOOD_HEADER@ the same with underscores,
# @HEAPWOOD_INCLUDE@ the header's path, and @HEAPWOOD_CLASS@ the class.
function(heapwood_allocator_sources variable template suffix)
    cmake_parse_arguments(PARSE_ARGV 3 arg "SOUND" "" "ONLY")
    set(unknown ${arg_ONLY})
    set(files "")
    foreach(entry IN LISTS HEAPWOOD_ALLOCATORS)
        if(NOT entry MATCHES "^([a-z0-9-]+):([A-Za-z0-9]+)(:specimen)?$")
            message(FATAL_ERROR "HEAPWOOD_ALLOCATORS: '${entry}' is not name:Class[:specimen]")
        endif()
        set(HEAPWOOD_NAME ${CMAKE_MATCH_1})
        list(REMOVE_ITEM unknown ${HEAPWOOD_NAME})
        if((arg_SOUND AND CMAKE_MATCH_3)
            OR (DEFINED arg_ONLY AND NOT HEAPWOOD_NAME IN_LIST arg_ONLY))
            continue()
        endif()
        set(HEAPWOOD_CLASS ${CMAKE_MATCH_2})
        string(REPLACE "-" "_" HEAPWOOD_HEADER ${HEAPWOOD_NAME})
        set(HEAPWOOD_INCLUDE allocators/${HEAPWOOD_HEADER}.cuh)
        if(CMAKE_MATCH_3)
            set(HEAPWOOD_INCLUDE allocators/specimens/${HEAPWOOD_HEADER}.cuh)
        endif()
        # Of two sources of the same name CMake would silently take but one.
        if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${HEAPWOOD_HEADER}_${suffix})
            message(FATAL_ERROR "${HEAPWOOD_HEADER}_${suffix} is the name of a generated source")
        endif()
        set(file ${CMAKE_CURRENT_BINARY_DIR}/${HEAPWOOD_HEADER}_${suffix})
        configure_file(${template} ${file} @ONLY)
        list(APPEND files ${file})
    endforeach()
    if(unknown)
        message(FATAL_ERROR "HEAPWOOD_ALLOCATORS has no ${unknown}")
    endif()
    set(${variable} ${files} PARENT_SCOPE)
endfunction()

# heapwood_allocator_classes(VARIABLE): the classes of all allocators, in order.
function(heapwood_allocator_classes variable)
    set(classes ${HEAPWOOD_ALLOCATORS})
    list(TRANSFORM classes REPLACE "^[^:]*:([^:]*).*$" "\\1")
    set(${variable} ${classes} PARENT_SCOPE)
endfunction()
