/// @file
/// Ouroboros-P-VL: one of six (ouroboros.cuh).
#pragma once

#include "allocators/ouroboros.cuh"
