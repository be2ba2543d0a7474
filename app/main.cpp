/// @file
/// The program.
#include "app/verbs/commands.h"

int main(int argc, char** argv) {
    return static_cast<int>(heapwood::app::run(argc, argv));
}
