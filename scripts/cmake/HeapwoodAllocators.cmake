# The table of allocators, which of them are compiled, and source files that exist once for each.
#
# HEAPWOOD_ALLOCATORS   names of allocators, in the order of `heapwood list`; empty or `all`: all of
#                       ours
# HEAPWOOD_EXTRA        folders with allocators of one's own (allocators/own.md), all compiled

# heapwood_add_allocator(NAME CLASS HEADER [INCLUDE dir...] [OPTIONS option...]
#     [SOURCES file...] [LINK library...] [TESTED] [SPECIMEN] [GPU_ONLY])
#
# Adds a row to the table. NAME is the name on the command line and traits().name; CLASS is a class
# of heapwood::allocators, or a name with its namespace; HEADER, INCLUDE and SOURCES are relative to
# the folder of the call. INCLUDE folders are system folders: their headers get no warnings. OPTIONS
# are for the compiler of SOURCES and of all files that include HEADER. SOURCES are compiled once,
# those of CUDA only where there is nvcc, and are linked with LINK, libraries or targets, to all that
# includes HEADER. TESTED: somebody answers for an allocator of HEAPWOOD_EXTRA, as the tests do for
# those of this tree; without it `list` calls the allocator untested, and `all` does not mean it. A
# SPECIMEN is known to go wrong: it is never chosen by default, and no conformance test takes it.
# GPU_ONLY: the header is for nvcc alone.
function(heapwood_add_allocator name class header)
    cmake_parse_arguments(PARSE_ARGV 3 arg "TESTED;SPECIMEN;GPU_ONLY" ""
        "INCLUDE;OPTIONS;SOURCES;LINK")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR
            "heapwood_add_allocator(${name}): no such argument: ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT name MATCHES "^[a-z][a-z0-9]*(-[a-z0-9]+)*$")
        message(FATAL_ERROR "heapwood_add_allocator(${name}): a name begins with a letter and "
            "has lower-case letters, digits, and single hyphens between them")
    endif()
    get_property(names GLOBAL PROPERTY HEAPWOOD_KNOWN_ALLOCATORS)
    if(name IN_LIST names)
        message(FATAL_ERROR "heapwood_add_allocator(${name}): there is an allocator of that name")
    endif()
    get_filename_component(path ${header} ABSOLUTE)
    if(NOT EXISTS ${path})
        message(FATAL_ERROR "heapwood_add_allocator(${name}): there is no header ${path}")
    endif()
    if(arg_TESTED AND arg_SPECIMEN)
        message(FATAL_ERROR "heapwood_add_allocator(${name}): TESTED excludes SPECIMEN")
    endif()
    if(class MATCHES "^[A-Za-z0-9_]+$")
        set(class heapwood::allocators::${class})
    endif()
    if(NOT class MATCHES "^::")
        set(class ::${class})
    endif()
    if(HEAPWOOD_ADDS_EXTRA)
        heapwood_complete_allocator(${name} ${class} ${path})
    else()
        set(arg_TESTED ON)
        # Our own headers by one path in every clone, so that clones can share a compiler cache.
        file(RELATIVE_PATH path ${heapwood_SOURCE_DIR} ${path})
    endif()
    foreach(kind INCLUDE SOURCES)
        set(paths "")
        foreach(file IN LISTS arg_${kind})
            get_filename_component(file ${file} ABSOLUTE)
            if(NOT EXISTS ${file})
                message(FATAL_ERROR "heapwood_add_allocator(${name}): ${kind}: there is no ${file}")
            endif()
            list(APPEND paths ${file})
        endforeach()
        set_property(GLOBAL PROPERTY HEAPWOOD_${name}_${kind} "${paths}")
    endforeach()
    set_property(GLOBAL APPEND PROPERTY HEAPWOOD_KNOWN_ALLOCATORS ${name})
    set_property(GLOBAL PROPERTY HEAPWOOD_${name}_CLASS ${class})
    set_property(GLOBAL PROPERTY HEAPWOOD_${name}_HEADER ${path})
    set_property(GLOBAL PROPERTY HEAPWOOD_${name}_OPTIONS "${arg_OPTIONS}")
    set_property(GLOBAL PROPERTY HEAPWOOD_${name}_LINK "${arg_LINK}")
    set_property(GLOBAL PROPERTY HEAPWOOD_${name}_TESTED ${arg_TESTED})
    set_property(GLOBAL PROPERTY HEAPWOOD_${name}_SPECIMEN ${arg_SPECIMEN})
    set_property(GLOBAL PROPERTY HEAPWOOD_${name}_GPU_ONLY ${arg_GPU_ONLY})
