#include "app/verbs/one_picture.h"

#include "app/base/console.h"
#include "app/base/text.h"

namespace heapwood::app {

using allocators::Place;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Camera chosen_camera(const RenderOptions& options, const scenes::Scene& scene,
                     const kdtree::RayTree& rays, const std::function<kdtree::Tree()>& tree) {
    const RenderSettings& s = options.settings;
    Camera camera{{0, 0, 0}, {0, 0, 0}, 50};
    if (options.eye) {
        camera.target = scene.bounds.lo * 0.5F + scene.bounds.hi * 0.5F;
    } else if (rays.place() == Place::host) {
        camera = camera_of(scene, rays, s.width, s.height);
    } else {
        camera = camera_of(scene, kdtree::RayTree(tree(), scene), s.width, s.height);
    }
    camera.eye = options.eye.value_or(camera.eye);
    camera.target = options.target.value_or(camera.target);
    camera.up = options.up.value_or(camera.up);
    camera.field_of_view = options.field_of_view.value_or(camera.field_of_view);
    return camera;
}

Progress progress_of(const std::string& what) {
    return [start = Clock::now(), what](double part) {
        const double seconds = ms_since(start) / 1000;
        std::string text = what + ": " + fixed(100 * part, 0) + " %";
        if (part > 0.02) text += ", " + duration_text(seconds / part - seconds) + " left";
        show_progress(text);
    };
}

std::string file_of(const Rendering& made, PictureFormat format, RenderReport& report) {
    const Mode mode = report.settings.mode;
    const Picture picture = picture_of(made.film, mode);
    report.scale = picture.scale;
    if (mode == Mode::cost) report.effort = mean_effort(made.film);
    return format == PictureFormat::png ? png_file(picture) : exr_file(made.film, mode);
}

}  // namespace heapwood::app
