#include "app/verbs/publish.h"

#include <unistd.h>

#include <exception>

#include "app/base/console.h"
#include "app/base/log.h"
#include "app/measure/engine/engine.h"
#include "app/report/renderers/formats.h"

namespace heapwood::app {

Publisher::Publisher(const OutputOptions& output, const RunFiles& files) : output_(output) {
    check_files(files.inputs, files.outputs);
    json_.emplace(output.json);
    html_.emplace(output.html);
}

std::string Publisher::file() const {
    return results_file(output_.json, output_.html);
}

void Publisher::attempt(const std::function<void()>& write) {
    try {
        write();
    } catch (const std::exception& error) {
        log::error(error.what());
        fine_ = false;
    }
}

void Publisher::save(Output& file, std::string_view text) {
    attempt([&] { file.write(text); });
}

bool Publisher::publish(const Document& document) {
    attempt([&] {
        if (output_.json == "-") return;
        write_to_stdout(output_.csv        ? as_csv(document)
                        : output_.markdown ? as_markdown(document)
                        : output_.latex
                            ? as_latex(document)
                            : as_text(document, colour_allowed(STDOUT_FILENO), output_.details));
    });
    attempt([&] {
        if (*json_) json_->write(as_json(document));
    });
    attempt([&] {
        if (*html_) html_->write(as_html(document));
    });
    return fine_;
}

}  // namespace heapwood::app
