# Dependencies: the system's package if there is one, else fetched at a pinned version.
include(FetchContent)
find_package(Threads REQUIRED)
set(FETCHCONTENT_QUIET OFF)

# heapwood_dependency(package repository tag [find_package argument...])
# Sets <package>_FETCHED if the system has no such package.
function(heapwood_dependency package repository tag)
    set(shallow ON)
    if(tag MATCHES "^[0-9a-f]+$" AND NOT tag MATCHES "\\.")
        set(shallow OFF) # git cannot clone a bare commit shallowly
    endif()
    set(CMAKE_POLICY_VERSION_MINIMUM 3.5) # some ask for less, which CMake 4 refuses
    set(CMAKE_POLICY_DEFAULT_CMP0077 NEW) # their options obey the variables set below
    set(system "")
    if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.25)
        set(system SYSTEM)
    endif()
    FetchContent_Declare(${package} GIT_REPOSITORY https://github.com/${repository}.git
        GIT_TAG ${tag} GIT_SHALLOW ${shallow} ${system} FIND_PACKAGE_ARGS ${ARGN})
    FetchContent_MakeAvailable(${package})
    string(TOLOWER ${package} lower)
    if(DEFINED ${lower}_SOURCE_DIR AND NOT ${package}_FOUND)
        set(${package}_FETCHED ON PARENT_SCOPE)
    endif()
endfunction()

heapwood_dependency(glm g-truc/glm 1.0.1)
heapwood_dependency(tinyobjloader tinyobjloader/tinyobjloader v2.0.0rc13)
if(HEAPWOOD_BUILD_APP)
    heapwood_dependency(CLI11 CLIUtils/CLI11 v2.4.2)
    heapwood_dependency(spdlog gabime/spdlog v1.14.1)
endif()
if(HEAPWOOD_BUILD_APP OR HEAPWOOD_BUILD_TESTS)
    heapwood_dependency(nlohmann_json nlohmann/json v3.11.3)
endif()
if(HEAPWOOD_BUILD_TESTS)
    set(INSTALL_GTEST OFF)
    heapwood_dependency(GTest google/googletest v1.14.0)
    set(RC_ENABLE_GTEST ON)
    # It has no releases: the head of December 2023.
    heapwood_dependency(rapidcheck emil-e/rapidcheck ff6af6fc683159deb51c543b065eba14dfcf329b)
    set(BENCHMARK_ENABLE_TESTING OFF)
    set(BENCHMARK_ENABLE_INSTALL OFF)
    heapwood_dependency(benchmark google/benchmark v1.8.3)
endif()