endfunction()

# heapwood_complete_allocator(NAME CLASS HEADER): a class from outside of the tree, as the templates
# take it: asked for the contract, and completed where it has no reset() or cannot be moved. Replaces
# the caller's class and path by those of a generated header.
function(heapwood_complete_allocator name class header)
    string(REPLACE "-" "_" HEAPWOOD_ID ${name})
    set(HEAPWOOD_CLASS ${class})
    set(HEAPWOOD_INCLUDE ${header})
    set(generated ${CMAKE_BINARY_DIR}/extra/${HEAPWOOD_ID}.cuh)
    configure_file(${heapwood_SOURCE_DIR}/scripts/cmake/extra_allocator.cuh.in ${generated} @ONLY)
    set(class ::heapwood::extra::${HEAPWOOD_ID} PARENT_SCOPE)
    set(path ${generated} PARENT_SCOPE)
endfunction()

# heapwood_choose_allocators(): to be called when the table has all allocators of the tree. Adds
# those of HEAPWOOD_EXTRA, and sets the global property HEAPWOOD_CHOSEN_ALLOCATORS.
function(heapwood_choose_allocators)
    # A build folder of an older version keeps a table of its own under this name.
    get_property(type CACHE HEAPWOOD_ALLOCATORS PROPERTY TYPE)
    if(type STREQUAL "INTERNAL")
        unset(HEAPWOOD_ALLOCATORS CACHE)
    endif()
    set(HEAPWOOD_ALLOCATORS "" CACHE STRING "Allocators to compile, in order; empty or all: all")
    set(HEAPWOOD_EXTRA "" CACHE STRING "Folders with allocators of one's own")

    get_property(known GLOBAL PROPERTY HEAPWOOD_KNOWN_ALLOCATORS)
    set_property(GLOBAL PROPERTY HEAPWOOD_OWN_ALLOCATORS ${known})
    set(chosen ${HEAPWOOD_ALLOCATORS})
    if(NOT chosen OR chosen STREQUAL "all")
        set(chosen ${known})
    endif()
    set(number 0)
    set(HEAPWOOD_ADDS_EXTRA ON)
    set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON) # for LINK
    foreach(folder IN LISTS HEAPWOOD_EXTRA)
        get_filename_component(path ${folder} ABSOLUTE BASE_DIR ${CMAKE_BINARY_DIR})
        if(NOT EXISTS ${path}/CMakeLists.txt)
            message(FATAL_ERROR "HEAPWOOD_EXTRA: there is no ${path}/CMakeLists.txt; it is to call "
                "heapwood_add_allocator (allocators/own.md)")
        endif()
        math(EXPR number "${number} + 1")
        add_subdirectory(${path} ${CMAKE_BINARY_DIR}/extra/${number})
    endforeach()
    get_property(all GLOBAL PROPERTY HEAPWOOD_KNOWN_ALLOCATORS)
    foreach(name IN LISTS chosen)
        if(NOT name IN_LIST all)
            list(JOIN all " " names)
            message(FATAL_ERROR "HEAPWOOD_ALLOCATORS: no allocator '${name}'; there are ${names}")
        endif()
    endforeach()
    set(extra ${all})
    list(REMOVE_ITEM extra ${known})
    list(APPEND chosen ${extra})
    list(REMOVE_DUPLICATES chosen)
    if(NOT HEAPWOOD_HAS_CUDA)
        foreach(name IN LISTS chosen)
            get_property(gpu_only GLOBAL PROPERTY HEAPWOOD_${name}_GPU_ONLY)
            if(gpu_only)
                message(STATUS "The allocator ${name} exists only for GPUs: left out without nvcc")
                list(REMOVE_ITEM chosen ${name})
            endif()
        endforeach()
    endif()
    set_property(GLOBAL PROPERTY HEAPWOOD_CHOSEN_ALLOCATORS ${chosen})
