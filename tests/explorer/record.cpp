#include "tests/explorer/record.h"

#include <cstdio>
#include <cstring>

namespace heapwood::tests::explorer {

std::string base_name(const char* path) {
    const char* slash = std::strrchr(path, '/');
    return slash == nullptr ? path : slash + 1;
}

void Record::note(const Step& step, bool loads, bool stores, bool answers) {
    const Site& site = step.site;
    bool& known = noted_[{site.file_name(), site.line()}];
    if (!known) {
        known = true;
        const std::string file = base_name(site.file_name());
        places_.try_emplace({file, site.line()},
                            Place{file, site.line(), step.operation, acquires(step.order),
                                  releases(step.order), loads, stores, loads && answers});
    }
    if (keeps_) steps_.push_back(step);
}

void Record::begin_operation(unsigned thread, const char* text, std::uint64_t argument) {
    if (keeps_) steps_.push_back({thread, nullptr, text, 0, argument, 0, 0, {}, {}});
}

void Record::end_operation(unsigned thread, std::uint64_t result) {
    if (keeps_) steps_.push_back({thread, nullptr, nullptr, result, 0, 0, 0, {}, {}});
}

std::vector<Place> Record::places() const {
    std::vector<Place> all;
    for (const auto& [key, place] : places_) all.push_back(place);
    return all;
}

std::string Record::schedule(const Program& program) const {
    static const char* const kOrders[] = {"relaxed", "acquire", "release", "acq_rel"};
    std::string text;
    std::map<std::uintptr_t, char> blocks;
    const auto name = [&](std::uintptr_t address) {
        std::string known = program.name(address);
        if (!known.empty()) return known;
        // A Buffer starts at a multiple of 256 bytes.
        const auto letter = static_cast<char>('A' + blocks.size() % 26);
        std::string place(1, blocks.try_emplace(address / 256, letter).first->second);
        return place.append("[").append(std::to_string(address % 256 / 4)).append("]");
    };
    const auto show = [&](std::uintptr_t address, std::uint64_t value) {
        if (program.show) return program.show(address, value);
        char digits[32];
        std::snprintf(digits, sizeof(digits), "%#llx", static_cast<unsigned long long>(value));
        return std::string(digits);
    };
    for (const Step& s : steps_) {
        text += s.thread == program.threads.size() ? "  end" : "  T" + std::to_string(s.thread);
        if (s.operation == nullptr) {
            text += s.text != nullptr ? ": " + std::string(s.text) + " " + std::to_string(s.before)
                                      : ":   -> " + name(s.address);
        } else {
            text += "    " + std::string(s.operation) + " " + name(s.address) + " " +
                    show(s.address, s.before);
            if (s.after != s.before) text += " => " + show(s.address, s.after);
            if (s.age > 0) text += " (" + std::to_string(s.age) + " old)";
            text += "  " + std::string(kOrders[static_cast<unsigned>(s.order)]) + ", " +
                    base_name(s.site.file_name()) + ":" + std::to_string(s.site.line());
        }
        text += "\n";
    }
    return text;
}

}  // namespace heapwood::tests::explorer
