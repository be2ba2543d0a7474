#include "app/render/camera_shape.h"

#include "app/measure/builds/result_json.h"

namespace heapwood::app {

const Shape<Camera>& camera_shape() {
    static const Shape<Camera> shape = [] {
        using Of = Camera;
        Shape<Of> all;
        all.put("eye", vector_schema(), [](const Of& c) { return vector_json(c.eye); })
            .put("target", vector_schema(), [](const Of& c) { return vector_json(c.target); })
            .put("up", vector_schema(), [](const Of& c) { return vector_json(c.up); })
            .field(
                "field_of_view", [](const Of& c) { return c.field_of_view; },
                "of the picture's width, in degrees");
        return all;
    }();
    return shape;
}

}  // namespace heapwood::app
