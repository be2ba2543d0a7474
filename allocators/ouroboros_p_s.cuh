/// @file
/// Ouroboros-P-S: one of six (ouroboros.cuh).
#pragma once

#include "allocators/ouroboros.cuh"
