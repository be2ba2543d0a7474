# Builds a program of AtomicMalloc and the allocators of tests/extra/folder, and looks for them in
# `list`, `build`, `bench` and the conformance suite. Run by ctest: cmake -D... -P build_extra.cmake
#
# SOURCE_DIR, WORK_DIR, GENERATOR, BUILD_TYPE, FETCHED (where libraries were fetched to),
# CXX_COMPILER, CCACHE and WERROR (as in this build), LAUNCHER (the compiler cache, if there is one),
# CXX_FLAGS (of this build type), SHARED (whether code is for shared libraries); CUDA (ON or OFF),
# CUDA_COMPILER, CUDA_FLAGS (of this build type), CUDA_ARCHITECTURES (with commas).
cmake_minimum_required(VERSION 3.24)

function(run status)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE ended OUTPUT_VARIABLE output
        ERROR_VARIABLE errors)
    if(NOT ended EQUAL status)
        list(JOIN ARGN " " command)
        message(FATAL_ERROR "${command}\nended with ${ended}, not ${status}:\n${output}${errors}")
    endif()
    set(output "${output}" PARENT_SCOPE)
    set(errors "${errors}" PARENT_SCOPE)
endfunction()

function(expect text pattern)
    if(NOT text MATCHES "${pattern}")
        message(FATAL_ERROR "no match of '${pattern}' in:\n${text}")
    endif()
endfunction()

