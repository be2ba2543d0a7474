# Dependencies: the system's package if there is one, else fetched at a pinned version.
include(FetchContent)
find_package(Threads REQUIRED)
set(FETCHCONTENT_QUIET OFF)

function(heapwood_dependency name repository tag)
    FetchContent_Declare(${name} GIT_REPOSITORY https://github.com/${repository}.git GIT_TAG ${tag}
        GIT_SHALLOW ON FIND_PACKAGE_ARGS ${ARGN})
    FetchContent_MakeAvailable(${name})
    set(${name}_FOUND ${${name}_FOUND} PARENT_SCOPE)
endfunction()

heapwood_dependency(glm g-truc/glm 0.9.9.8)
if(HEAPWOOD_BUILD_APP OR HEAPWOOD_BUILD_TESTS)
    heapwood_dependency(tinyobjloader tinyobjloader/tinyobjloader v2.0.0rc10)
    heapwood_dependency(CLI11 CLIUtils/CLI11 v2.1.2)
    heapwood_dependency(spdlog gabime/spdlog v1.10.0)
    heapwood_dependency(nlohmann_json nlohmann/json v3.11.2)
endif()
if(HEAPWOOD_BUILD_TESTS)
    heapwood_dependency(GTest google/googletest release-1.12.1)
    heapwood_dependency(rapidcheck emil-e/rapidcheck 08b505849ba92b6f0c3f3b0a1c1f4c4d1b3e1a0a)
    heapwood_dependency(benchmark google/benchmark v1.7.1)
endif()
