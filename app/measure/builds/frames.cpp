#include "app/measure/builds/frames.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <set>
#include <system_error>

#include "app/base/console.h"
#include "app/base/exit_code.h"
#include "kdtree/tree/verify.h"
#include "scenes/number.h"

namespace heapwood::app {
namespace {

constexpr unsigned kMostFrames = 10'000;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

scenes::Scene wave(scenes::Scene scene, unsigned frame, unsigned frames) {
    const glm::vec3 size = scene.bounds.hi - scene.bounds.lo;
    const double height = std::hypot(double{size.x}, double{size.y}, double{size.z}) / 50;
    const double phase = static_cast<double>(frame) / frames;
    for (glm::vec3& p : scene.positions) {
        const double along = size.x > 0 ? double{p.x - scene.bounds.lo.x} / double{size.x} : 0;
        p.y += static_cast<float>(height * std::sin(2 * std::numbers::pi * (2 * along + phase)));
    }
    scene.path += " (frame " + std::to_string(frame) + ")";
    finish(scene);
    return scene;
}

bool is_number(const std::string& text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

/// A pattern of files, which is_pattern() accepts.
class FramePattern {
public:
    explicit FramePattern(const std::string& text) : text_(text) {
        const std::size_t percent = text.find('%');
        const std::size_t d = text.find('d', percent);
        before_ = text.substr(0, percent);
        after_ = text.substr(d + 1);
        if (d > percent + 1) width_ = static_cast<std::size_t>(text[d - 1] - '0');
    }

    /// The numbers of the files, ascending. @throws scenes::SceneError that names the first file
    /// that is missing, or whose number is written in another way.
    std::set<std::size_t> numbers() const {
        std::set<std::size_t> numbers = numbers_of_files();
        const bool begins = numbers.contains(0) || numbers.contains(1);
        if (!begins) {
            fail("there is neither " + file(0) + " nor " + file(1) +
                 ", with which the frames would begin" +
                 (numbers.empty() ? "" : "; the first file is " + file(*numbers.begin())));
        }
        if (numbers.size() > kMostFrames) {
            fail("there are " + std::to_string(numbers.size()) + " files, and at most " +
                 std::to_string(kMostFrames) + " are frames: move the others elsewhere");
        }
        std::size_t expected = *numbers.begin();
        for (const std::size_t number : numbers) {
            if (number != expected) {
                fail(file(expected) + " is missing, but there is " + file(number) +
                     ": number the frames without gaps, or move the later ones elsewhere");
            }
            ++expected;
        }
        return numbers;
    }
    /// The pattern with a number for %d.
    std::string file(std::size_t number) const {
        std::string digits = std::to_string(number);
        if (digits.size() < width_) digits.insert(0, width_ - digits.size(), '0');
        return before_ + digits + after_;
    }

private:
    /// The numbers of the files or folders that the pattern's part with the %d matches.
    std::set<std::size_t> numbers_of_files() const {
        const std::size_t name_begin = before_.rfind('/') + 1;  // 0 if there is none
        const std::string folder = before_.substr(0, name_begin);
        const std::string begin = before_.substr(name_begin);
        const std::string end = after_.substr(0, after_.find('/'));
        std::set<std::size_t> numbers;
        std::set<std::string> others;
        std::error_code error;
        for (std::filesystem::directory_iterator entry(folder.empty() ? "." : folder, error), last;
             !error && entry != last; entry.increment(error)) {
            const std::string name = entry->path().filename().string();
            if (name.size() <= begin.size() + end.size() || !name.starts_with(begin) ||
                !name.ends_with(end)) {
                continue;
            }
            const std::string digits =
                name.substr(begin.size(), name.size() - begin.size() - end.size());
            if (!is_number(digits)) continue;
            const std::size_t number =
                digits.size() > 9 ? 0 : *scenes::read_number<std::size_t>(digits);
            const bool same = file(number) == before_ + digits + after_;
            if (same) numbers.insert(number);
            if (!same) others.insert(folder + name);
        }
        if (error) fail(folder + " cannot be listed: " + error.message());
        if (!others.empty()) {
            fail("the number of " + *others.begin() +
                 " has other digits than the pattern's: rename it, or move it elsewhere");
        }
        return numbers;
    }

    [[noreturn]] void fail(const std::string& why) const {
        throw scenes::SceneError(text_ + ": " + why);
    }

    std::string text_;
    std::string before_;
    std::size_t width_ = 1;
    std::string after_;
};

bool is_pattern(const std::string& text) {
    const std::size_t percent = text.find('%');
    if (percent == std::string::npos || text.find('%', percent + 1) != std::string::npos) {
        return false;
    }
    std::size_t at = percent + 1;
    if (at < text.size() && text[at] == '0') {
        ++at;  // %03d: a width of one digit
        if (at == text.size() || !is_digit(text[at]) || text[at] == '0') return false;
        ++at;
    }
    return at < text.size() && text[at] == 'd';
}

}  // namespace

FrameChoice FrameChoice::parse(const std::string& text) {
    if (text.empty()) return {};
    if (is_pattern(text)) return {.pattern = text};
    const unsigned frames = scenes::read_plain_number<unsigned>(text).value_or(0);
    if (frames >= 1 && frames <= kMostFrames) return {.waves = frames};
    throw UsageError("'" + text + "' is neither a number of frames from 1 to " +
                     std::to_string(kMostFrames) +
                     " nor a pattern of files, such as frame_%03d.obj");
}

FrameChoice choose_frames(const std::string& text, const std::vector<const Backend*>& backends) {
    const auto builds = [](const Backend* backend) { return backend->build_frames != nullptr; };
    if (!text.empty() && std::none_of(backends.begin(), backends.end(), builds)) {
        throw UsageError("--frames is for the method single: levels has no builder that is kept");
    }
    return FrameChoice::parse(text);
}

std::vector<std::string> frame_files(const FrameChoice& choice) {
    if (choice.pattern.empty()) return {};
    return numbered_files(choice.pattern, choice);
}

std::vector<std::string> numbered_files(const std::string& pattern, const FrameChoice& frames) {
    if (!is_pattern(pattern)) {
        throw UsageError("'" + pattern +
                         "' has no place for the number of a frame: name the files as in "
                         "frame_%03d" +
                         std::filesystem::path(pattern).extension().string());
    }
    const FramePattern files(pattern);
    std::vector<std::string> all;
    for (unsigned i = 0; i < frames.waves; ++i) all.push_back(files.file(i));
    if (frames.pattern.empty()) return all;
    for (const std::size_t number : FramePattern(frames.pattern).numbers()) {
        all.push_back(files.file(number));
    }
    return all;
}

std::vector<scenes::Scene> load_frames(const FrameChoice& choice, const scenes::Scene& scene,
                                       unsigned threads) {
    std::vector<scenes::Scene> frames;
    for (unsigned i = 0; i < choice.waves; ++i) frames.push_back(wave(scene, i, choice.waves));
    for (const std::string& file : frame_files(choice)) {
        show_progress("loading " + file);
        frames.push_back(scenes::load(file, threads));
    }
    return frames;
}

void take_frames(const Backend& backend, const std::vector<scenes::Scene>& frames, const Turn& turn,
                 Result& result) {
    if (result.outcome != Outcome::done || backend.build_frames == nullptr) return;
    guarded(result, [&] {
        std::vector<std::uint64_t> digests;
        MeasuredFrames built = backend.build_frames(
            frames, turn.options.config, turn.options.run,
            [&](const scenes::Scene& frame, const kdtree::Tree& tree) {
                digests.push_back(kdtree::digest(tree));
                if (!turn.options.verify) return;
                const std::uint32_t depth =
                    kdtree::max_depth(turn.options.config, frame.triangles.size());
                const auto wrong = kdtree::verify(frame, tree, depth);
                if (wrong) {
                    throw Failure{Outcome::verification_failed,
                                  frame.path + ": the tree is wrong: " + *wrong};
                }
            });
        built.digests = std::move(digests);
        if (built.status != kdtree::Status::done) {
            result.fail(outcome_of(built.status), "a frame: " + built.message);
        } else {
            result.frames = std::move(built);
        }
    });
}

}  // namespace heapwood::app