endfunction()

# heapwood_has_allocators(VARIABLE TESTS [name...]): whether all of these allocators are chosen, or
# without names all of this tree. If not, says that the TESTS are left out.
function(heapwood_has_allocators variable tests)
    get_property(chosen GLOBAL PROPERTY HEAPWOOD_CHOSEN_ALLOCATORS)
    set(lacking ${ARGN})
    if(NOT lacking)
        get_property(lacking GLOBAL PROPERTY HEAPWOOD_OWN_ALLOCATORS)
    endif()
    list(REMOVE_ITEM lacking ${chosen})
    set(${variable} ON PARENT_SCOPE)
    if(lacking)
        list(JOIN lacking " " names)
        message(STATUS
            "Left out: ${tests}, which need allocators that HEAPWOOD_ALLOCATORS lacks: ${names}")
        set(${variable} OFF PARENT_SCOPE)
        set_property(GLOBAL PROPERTY HEAPWOOD_TESTS_LEFT_OUT ON)
    endif()
endfunction()

# heapwood_allocators(VARIABLE [GPU] [SOUND] [ONLY name...])
#
# The chosen allocators that a CPU has, or with GPU those that a GPU has; with SOUND without the
# specimens, with ONLY none but these.
function(heapwood_allocators variable)
    cmake_parse_arguments(PARSE_ARGV 1 arg "GPU;SOUND" "" "ONLY")
    get_property(chosen GLOBAL PROPERTY HEAPWOOD_CHOSEN_ALLOCATORS)
    set(names "")
    foreach(name IN LISTS chosen)
        get_property(specimen GLOBAL PROPERTY HEAPWOOD_${name}_SPECIMEN)
        get_property(gpu_only GLOBAL PROPERTY HEAPWOOD_${name}_GPU_ONLY)
        if((specimen AND arg_SOUND) OR (gpu_only AND NOT arg_GPU)
            OR (DEFINED arg_ONLY AND NOT name IN_LIST arg_ONLY))
            continue()
        endif()
        list(APPEND names ${name})
    endforeach()
    set(${variable} ${names} PARENT_SCOPE)
endfunction()

# heapwood_link_allocator(TARGET NAME): links what the allocator's SOURCES and LINK say. The first call
# makes a library of the SOURCES.
function(heapwood_link_allocator target name)
    get_property(sources GLOBAL PROPERTY HEAPWOOD_${name}_SOURCES)
    get_property(libraries GLOBAL PROPERTY HEAPWOOD_${name}_LINK)
    if(NOT HEAPWOOD_HAS_CUDA)
        list(FILTER sources EXCLUDE REGEX "\\.cu$")
    endif()
    if(sources)
        set(library heapwood_extra_${name})
        if(NOT TARGET ${library})
            get_property(include GLOBAL PROPERTY HEAPWOOD_${name}_INCLUDE)
            get_property(options GLOBAL PROPERTY HEAPWOOD_${name}_OPTIONS)
            add_library(${library} STATIC ${sources})
            target_include_directories(${library} SYSTEM PRIVATE ${include})
            target_compile_options(${library} PRIVATE ${options})
            target_link_libraries(${library} PRIVATE heapwood_allocators ${libraries})
        endif()
        list(PREPEND libraries ${library})
    endif()
    target_link_libraries(${target} PRIVATE ${libraries})
