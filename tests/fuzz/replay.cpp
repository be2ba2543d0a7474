/// @file
/// Gives a target each file of a folder, in the order of their names, without a fuzzer.
///
///     heapwood_fuzz_TARGET FOLDER
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include "tests/fuzz/input_file.h"

int main(int argc, char** argv) {
    std::vector<std::filesystem::path> paths;
    if (argc == 2) {
        for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
            paths.push_back(entry.path());
        }
    }
    std::sort(paths.begin(), paths.end());
    for (const std::filesystem::path& path : paths) {
        std::clog << path.filename().string() << std::endl;  // the last one, should it crash
        std::ifstream file(path, std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(file), {}};
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    }
    std::clog << paths.size() << " inputs\n";
    return paths.empty() ? 1 : 0;
}
