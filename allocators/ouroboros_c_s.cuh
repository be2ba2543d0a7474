/// @file
/// Ouroboros-C-S: one of six (ouroboros.cuh).
#pragma once

#include "allocators/ouroboros.cuh"
