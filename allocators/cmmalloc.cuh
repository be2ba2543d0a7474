/// @file
/// See circular.cuh.
#pragma once

#include "allocators/circular.cuh"
