#include "app/distributed/process_peer.h"

#include <chrono>
#include <sstream>

#include "app/base/json_line.h"
#include "app/base/text.h"
#include "app/measure/engine/lines.h"
#include "app/measure/engine/schedule.h"
#include "app/measure/engine/worker_pool.h"

namespace heapwood::app {

std::vector<std::string> device_of_part(const std::vector<std::uint32_t>& devices,
                                        std::uint32_t part, const char* visible) {
    if (devices.empty()) return {};
    const std::uint32_t number = devices[part % devices.size()];
    std::string device = std::to_string(number);
    if (visible != nullptr) {
        std::istringstream entries(visible);
        for (std::uint32_t i = 0; i <= number; ++i) std::getline(entries, device, ',');
    }
    return {"CUDA_VISIBLE_DEVICES=" + device};
}

ProcessPeer::ProcessPeer(const std::vector<std::string>& arguments,
                         const std::vector<std::string>& environment, int interrupts)
    : child_(worker_arguments(arguments, "part"), environment), interrupts_(interrupts) {}

void ProcessPeer::send(const Json& request) {
    static_cast<void>(child_.lines().send(json_line(request)));
}

Json ProcessPeer::receive(double seconds) {
    const auto limit =
        std::chrono::duration_cast<Lines::Clock::duration>(std::chrono::duration<double>(seconds));
    std::string line;
    switch (child_.lines().receive(line, Lines::Clock::now() + limit, interrupts_)) {
        case Arrival::line:
            break;
        case Arrival::interrupted:
            throw Interrupted();
        case Arrival::late:
            throw PeerLost("gave no answer within " + shortest(seconds) + " s (--time-limit)");
        default:
            throw PeerLost(child_.end());
    }
    Json answer = from_json_line(line);
    if (!answer.is_object()) throw PeerLost("answered with something else than JSON");
    return answer;
}

}  // namespace heapwood::app
