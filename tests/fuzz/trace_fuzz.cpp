/// @file
/// Traces.
#include "tests/fuzz/sound_recording.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace heapwood;
    const fuzz::InputFile input(fuzz::text_of(data, size));
    fuzz::demand_sound_recording(input.path());
    return 0;
}
