/// @file
/// Ouroboros-P-VA: one of six (ouroboros.cuh).
#pragma once

#include "allocators/ouroboros.cuh"
