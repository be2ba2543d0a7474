#include "tests/allocators/pool_test.h"

namespace heapwood::tests {

std::vector<const AnySubject*> subjects_of(Role role, bool pairs) {
    std::vector<const AnySubject*> found;
    for (const AnySubject& s : subjects()) {
        if (s.role == role && (s.allocates_pairs || !pairs)) found.push_back(&s);
    }
    return found;
}

std::string subject_name(const ::testing::TestParamInfo<const AnySubject*>& info) {
    return info.param->name;
}

}  // namespace heapwood::tests
