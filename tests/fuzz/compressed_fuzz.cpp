/// @file
/// Compressed OBJ: what the input's first byte says. 0: the rest is the file. Else the rest is
/// compressed, by xz or gzip, and three bytes of the input say which byte of the file is damaged
/// and how, so that damage behind a checksum is reached, too.
#include <lzma.h>
#include <zlib.h>

#include "scenes/scene.h"
#include "tests/fuzz/sound_scene.h"

namespace {

std::string xz(std::string_view text) {
    std::string out(lzma_stream_buffer_bound(text.size()), '\0');
    std::size_t size = 0;
    lzma_easy_buffer_encode(0, LZMA_CHECK_NONE, nullptr,
                            reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                            reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size());
    return out.substr(0, size);
}

std::string gzip(std::string_view text) {
    z_stream stream{};
    deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    std::string out(deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

std::string file_of(const std::uint8_t* data, std::size_t size) {
    if (size < 4 || data[0] == 0)
        return std::string(heapwood::fuzz::text_of(data, size)).substr(size != 0);
    const std::string_view text = heapwood::fuzz::text_of(data + 4, size - 4);
    std::string bytes = data[0] % 2 == 0 ? xz(text) : gzip(text);
    const std::size_t place = (data[1] + std::size_t{256} * data[2]) % bytes.size();
    bytes[place] = static_cast<char>(bytes[place] ^ data[3]);
    return bytes;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace heapwood;
    const fuzz::InputFile file(file_of(data, size));
    try {
        fuzz::demand_sound(scenes::load(file.path()));
    } catch (const scenes::SceneError&) {
        // The right answer to what is no scene.
    }
    return 0;
}
