#include "app/measure/frames.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>

#include "app/base/console.h"
#include "app/base/exit_code.h"
#include "kdtree/tree/verify.h"

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

/// The pattern with a number for %d.
std::string file_of(const std::string& pattern, unsigned number) {
    const std::size_t percent = pattern.find('%');
    const std::size_t d = pattern.find('d', percent);
    std::string digits = std::to_string(number);
    const std::string width = pattern.substr(percent + 1, d - percent - 1);
    const std::size_t least = width.empty() ? 1 : std::stoul(width);
    if (digits.size() < least) digits.insert(0, least - digits.size(), '0');
    return pattern.substr(0, percent) + digits + pattern.substr(d + 1);
}

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
    const bool number = !text.empty() && text.size() <= 5 && text.front() != '0' &&
                        std::all_of(text.begin(), text.end(), is_digit);
    const unsigned long frames = number ? std::stoul(text) : 0;
    if (frames >= 1 && frames <= kMostFrames) return {.waves = static_cast<unsigned>(frames)};
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

std::vector<scenes::Scene> load_frames(const FrameChoice& choice, const scenes::Scene& scene) {
    std::vector<scenes::Scene> frames;
    for (unsigned i = 0; i < choice.waves; ++i) frames.push_back(wave(scene, i, choice.waves));
    if (choice.pattern.empty()) return frames;
    const auto exists = [&](unsigned number) {
        return std::filesystem::exists(file_of(choice.pattern, number));
    };
    const unsigned first = exists(0) ? 0 : 1;
    for (unsigned i = first; frames.size() < kMostFrames && exists(i); ++i) {
        show_progress("loading " + file_of(choice.pattern, i));
        frames.push_back(scenes::load(file_of(choice.pattern, i)));
    }
    if (!frames.empty()) return frames;
    throw scenes::SceneError(choice.pattern + ": there is neither " + file_of(choice.pattern, 0) +
                             " nor " + file_of(choice.pattern, 1) +
                             ", with which the frames would begin");
}

void take_frames(const Backend& backend, const std::vector<scenes::Scene>& frames, const Turn& turn,
                 Result& result) {
    if (result.outcome != Outcome::done || backend.build_frames == nullptr) return;
    guarded(result, [&] {
        std::vector<std::uint64_t> digests;
        MeasuredFrames built = backend.build_frames(
            frames, turn.config, turn.run,
            [&](const scenes::Scene& frame, const kdtree::Tree& tree) {
                digests.push_back(kdtree::digest(tree));
                if (!turn.verify) return;
                const std::uint32_t depth = kdtree::max_depth(turn.config, frame.triangles.size());
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
