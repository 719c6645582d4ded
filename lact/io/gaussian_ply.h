// Scenes of Gaussians as .ply files, as all programs for Gaussian splatting exchange them.
#pragma once

#include <string>

#include "lact/ops/splat/gaussians.h"

namespace lact::io {

/// float32, at least one Gaussian. Properties are found by name, whatever their types and order: x y z,
/// f_dc_0
/// .. 2, f_rest_0 .. (none, 9, 24 or 45), opacity, scale_0 .. 2, rot_0 .. 3, all before activation; others
/// are passed over. Text or binary in either byte order, or packed as by SuperSplat. One sentence for
/// everything else.
ops::Gaussians read_gaussians(const std::string& path);

/// The layout of the first program: x y z nx ny nz f_dc f_rest opacity scale rot, all float32, little endian;
/// what read_gaussians gives back bit for bit. Where the name ends with .compressed.ply they are packed.
void write_gaussians(const std::string& path, const ops::Gaussians& gaussians);

/// Whether the name ends with .ply, in small or capital letters.
bool has_ply_name(const std::string& path);

}  // namespace lact::io
