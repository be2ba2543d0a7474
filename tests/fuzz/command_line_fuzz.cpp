/// @file
/// Command lines, with a word a line. They are read, and nothing is done about them.
#include <iostream>
#include <vector>

#include "app/cli/cli.h"
#include "tests/fuzz/input_file.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace heapwood;
    // Nobody reads the help and the errors.
    for (std::ostream* out : {&std::cout, &std::cerr}) out->setstate(std::ios::failbit);
    std::vector<std::string> words{"heapwood"};
    std::string_view text = fuzz::text_of(data, size);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        words.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    (void)app::parse(static_cast<int>(arguments.size()), arguments.data());
    for (std::ostream* out : {&std::cout, &std::cerr}) out->clear();
    return 0;
}
