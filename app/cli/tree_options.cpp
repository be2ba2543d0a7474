/// @file
/// The options of the verbs that look at one tree: `render` and `inspect`.
#include <limits>
#include <map>

#include "app/cli/verb_options.h"

namespace heapwood::app {
namespace {

/// The longest side of a picture.
constexpr std::uint64_t kLongestSide = 16384;

constexpr float kAny = std::numeric_limits<float>::max();

/// The parts of a text between separators.
std::vector<std::string> parts(const std::string& text, char separator) {
    std::vector<std::string> all{""};
    for (const char c : text) {
        if (c == separator) {
            all.emplace_back();
        } else {
            all.back() += c;
        }
    }
    return all;
}

/// X,Y,Z. @throws UsageError.
glm::vec3 vector(const std::string& text) {
    const std::vector<std::string> numbers = parts(text, ',');
    if (numbers.size() != 3) throw UsageError("'" + text + "' is not a point, such as 1,2.5,-3");
    const auto number = [&](std::size_t i) {
        return read<float>(numbers[i], Real{.least = -kAny});
    };
    return {number(0), number(1), number(2)};
}

void add_vector(Options& options, const char* name, const std::string& standard,
                std::optional<glm::vec3>& to, const char* what) {
    options.value(name, "X,Y,Z", standard, what, [&to, standard](const std::string& text) {
        to = text == standard ? std::nullopt : std::optional(vector(text));
    });
}

/// WIDTHxHEIGHT in pixels. @throws UsageError.
void read_size(const std::string& text, RenderSettings& settings) {
    const std::vector<std::string> sides = parts(text, 'x');
    if (sides.size() != 2) {
        throw UsageError("'" + text + "' is not a width and a height in pixels, such as 960x540");
    }
    settings.width = static_cast<unsigned>(read(sides[0], Whole{1, kLongestSide}));
    settings.height = static_cast<unsigned>(read(sides[1], Whole{1, kLongestSide}));
}

Mode mode_named(const std::string& text) {
    std::map<std::string, Mode> modes;
    for (const ModeFacts& mode : kModes) modes.emplace(mode.name, mode.mode);
    return named(modes, text);
}

/// The modes, and what those show whose name does not say it.
std::string modes_text() {
    std::string text;
    for (const ModeFacts& mode : kModes) {
        text += (text.empty() ? "" : "; ") + std::string(mode.name);
        if (!mode.help.empty()) text += ": " + std::string(mode.help);
    }
    return text;
}

void add_camera(Options& options, RenderOptions& o) {
    options.group("Camera");
    add_vector(options, "--camera", kAuto, o.eye,
               "Where the eye is; auto: inside a room, or where all of an object is seen");
    add_vector(options, "--look-at", kAuto, o.target,
               "What is in the picture's middle; auto: the scene's");
    add_vector(options, "--up", "0,1,0", o.up, "What is above in the picture");
    options.value("--fov", "DEGREES", kAuto, "Field of view of the picture's width",
                  [&o](const std::string& text) {
                      if (text == kAuto) return;
                      o.field_of_view = read<float>(text, Real{.least = 0.001F, .most = 179});
                  });
}

}  // namespace

void add_render(Options& options, RenderOptions& o) {
    RenderSettings& s = o.settings;
    add_tree(options, o);
    options.value("--mode", "MODE", std::string(facts_of(s.mode).name), modes_text().c_str(),
                  [&s](const std::string& text) { s.mode = mode_named(text); });
    options.value("--size", "WxH", "960x540", "Pixels",
                  [&s](const std::string& text) { read_size(text, s); });
    options.value("--spp", "N", kAuto, "Samples a pixel; auto: what suits the mode",
                  [&s](const std::string& text) {
                      if (text == kAuto) return;
                      s.samples = static_cast<std::uint32_t>(read(text, Whole{1, 65536}));
                  });
    options.whole("--bounces", s.bounces, {0, kMostBounces},
                  "Mode path: how often light is reflected, at most");
    options.real("--reach", s.occlusion_reach, {.open = true, .most = 1e6F},
                 "Mode ambient-occlusion: how far is near, in parts of the scene's diagonal");
    options.whole("--seed", s.seed, {}, "Of the samples");
    add_frames(options, o.frames,
               "A picture of each frame of an animation, from the first one's camera, in numbered "
               "files of --out, wave_%03d.png: N frames of the scene, which waves, or those of "
               "files, frame_%03d.obj, numbered from 0 or 1");
    add_camera(options, o);
    options.group("Output");
    options.file("-o,--out", o.out,
                 "Write the picture to this file: .png to look at, .exr with exact numbers",
                 "a picture needs a file: standard output has the tables");
}

void add_inspect(Options& options, InspectOptions& o) {
    add_tree(options, o);
    options.group("Output");
    options.file("--boxes", o.boxes,
                 "Write the boxes of nodes to this file (.ply), for a viewer of meshes",
                 "boxes need a file: standard output has the tables");
    options.whole("--depth", o.depth, {0, 24}, "Of the deepest nodes whose boxes are written");
    options.whole("--longest", o.longest, {1, 1000}, "Rows of the lists of what is worst");
}

}  // namespace heapwood::app
