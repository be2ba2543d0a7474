/// @file
/// The figures of a build.
#pragma once

#include "app/measure/builds/report.h"
#include "app/report/figures/figures.h"

namespace heapwood::app {

/// One result in its report.
struct BuildOf {
    const Report& report;
    const Result& result;
};

/// All figures of a build, in the order of JSON and CSV. A new figure is a line here, and its key
/// in a table of app/measure/builds/build_document.cpp.
const FigureList<BuildOf, Result>& build_figures();

}  // namespace heapwood::app
