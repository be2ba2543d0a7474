#include "tests/faults/faulty_build.h"

#include "kdtree/builder.h"
#include "tests/kdtree/build_machines.h"

namespace heapwood::kdtree::tests {
namespace {

using heapwood::tests::AnyPool;
using heapwood::tests::AnyRef;

/// A Ref that cannot answer two requests at once.
class OneByOne : private AnyRef {
public:
    explicit OneByOne(const AnyRef& ref) : AnyRef(ref) {}

    using AnyRef::allocate;
    using AnyRef::deallocate;
    using AnyRef::flush;
    using AnyRef::granted_bytes;
};

/// What the builder sees of an allocator. kJoint: both children's arrays come in one request.
template <bool kJoint, bool kFrees, class R>
struct Kind {
    using Ref = R;

    static constexpr allocators::Traits traits() {
        return {.name = "any",
                .title = "any",
                .source = "",
                .frees_individually = kFrees,
                .full = kFrees,
                .walkable = true,
                .header_bytes = 0,
                .smallest_pool = 0,
                .splittable = kJoint};
    }
};

template <class K>
void run_as(const Crew& crew, const Problem& problem, const typename K::Ref& ref) {
    if (crew.lockstep) {
        LockstepWarps<2>::Machine().launch<K>(problem, ref);
    } else {
        CpuMachine(crew.warps).launch<K>(problem, ref);
    }
}

}  // namespace

std::string Crew::name() const {
    return std::to_string(warps) + (lockstep ? " warps of 32 threads" : " threads");
}

FaultyBuilder::FaultyBuilder(const scenes::Scene& scene, const BuildConfig& config,
                             const Crew& crew)
    : crew_(crew),
      root_bytes_(root_array_bytes(scene.triangles.size())),
      array_pool_(allocators::Place::host),
      memory_(array_pool_, scene, config, crew.warps) {}

std::unique_ptr<AnyPool> FaultyBuilder::make(const heapwood::tests::AnySubject& subject,
                                             std::uint64_t pool_bytes) const {
    return subject.make({.place = allocators::Place::host,
                         .bytes = pool_bytes,
                         .largest_request = root_bytes_,
                         .multiprocessors = crew_.warps,
                         .callers = crew_.warps});
}

void FaultyBuilder::run(AnyPool& pool, bool allocates_pairs) const {
    const allocators::Traits& traits = pool.traits();
    const Problem& problem = memory_.problem();
    if (!traits.frees_individually) {
        run_as<Kind<true, false, OneByOne>>(crew_, problem, OneByOne(pool.ref()));
    } else if (traits.splittable) {
        run_as<Kind<true, true, OneByOne>>(crew_, problem, OneByOne(pool.ref()));
    } else if (allocates_pairs) {
        run_as<Kind<false, true, AnyRef>>(crew_, problem, pool.ref());
    } else {
        run_as<Kind<false, true, OneByOne>>(crew_, problem, OneByOne(pool.ref()));
    }
}

Ending FaultyBuilder::build(AnyPool& pool, bool allocates_pairs) {
    for (;;) {
        memory_.reset();
        run(pool, allocates_pairs);
        const BuildState state = memory_.state();
        const auto status = static_cast<Status>(state.status.value);
        if (status == Status::nodes_exhausted || status == Status::references_exhausted) {
            memory_.enlarge(state, static_cast<Status>(state.status.value));
            if (!pool.traits().full) pool.reset();
            continue;
        }
        return {.status = status,
                .failed_bytes = state.failed_bytes,
                .digest = status == Status::done ? digest(memory_.tree()) : 0};
    }
}

}  // namespace heapwood::kdtree::tests