# An install prefix or build folder of an earlier run must not help.
file(REMOVE_RECURSE ${WORK_DIR})
# By the environment: a list does not survive as an argument of a function.
string(REPLACE "," ";" architectures "${CUDA_ARCHITECTURES}")
set(ENV{CUDAARCHS} "${architectures}")
set(configure ${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${WORK_DIR} -G ${GENERATOR}
    -DCMAKE_BUILD_TYPE=${BUILD_TYPE} -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
    -DFETCHCONTENT_BASE_DIR=${FETCHED} -DFETCHCONTENT_UPDATES_DISCONNECTED=ON
    -DHEAPWOOD_CCACHE=${CCACHE} -DHEAPWOOD_BUILD_TESTS=ON -DHEAPWOOD_WERROR=${WERROR})
# The test asks how the parts come together, so the compiler optimizes nothing; but a cache that takes
# paths as relative has most files as this build has compiled them.
string(TOUPPER "${BUILD_TYPE}" type)
if(LAUNCHER AND NOT "$ENV{CCACHE_BASEDIR}" STREQUAL "")
    list(APPEND configure "-DCMAKE_CXX_FLAGS_${type}=${CXX_FLAGS}"
        -DCMAKE_POSITION_INDEPENDENT_CODE=${SHARED})
else()
    list(APPEND configure -DCMAKE_CXX_FLAGS_${type}=-O0)
endif()
set(machine -DHEAPWOOD_CUDA=OFF)
if(CUDA)
    set(machine -DHEAPWOOD_CUDA=ON -DCMAKE_CUDA_COMPILER=${CUDA_COMPILER}
        "-DCMAKE_CUDA_FLAGS_${type}=${CUDA_FLAGS}")
endif()
list(APPEND configure ${machine})

# What is asked for wrongly is said.
run(1 ${configure} -DHEAPWOOD_ALLOCATORS=hybird)
expect("${errors}" "no[ \n]+allocator[ \n]+'hybird';[ \n]+there[ \n]+are[ \n]+atomicmalloc[ \n]+awmalloc")
run(0 ${configure} -DHEAPWOOD_ALLOCATORS=all)
if(NOT EXISTS ${WORK_DIR}/app/backends/kma_cpu.cpp)
    message(FATAL_ERROR "HEAPWOOD_ALLOCATORS=all has no kma")
endif()
run(1 ${configure} -DHEAPWOOD_ALLOCATORS= -DHEAPWOOD_EXTRA=${WORK_DIR}/nowhere)
expect("${errors}" "there[ \n]+is[ \n]+no[ \n]+[^\n]*nowhere/CMakeLists.txt")

run(0 ${configure} -DHEAPWOOD_ALLOCATORS=atomicmalloc
    -DHEAPWOOD_EXTRA=${SOURCE_DIR}/tests/extra/folder)
if(NOT CUDA)
    expect("${output}" "device-stripes exists only for GPUs: left out")
endif()
# As the recipe of allocators/own.md has it: no tests, and no library for them.
run(0 ${configure} -DHEAPWOOD_BUILD_TESTS=OFF)
run(0 ${CMAKE_COMMAND} --build ${WORK_DIR} --target help)
if(output MATCHES "heapwood_conformance_tests_cpu|rapidcheck:")
    message(FATAL_ERROR "without tests there are targets of tests")
endif()
run(0 ${configure})
file(READ ${WORK_DIR}/compile_commands.json commands)
expect("${commands}" "/stripes_subject\\.cpp")
if(commands MATCHES "device_stripes[a-z_]*\\.cpp")
    message(FATAL_ERROR "an allocator that exists only for GPUs is compiled for a CPU")
endif()
if(CUDA)
    expect("${commands}" "/device_stripes_subject\\.cu")
endif()
string(REGEX MATCHALL "[^\n]*-c [^\n]*foreign/pile\\.cpp\"" once "${commands}")
list(LENGTH once count)
if(NOT count EQUAL 1)
    message(FATAL_ERROR "SOURCES are compiled ${count} times, not once")
endif()

run(0 ${CMAKE_COMMAND} --build ${WORK_DIR} --target heapwood_conformance_tests_cpu)
if("${output}${errors}" MATCHES "[^\n]*pile\\.h:[^\n]*warning[^\n]*")
    message(FATAL_ERROR "a warning of a header from elsewhere: ${CMAKE_MATCH_0}")
endif()
run(0 ${WORK_DIR}/tests/allocators/heapwood_conformance_tests_cpu --gtest_filter=*pile*)
expect("${output}" "ConformanceTest.KeepsBlocksApartUnderRandomChurn/pile_SerialWarp")
run(0 ${WORK_DIR}/tests/allocators/heapwood_conformance_tests_cpu --gtest_filter=*stripes*)
expect("${output}" "[1-9][0-9]* tests from 1 test suite ran")
expect("${output}" "ConformanceTest.GivesEverySize/stripes_SerialWarp")

run(0 ${CMAKE_COMMAND} --build ${WORK_DIR} --target heapwood)
set(program ${WORK_DIR}/app/heapwood)
run(0 ${program} list --json -)
string(JSON allocators GET "${output}" allocators)
string(JSON count LENGTH "${allocators}")
set(listed "")
set(facts "")
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
    string(JSON name GET "${allocators}" ${i} name)
    string(JSON devices GET "${allocators}" ${i} devices)
    string(REGEX REPLACE "[^a-z]+" "," devices "${devices}")
    list(APPEND listed "${name}${devices}")
    foreach(key sound remade header_bytes)
        string(JSON ${key} ERROR_VARIABLE error GET "${allocators}" ${i} ${key})
        list(APPEND facts "${name} ${key} ${${key}}")
    endforeach()
endforeach()
set(wanted "atomicmalloc,cpu,;stripes,cpu,;pile,cpu,")
if(CUDA)
    set(wanted "atomicmalloc,cpu,gpu,;stripes,cpu,gpu,;pile,cpu,gpu,;device-stripes,gpu,")
endif()
if(NOT listed STREQUAL wanted)
    message(FATAL_ERROR "list has ${listed}, not ${wanted}")
endif()

# JSON's null is nothing to CMake.
foreach(fact "atomicmalloc sound ON" "atomicmalloc remade OFF" "atomicmalloc header_bytes 0" "stripes sound ON"
        "pile sound " "pile remade ON" "pile header_bytes ")
    if(NOT fact IN_LIST facts)
        message(FATAL_ERROR "not '${fact}' in ${facts}")
    endif()
endforeach()

run(0 ${program} build gen:sphere:1000 --device cpu --allocator all,pile --repeat 3 --verify --json -)
foreach(i 1 2)
    string(JSON name GET "${output}" results ${i} build allocator)
    string(JSON other GET "${output}" results ${i} tree digest)
    string(JSON digest GET "${output}" results 0 tree digest)
    list(APPEND trees "${name} ${other}")
endforeach()
if(NOT trees STREQUAL "stripes ${digest};pile ${digest}")
    message(FATAL_ERROR "${trees}, not ${digest}")
endif()
expect("${errors}" "pile has no reset")
run(0 ${program} build gen:sphere:1000 --device cpu --allocator all --repeat 1 --csv)
expect("${errors}" "all leaves out what is untested: pile")
if(output MATCHES "pile")
    message(FATAL_ERROR "all means an untested allocator: ${output}")
endif()
# A pool whose handles are used up is made anew between iterations.
run(0 ${program} bench alloc init --quick --device cpu -a pile --bytes 64 --csv)
expect("${output}" "pile")
run(0 ${program} build gen:sphere:1000 --device cpu --allocator all --repeat 1 --verify --json -)
string(JSON digest GET "${output}" results 0 tree digest)
string(JSON name GET "${output}" results 1 build allocator)
string(JSON other GET "${output}" results 1 tree digest)
if(NOT name STREQUAL "stripes" OR NOT other STREQUAL digest)
    message(FATAL_ERROR "${name}'s tree is ${other}, not ${digest}")
endif()
# There is no such allocator on a CPU. In a build without nvcc there is none at all.
foreach(verb "build|gen:sphere:1000" "compare|gen:sphere:1000" "bench|alloc" "trace|gen:sphere:1000"
        "inspect|gen:sphere:1000" "render|gen:sphere:1000|-o|picture.png")
    string(REPLACE "|" ";" verb "${verb}")
    run(2 ${program} ${verb} --device cpu --allocator device-stripes)
    if(CUDA)
        expect("${errors}" "'device-stripes' exists for GPUs only")
    else()
        expect("${errors}" "no allocator 'device-stripes'")
    endif()
endforeach()
# One of ours can be compiled into the program.
run(2 ${program} build gen:sphere:1000 --device cpu --allocator hybrid)
expect("${errors}" "-DHEAPWOOD_ALLOCATORS=\"atomicmalloc;stripes;pile;hybrid\"")
