#include "tests/allocators/subjects.h"

#include <ostream>

namespace heapwood::tests {

std::deque<AnySubject>& subjects() {
    static std::deque<AnySubject> all;
    return all;
}

void PrintTo(const AnySubject* subject, std::ostream* out) {
    *out << subject->name;
}

}  // namespace heapwood::tests
