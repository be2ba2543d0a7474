# Installs heapwood from BUILD_DIR into a folder of WORK_DIR, then configures, builds and runs the
# consumer project there. Run by ctest: cmake -D... -P run_consumer.cmake
#
# BUILD_DIR, WORK_DIR, SOURCE_DIR (of the consumer), READMES (the folder of the tree), CONFIG,
# GENERATOR, CXX_COMPILER; LIBLZMA (that heapwood has); CUDA (ON or OFF), CUDA_COMPILER,
# CUDA_ARCHITECTURES (with commas), CUDA_FLAGS (of a release).
function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output
        ERROR_VARIABLE output)
    if(NOT status EQUAL 0)
        list(JOIN ARGN " " command)
        message(FATAL_ERROR "${command}\nended with ${status}:\n${output}")
    endif()
    message(STATUS "${output}")
    set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/prefix --config ${CONFIG})
# What the consumer sees must not come from the source tree.
file(COPY ${SOURCE_DIR}/ DESTINATION ${WORK_DIR}/source)
# The programs of the READMEs: each is the first block of C++ behind its name.
foreach(name example.cu example.cpp words.cu)
    set(README ${READMES}/kdtree/README.md)
    if(name STREQUAL "words.cu")
        set(README ${READMES}/allocators/README.md)
    endif()
    file(READ ${README} readme)
    string(FIND "${readme}" "(`${name}`)" at)
    if(at EQUAL -1)
        message(FATAL_ERROR "${README} has no (`${name}`)")
    endif()
    string(SUBSTRING "${readme}" ${at} -1 behind)
    string(FIND "${behind}" "```cpp\n" at)
    math(EXPR at "${at} + 7")
    string(SUBSTRING "${behind}" ${at} -1 behind)
    string(FIND "${behind}" "```" at)
    string(SUBSTRING "${behind}" 0 ${at} program)
    file(WRITE ${WORK_DIR}/source/${name} "${program}")
endforeach()
set(cuda_options -DCONSUMER_CUDA=${CUDA})
if(CUDA)
    string(REPLACE "," "\\;" architectures "${CUDA_ARCHITECTURES}")
    list(APPEND cuda_options -DCMAKE_CUDA_COMPILER=${CUDA_COMPILER}
        -DCMAKE_CUDA_ARCHITECTURES=${architectures}
        -DCMAKE_CUDA_FLAGS_RELEASE=${CUDA_FLAGS})
endif()
run(${CMAKE_COMMAND} -S ${WORK_DIR}/source -B ${WORK_DIR}/build -G ${GENERATOR}
    -DCMAKE_BUILD_TYPE=${CONFIG} -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix
    -DCMAKE_CXX_COMPILER=${CXX_COMPILER} ${cuda_options})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build --config ${CONFIG})
run(${WORK_DIR}/build/consumer_cpu)
run(${WORK_DIR}/build/consumer_c)
run(${WORK_DIR}/build/example_cpu)
# It can be carried to a machine without decompressors where heapwood's own program can.
if(LIBLZMA MATCHES "\\.a$")
    execute_process(COMMAND ldd ${WORK_DIR}/build/consumer_cpu OUTPUT_VARIABLE needed)
    if(needed MATCHES "liblzma|libz[.]")
        message(FATAL_ERROR "consumer_cpu needs shared decompressors:\n${needed}")
    endif()
endif()
if(CUDA)
    run(${WORK_DIR}/build/consumer_gpu)
    run(${WORK_DIR}/build/consumer_heap_gpu)
    run(${WORK_DIR}/build/consumer_malloc_gpu)
    run(${WORK_DIR}/build/consumer_trees_gpu)
    if(NOT output MATCHES "skipped")
        run(${WORK_DIR}/build/example_gpu)
        run(${WORK_DIR}/build/words_gpu)
    endif()
endif()