endfunction()

# heapwood_allocator_sources(TARGET TEMPLATE SUFFIX [APART] [SOUND] [ONLY name...])
#
# Gives TARGET a file NAME_SUFFIX made from TEMPLATE for every allocator as heapwood_allocators
# chooses them; a template whose name ends in .cu.in is for GPUs. In the template @HEAPWOOD_NAME@ is
# the name on the command line, @HEAPWOOD_ID@ the same with underscores for hyphens,
# @HEAPWOOD_CLASS@ the class with its namespace, @HEAPWOOD_INCLUDE@ the header, and @HEAPWOOD_TESTED@
# true or false. With APART each file is compiled alone, else five as one.
function(heapwood_allocator_sources target template suffix)
    set(choice ${ARGN})
    set(apart OFF)
    if(APART IN_LIST choice)
        set(apart ON)
        list(REMOVE_ITEM choice APART)
    endif()
    if(template MATCHES "\\.cu\\.in$")
        list(PREPEND choice GPU)
    endif()
    heapwood_allocators(names ${choice})
    get_property(own GLOBAL PROPERTY HEAPWOOD_OWN_ALLOCATORS)
    set(together "")
    foreach(HEAPWOOD_NAME IN LISTS names)
        string(REPLACE "-" "_" HEAPWOOD_ID ${HEAPWOOD_NAME})
        get_property(HEAPWOOD_CLASS GLOBAL PROPERTY HEAPWOOD_${HEAPWOOD_NAME}_CLASS)
        get_property(HEAPWOOD_INCLUDE GLOBAL PROPERTY HEAPWOOD_${HEAPWOOD_NAME}_HEADER)
        get_property(include GLOBAL PROPERTY HEAPWOOD_${HEAPWOOD_NAME}_INCLUDE)
        get_property(options GLOBAL PROPERTY HEAPWOOD_${HEAPWOOD_NAME}_OPTIONS)
        get_property(tested GLOBAL PROPERTY HEAPWOOD_${HEAPWOOD_NAME}_TESTED)
        set(HEAPWOOD_TESTED false)
        if(tested)
            set(HEAPWOOD_TESTED true)
        endif()
        # Of two sources of the same name CMake would silently take but one.
        if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${HEAPWOOD_ID}_${suffix})
            message(FATAL_ERROR "${HEAPWOOD_ID}_${suffix} is the name of a generated source")
        endif()
        set(file ${CMAKE_CURRENT_BINARY_DIR}/${HEAPWOOD_ID}_${suffix})
        configure_file(${template} ${file} @ONLY)
        # A source with properties of its own is compiled alone, and so is one with a header from
        # outside of the tree: what that header defines is not known.
        if(include OR options OR apart OR NOT HEAPWOOD_NAME IN_LIST own)
            set(foreign "")
            foreach(folder IN LISTS include)
                list(APPEND foreign -isystem ${folder})
            endforeach()
            if(NOT HEAPWOOD_NAME IN_LIST own)
                # The first error is the sentence on the contract; all others follow from it.
                if(template MATCHES "\\.cu\\.in$")
                    list(APPEND foreign -Xcudafe=--error_limit=1)
                elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
                    list(APPEND foreign -fmax-errors=1)
                else()
                    list(APPEND foreign -ferror-limit=1)
                endif()
            endif()
            target_sources(${target} PRIVATE ${file})
            set_source_files_properties(${file} TARGET_DIRECTORY ${target} PROPERTIES
                COMPILE_OPTIONS "${foreign};${options}")
            heapwood_link_allocator(${target} ${HEAPWOOD_NAME})
        else()
            list(APPEND together ${file})
        endif()
        list(LENGTH together count)
        if(count EQUAL 5)
            heapwood_compile_together(${target} ${together})
            set(together "")
        endif()
    endforeach()
    if(together)
        heapwood_compile_together(${target} ${together})
    endif()
endfunction()
