# What the compiler says of allocators that are not quite one: a sentence on what lacks, and little more. Run
# by ctest: cmake -D... -P messages.cmake
#
# SOURCE_DIR, WORK_DIR, CXX_COMPILER, CXX_COMPILER_ID; CUDA (ON or OFF), CUDA_COMPILER.
file(REMOVE_RECURSE ${WORK_DIR})
set(HEAPWOOD_ID wrong)
set(HEAPWOOD_CLASS ::mine::Wrong)
set(HEAPWOOD_INCLUDE ${SOURCE_DIR}/tests/extra/wrong/wrong.cuh)
configure_file(${SOURCE_DIR}/scripts/cmake/extra_allocator.cuh.in ${WORK_DIR}/wrong.cuh @ONLY)
set(text "#include \"wrong.cuh\"
static_assert(heapwood::allocators::Allocator<heapwood::extra::wrong>);
static_assert(heapwood::allocators::kIsRemade<heapwood::extra::wrong>);\n")
file(WRITE ${WORK_DIR}/wrong.cpp "${text}")
file(WRITE ${WORK_DIR}/wrong.cu "${text}")
set(one_error -ferror-limit=1)
if(CXX_COMPILER_ID STREQUAL "GNU")
    set(one_error -fmax-errors=1)
endif()

# Compiles with the macro WRONG, also by nvcc where it is; without a pattern that must succeed.
function(expect_message wrong pattern)
    set(commands "${CXX_COMPILER}|${one_error}|-fsyntax-only|wrong.cpp")
    if(CUDA)
        list(APPEND commands "${CUDA_COMPILER}|-Xcudafe=--error_limit=1|-cuda|wrong.cu")
    endif()
    foreach(command IN LISTS commands)
        string(REPLACE "|" ";" command "${command}")
        execute_process(COMMAND ${command} -std=c++20 -I${SOURCE_DIR} -D${wrong}
            WORKING_DIRECTORY ${WORK_DIR} RESULT_VARIABLE ended ERROR_VARIABLE errors OUTPUT_QUIET)
        string(REGEX REPLACE "[^\n]" "" lines "${errors}")
        string(LENGTH "${lines}" lines)
        if(pattern STREQUAL "")
            if(NOT ended EQUAL 0)
                message(FATAL_ERROR "${wrong}: ${errors}")
            endif()
        elseif(ended EQUAL 0 OR NOT errors MATCHES "static.assert[^\n]*${pattern}" OR lines GREATER 30)
            message(FATAL_ERROR
                "${wrong}: no match of '${pattern}' within 30 lines, or no failure (${ended}):\n${errors}")
        endif()
    endforeach()
endfunction()

expect_message(NOTHING "")
expect_message(WRONG_REF "Ref must be trivially copyable")
expect_message(WRONG_TRAITS "Traits traits\\(\\)")
expect_message(WRONG_CONSTRUCTOR "explicit A\\(const heapwood::allocators::PoolConfig&\\)")
expect_message(WRONG_REF_FUNCTION "Ref ref\\(\\) const")
expect_message(WRONG_BYTES "overhead_bytes\\(\\) const")
expect_message(WRONG_REGIONS "for_each_region\\(Visitor&&\\)")
expect_message(WRONG_ALLOCATE "allocate\\(const heapwood::allocators::Context&, std::size_t\\)")
expect_message(WRONG_DEALLOCATE "deallocate\\(const heapwood::allocators::Context&, void\\*")
expect_message(WRONG_GRANTED "granted_bytes\\(const void\\*, std::size_t\\) const")
expect_message(WRONG_RESET "reset\\(\\) returns void")
