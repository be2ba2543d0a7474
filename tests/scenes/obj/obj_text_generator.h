/// @file
/// Random OBJ texts, sound and broken.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace heapwood::scenes {

/// Writes texts of all that an OBJ may have, in all its spellings: faces before and behind their
/// vertices, indices of both kinds, polygons, statements and blank lines behind a `\`, all line
/// ends. Half of the texts have lines that are wrong.
class ObjTextGenerator {
public:
    explicit ObjTextGenerator(std::uint64_t seed) : random_(seed) {}

    /// A text of about so many statements.
    std::string text(unsigned statements) {
        vertices_ = 0;
        end_ = pick({"\n", "\n", "\r\n", "\r"});
        mixed_ = one_in(4);
        faulty_ = one_in(2) ? 0 : 2 * statements;
        std::string text = one_in(4) ? "\xEF\xBB\xBF" : "";
        most_ = below(statements) + 3;
        for (unsigned i = 0; i < statements; ++i) text += statement();
        // Those that are swallowed by the line before are not known here.
        if (sound()) {
            for (std::uint64_t i = 0; i < most_; ++i) text += vertex() + end_;
        }
        if (one_in(4)) text += blanks() + "f 1 2 3";  // without a line end
        return text;
    }

    std::uint64_t below(std::uint64_t n) {
        return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random_);
    }
    bool one_in(std::uint64_t n) { return below(n) == 0; }

private:
    std::string pick(const std::vector<std::string>& some) { return some[below(some.size())]; }

    bool sound() const { return faulty_ == 0; }

    std::string line_end() {
        if (!sound() && one_in(20)) return "\\ \n";
        return mixed_ ? pick({"\n", "\r\n", "\r", " \n", "\t\r\n", " # x\\\n"}) : end_;
    }

    /// Blanks inside of a statement; behind blank lines only a number goes on.
    std::string blanks(bool number = false) {
        if (!one_in(12)) return pick({" ", " ", "  ", "\t"});
        std::string text = " \\" + end_;
        while (number && one_in(2)) text += pick({"", " ", "\t"}) + end_;
        return text + pick({"", " "});
    }

    std::string number() {
        switch (below(12)) {
            case 0:
                if (sound()) return "3.4e38";
                return pick({"nan", "-inf", "1e39", "1.#QNAN", "3.5e38"});
            case 1:
                return pick({"-0", "+1", ".5", "1.", "1e-3", "2E+2", "-0.0"});
            default:
                return std::to_string(static_cast<int>(below(9)) - 4);
        }
    }

    std::string vertex() {
        ++vertices_;
        std::string text = "v";
        const std::string more = pick({"", "", "", " 1", " 1 0 .5", " 0 0 0 1", " nan 0 0"});
        for (int axis = 0; axis < 3; ++axis) text += blanks(true) + number();
        return text + more;
    }

    std::string face() {
        std::string text = pick({"f", "f", "f", "fo"});
        for (std::uint64_t corners = 3 + (one_in(3) ? below(6) : 0); corners > 0; --corners) {
            const bool backwards = one_in(3) && vertices_ > 1;
            const std::string index = backwards ? "-" + std::to_string(1 + below(vertices_ / 2))
                                                : std::to_string(1 + below(most_));
            text += blanks(true) + index + pick({"", "", "/1", "//2", "/1/2", "//"});
        }
        return text;
    }

    std::string broken() {
        return pick({"v 1 2", "v 1 2 x", "v 1 2 3 4 5", "f 1 2", "f 1 2 0", "f 1 2 x", "f 1 2 3/x",
                     "f 1 2 99999", "f -1 -2 -99", "f 1 2 2147483648", std::string("#\0", 2),
                     std::string("v 1 2 \0", 7), "V 1 2 3", "solid x"});
    }

    std::string statement() {
        if (faulty_ != 0 && one_in(faulty_)) return broken() + line_end();
        switch (below(8)) {
            case 0:
                return pick({"# v 1 2", "#\\", "vn 0 0 1", "vt 0 0", "g a b", "o x", "s 1",
                             "usemtl none", "mtllib a.mtl b.mtl", "l 1 2", "", "", " \t", "\\",
                             "g a\\" + end_ + "v 9", "usemtl C:\\"}) +
                       line_end();
            case 1:
            case 2:
            case 3:
                return face() + line_end();
            default:
                return vertex() + line_end();
        }
    }

    std::mt19937_64 random_;
    std::string end_;             ///< of most lines
    bool mixed_ = false;          ///< lines end in all ways
    std::uint64_t faulty_ = 0;    ///< one statement in so many is wrong; 0: none
    std::uint64_t vertices_ = 0;  ///< so far
    std::uint64_t most_ = 3;      ///< the largest index that counts from 1
};

}  // namespace heapwood::scenes
