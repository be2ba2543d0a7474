# Registers and spills of kernels as a table in the program, from the very objects it is linked of:
# ptxas names them while it compiles, registers.sh keeps them, and makes a source file of them
# before the program is linked.
set(HEAPWOOD_REGISTERS_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/registers.sh)

# heapwood_record_registers(LIBRARY): keeps what ptxas says beside the objects of an object library.
function(heapwood_record_registers library)
    if(CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA")
        target_compile_options(${library} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v>)
    endif()
    # A list, so that there is no empty argument where there is no compiler cache.
    set(launcher sh ${HEAPWOOD_REGISTERS_SCRIPT} record ${CMAKE_CUDA_COMPILER_LAUNCHER})
    set_target_properties(${library} PROPERTIES CUDA_COMPILER_LAUNCHER "${launcher}")
endfunction()

# heapwood_register_table(TARGET LIBRARY)
#
# Gives TARGET the table of what was kept for LIBRARY: an empty one if there is no such library.
function(heapwood_register_table target library)
    set(table ${CMAKE_CURRENT_BINARY_DIR}/register_table.cpp)
    set(objects "")
    if(TARGET ${library})
        set(objects $<TARGET_OBJECTS:${library}>)
    endif()
    add_custom_command(OUTPUT ${table}
        COMMAND sh ${HEAPWOOD_REGISTERS_SCRIPT} table ${table} ${objects}
        DEPENDS ${HEAPWOOD_REGISTERS_SCRIPT} ${objects}
        COMMENT "Collecting the registers of kernels" COMMAND_EXPAND_LISTS VERBATIM)
    target_sources(${target} PRIVATE ${table})
endfunction()
