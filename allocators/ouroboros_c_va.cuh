/// @file
/// Ouroboros-C-VA: one of six (ouroboros.cuh).
#pragma once

#include "allocators/ouroboros.cuh"
