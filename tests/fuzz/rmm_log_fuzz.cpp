/// @file
/// Logs of RMM: inputs are what follows the header.
#include "app/inputs/rmm_log.h"
#include "tests/fuzz/sound_recording.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace heapwood;
    std::string text(app::kLogColumns);
    text += '\n';
    text += fuzz::text_of(data, size);
    const fuzz::InputFile input(text);
    fuzz::demand_sound_recording(input.path());
    return 0;
}
