/// @file
/// A report with one finished and one failed build, whose figures a test can recognise.
#pragma once

#include "app/measure/builds/report.h"

namespace heapwood::app {

/// atomicmalloc done in 1, 2, 6 ms; cmalloc without memory.
inline Report sample_report(bool gpu = false) {
    Report report;
    report.provenance.arguments = {"heapwood", "build"};
    report.provenance.date = "2024-02-29T12:00:00Z";
    report.provenance.machine = {.gpu = gpu,
                                 .name = "Machine",
                                 .units = 4,
                                 .driver = "13.0",
                                 .runtime = "12.9",
                                 .memory = 1000};
    report.scene_path = "a,\"b\"|c.obj";
    report.triangles = 12345;
    report.root_bytes = 100;
    Result done;
    done.allocator.name = "atomicmalloc";
    done.allocator.full = false;
    done.built.milliseconds = {6, 1, 2};
    done.built.pool_bytes = 20000;
    done.built.registers = 77;
    done.allocator.published_registers.coalesced = 9;
    if (gpu) {
        done.kernels.emplace();
        done.kernels->architecture = 86;
        done.kernels->uncoalesced = {
            .registers = 21, .stack_bytes = 22, .spill_store_bytes = 23, .spill_load_bytes = 24};
    }
    done.built.upload_ms = 3.5;
    done.built.memory = {.pool = 20000, .triangles = 11, .levels = 12, .spare = 13};
    done.tree.emplace();
    done.tree->digest = 0xABC;
    done.tree->quality.nodes = 4321;
    done.tree->quality.leaves = 2161;
    done.built.allocations.emplace();
    done.built.allocations->requests = 5;
    done.built.allocations->histogram[4] = 3;
    done.built.allocations->histogram[63] = 2;
    done.built.external_fragmentation = 0.25;
    done.built.peak = {.live_bytes = 1001,
                       .allocated_bytes = 1002,
                       .internal_fragmentation = -1,
                       .external_fragmentation = 0.75};
    Result failed;
    failed.allocator.name = "cmalloc";
    failed.allocator.full = true;
    failed.outcome = Outcome::pool_exhausted;
    failed.message = "the pool\nran out";
    report.results = {done, failed};
    return report;
}

}  // namespace heapwood::app
