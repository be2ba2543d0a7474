# Dependencies: the system's package if there is one, else fetched at a pinned version.
include(FetchContent)
include(HeapwoodBill)
find_package(Threads REQUIRED)
set(FETCHCONTENT_QUIET OFF)

# heapwood_dependency(package repository version reference hash [find_package argument...])
# Fetches the archive of the reference, a tag or a commit, which must have that hash, where the system
# has no such package; then sets <package>_FETCHED. Puts the library on the bill of materials.
function(heapwood_dependency package repository version reference hash)
    set(CMAKE_POLICY_VERSION_MINIMUM 3.5) # some ask for less, which CMake 4 refuses
    set(CMAKE_POLICY_DEFAULT_CMP0077 NEW) # their options obey the variables set below
    # In 3.25 the argument before it takes SYSTEM for a value of its own: a flag does not mind.
    set(system DOWNLOAD_NO_PROGRESS ON)
    if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.25)
        list(APPEND system SYSTEM)
    endif()
    FetchContent_Declare(${package}
        URL https://github.com/${repository}/archive/${reference}.tar.gz URL_HASH ${hash}
        ${system} FIND_PACKAGE_ARGS ${ARGN})
    FetchContent_MakeAvailable(${package})
    string(TOLOWER ${package} lower)
    if(DEFINED ${lower}_SOURCE_DIR AND NOT ${package}_FOUND)
        set(${package}_FETCHED ON PARENT_SCOPE)
        heapwood_bill(${package} ${version} pkg:github/${repository}@${reference} ${hash})
    else()
        heapwood_bill(${package} "${${package}_VERSION}")
    endif()
endfunction()

heapwood_dependency(glm g-truc/glm 1.0.1 1.0.1
    SHA256=9f3174561fd26904b23f0db5e560971cbf9b3cbda0b280f04d5c379d03bf234c)
heapwood_dependency(tinyobjloader tinyobjloader/tinyobjloader 2.0.0rc13 v2.0.0rc13
    SHA256=0feb92b838f8ce4aa6eb0ccc32dff30cb64a891e0ec3bde837fca49c78d44334)
if(HEAPWOOD_BUILD_APP)
    heapwood_dependency(CLI11 CLIUtils/CLI11 2.4.2 v2.4.2
        SHA256=f2d893a65c3b1324c50d4e682c0cdc021dd0477ae2c048544f39eed6654b699a)
    heapwood_dependency(spdlog gabime/spdlog 1.14.1 v1.14.1
        SHA256=1586508029a7d0670dfcb2d97575dcdc242d3868a259742b69f100801ab4e16b)
endif()
if(HEAPWOOD_BUILD_APP OR HEAPWOOD_BUILD_TESTS)
    heapwood_dependency(nlohmann_json nlohmann/json 3.11.3 v3.11.3
        SHA256=0d8ef5af7f9794e3263480193c491549b2ba6cc74bb018906202ada498a79406)
endif()
if(HEAPWOOD_BUILD_TESTS)
    set(INSTALL_GTEST OFF)
    heapwood_dependency(GTest google/googletest 1.14.0 v1.14.0
        SHA256=8ad598c73ad796e0d8280b082cebd82a630d73e73cd3c70057938a6501bba5d7)
    set(RC_ENABLE_GTEST ON)
    # It has no releases: the head of December 2023.
    heapwood_dependency(rapidcheck emil-e/rapidcheck 2023.12.14
        ff6af6fc683159deb51c543b065eba14dfcf329b
        SHA512=79f1e869a3c55f62d3609cc4b3a56977f720c3eacf5e1792aa3a9bd5ab90aa077371bc0902d6c31503885f9ebcc633ed242ae6995866cb46fd12afdf425500e3)
    set(BENCHMARK_ENABLE_TESTING OFF)
    set(BENCHMARK_ENABLE_INSTALL OFF)
    heapwood_dependency(benchmark google/benchmark 1.8.3 v1.8.3
        SHA256=6bc180a57d23d4d9515519f92b0c83d61b05b5bab188961f36ac7b06b0d9e9ce)
endif()
