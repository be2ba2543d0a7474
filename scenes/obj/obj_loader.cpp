#include "scenes/obj/obj_loader.h"

#include <cstdint>
#include <mutex>
#include <utility>

#include "allocators/platform/threads.h"
#include "scenes/obj/byte_source.h"
#include "scenes/obj/obj_assembly.h"
#include "scenes/obj/text_cutter.h"

namespace heapwood::scenes {

Scene load_obj(const std::string& path, unsigned threads, const ObjReading& reading) {
    const auto source = open_source(path);
    TextCutter cutter(*source, reading.piece_bytes);
    const std::size_t ahead = cutter.read_ahead(platform::thread_count(threads));
    ObjAssembly assembly(path, reading.limits);
    std::mutex mutex;  // cutter and assembly are used by one thread at a time
    const auto read = [&](std::uint32_t, std::uint32_t) {
        ObjText text;
        for (;;) {
            std::unique_lock lock(mutex);
            if (assembly.refused() || !cutter.next(text)) return;
            const std::size_t number = assembly.begin();
            lock.unlock();
            ObjPiece piece = read_piece(text, reading.limits);
            lock.lock();
            assembly.end(number, std::move(piece));
        }
    };
    platform::run_threads(static_cast<unsigned>(ahead), read);
    return assembly.take(threads);
}

}  // namespace heapwood::scenes
