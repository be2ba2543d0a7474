# Compiler flags.
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(HEAPWOOD_CCACHE "Compile through ccache where it is installed" ON)
if(HEAPWOOD_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(HEAPWOOD_CCACHE_PROGRAM ccache)
    mark_as_advanced(HEAPWOOD_CCACHE_PROGRAM)
    if(HEAPWOOD_CCACHE_PROGRAM)
        set(CMAKE_CXX_COMPILER_LAUNCHER ${HEAPWOOD_CCACHE_PROGRAM})
        set(CMAKE_CUDA_COMPILER_LAUNCHER ${HEAPWOOD_CCACHE_PROGRAM})
    endif()
endif()

option(HEAPWOOD_UNITY "Compile source files of one folder as one: half the time for all of them" ON)
mark_as_advanced(HEAPWOOD_UNITY)

# heapwood_compile_together(TARGET file_or_folder... [EXCEPT file...] [PARTS n]): gives TARGET sources
# that the compiler reads as one, so that it reads the headers which they share once, or as n, which
# can be compiled side by side. A folder stands for its .cpp files. They share their unnamed
# namespace, too. Files with flags of their own stay apart.
function(heapwood_compile_together target)
    cmake_parse_arguments(PARSE_ARGV 1 together "" "PARTS" "EXCEPT")
    list(GET together_UNPARSED_ARGUMENTS 0 first)
    get_filename_component(group ${CMAKE_CURRENT_SOURCE_DIR}/${first} ABSOLUTE)
    get_filename_component(group ${group} NAME_WE)
    string(MAKE_C_IDENTIFIER "${group}" group)
    set(sources "")
    foreach(name IN LISTS together_UNPARSED_ARGUMENTS)
        if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/${name})
            file(GLOB found CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${name}/*.cpp)
            list(APPEND sources ${found})
        else()
            list(APPEND sources ${name})
        endif()
    endforeach()
    list(REMOVE_ITEM sources "" ${together_EXCEPT})
    if(HEAPWOOD_UNITY AND first MATCHES "\\.cu$")
        # CMake compiles CUDA sources together from version 3.31 on only. Paths are relative, so
        # that clones can share a compiler cache. Here no file may have flags of its own.
        set(file ${CMAKE_CURRENT_BINARY_DIR}/unity_${group}.cu)
        set(includes "")
        foreach(source IN LISTS sources)
            get_filename_component(path ${source} ABSOLUTE)
            file(RELATIVE_PATH path ${CMAKE_CURRENT_BINARY_DIR} ${path})
            string(APPEND includes "#include \"${path}\"\n")
        endforeach()
        file(CONFIGURE OUTPUT ${file} CONTENT "${includes}" @ONLY)
        target_sources(${target} PRIVATE ${file})
        return()
    endif()
    target_sources(${target} PRIVATE ${sources})
    set_source_files_properties(${sources} PROPERTIES UNITY_GROUP ${group})
    if(together_PARTS)
        list(LENGTH sources count)
        math(EXPR share "(${count} + ${together_PARTS} - 1) / ${together_PARTS}")
        foreach(part RANGE 1 ${together_PARTS})
            list(SUBLIST sources 0 ${share} these)
            list(REMOVE_ITEM sources ${these})
            set_source_files_properties(${these} PROPERTIES UNITY_GROUP ${group}_${part})
        endforeach()
    endif()
    set_target_properties(${target} PROPERTIES
        UNITY_BUILD ${HEAPWOOD_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()

# Floating point must round alike on every machine, or trees would differ in ties: no contraction to
# fused multiply-add. The builder is a template, so heapwood::kdtree hands these on to its users.
set(HEAPWOOD_ROUNDING
    $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-ffp-contract=off>
    $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-Xcompiler=-ffp-contract=off>
    $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-fmad=false>)

# For our own targets, never for a consumer's: link it as $<BUILD_INTERFACE:heapwood_flags>.
# Clang's -Wconversion takes in -Wsign-conversion, g++'s does not. That the code catches no
# floating-point exceptions changes no result: -fno-trapping-math lets g++ use vector instructions where
# a loop computes what it may discard. nvcc gets no --expt-relaxed-constexpr, which a user's nvcc
# would have to have as well: device code calls no constexpr function of the host.
add_library(heapwood_flags INTERFACE)
target_compile_options(heapwood_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wconversion>
    ${HEAPWOOD_ROUNDING}
    $<$<COMPILE_LANGUAGE:CXX>:-fno-trapping-math>
    $<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-Wno-sign-conversion>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
if(HEAPWOOD_WERROR)
    target_compile_options(heapwood_flags INTERFACE
        $<$<COMPILE_LANGUAGE:CXX>:-Werror> $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()

if(HEAPWOOD_SANITIZE STREQUAL "thread")
    set(sanitizers thread)
elseif(HEAPWOOD_SANITIZE STREQUAL "address")
    set(sanitizers address,undefined)
elseif(HEAPWOOD_SANITIZE STREQUAL "fuzzer")
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        message(FATAL_ERROR "HEAPWOOD_SANITIZE=fuzzer: needs clang, for its libFuzzer")
    endif()
    set(sanitizers fuzzer-no-link,address,undefined)
elseif(HEAPWOOD_SANITIZE)
    message(FATAL_ERROR
        "HEAPWOOD_SANITIZE=${HEAPWOOD_SANITIZE}: must be thread, address, fuzzer or empty")
endif()
if(HEAPWOOD_SANITIZE)
    target_compile_options(heapwood_flags INTERFACE
        -fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
    target_link_options(heapwood_flags INTERFACE -fsanitize=${sanitizers})
endif()

# Atomic: threads that count the same line would lose counts, and g++ computes some of the counts
# from others.
if(HEAPWOOD_COVERAGE)
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR HEAPWOOD_SANITIZE)
        message(FATAL_ERROR "HEAPWOOD_COVERAGE: needs g++, and no HEAPWOOD_SANITIZE")
    endif()
    target_compile_options(heapwood_flags INTERFACE
        $<$<COMPILE_LANGUAGE:CXX>:--coverage -fprofile-update=atomic -fprofile-abs-path>)
    target_link_options(heapwood_flags INTERFACE --coverage)
endif()
