// The packed form of Gaussians, SuperSplat's: 16 bytes each, and one for each further harmonic.
//
//   element chunk, of 256 Gaussians: bounds of places, of log scales and, in newer files, of colours (float)
//   element vertex, four uint        packed_position  11 x, 10 y, 11 z bits, between the bounds
//                                    packed_rotation  2 bits: which of w, x, y, z is the largest; 10 each for
//                                                     the others, from -1/√2 to 1/√2
//                                    packed_scale     11, 10, 11 bits, between the bounds
//                                    packed_color     8 bits each of red, green, blue (½ + C0 f_dc), opacity
//   element sh (uchar)               f_rest_i as ⌊256 (f / 8 + ½)⌋
#pragma once

#include "lact/io/atomic_file.h"
#include "lact/io/ply.h"
#include "lact/ops/splat/gaussians.h"

namespace lact::io {

bool holds_packed_gaussians(const PlyHeader& header);

/// Reads all of `values`. Opacities of 0 and 1 become logits of -40 and 40.
ops::Gaussians read_packed_gaussians(const std::string& path, const PlyHeader& header, PlyValues& values);

/// Neighbours come into one chunk, so the order changes. float32 on the CPU, contiguous.
void write_packed_gaussians(FileWriter& file, const ops::Gaussians& gaussians);

}  // namespace lact::io
