/// @file
/// The one place that includes GLM: nvcc needs <cuda.h> first and would print a hundred warnings.
#pragma once

#if defined(__CUDACC__)
#include <cuda.h>
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20012
#endif
#include <glm/vec2.hpp>
#include <glm/vec3.hpp>
#if defined(__CUDACC__)
#pragma nv_diagnostic pop
#endif
