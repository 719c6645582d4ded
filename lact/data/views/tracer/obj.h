// Wavefront OBJ files with their materials.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lact/data/views/tracer/mesh.h"

namespace lact::data::tracer {

/// Reads v (also with a colour behind the place: six numbers), vt, vn, f (v, v/t, v//n, v/t/n, negative
/// indices, polygons as fans), usemtl and mtllib; other statements are passed over. A mistake gives a
/// sentence with the line's number. The shape counts: where the material file is missing or has no such name,
/// faces get a plain colour; a texture that is named and cannot be read is an error.
MeshData read_obj(const std::string& path);

/// The materials of an MTL file: newmtl, Kd and map_Kd (PNG or JPEG, relative to the file).
std::vector<MeshMaterial> read_mtl(const std::string& path, int64_t max_texels = TextureSet::kMaxTexels);

/// Takes a text apart: lines, words in them and numbers, remembering where it is.
class ObjLines {
 public:
  ObjLines(std::string path, std::string_view text) : path_(std::move(path)), rest_(text) {}

  /// Steps to the next line that is neither empty nor a comment; false at the end.
  bool next_line();
  /// The next word of the line; empty at its end.
  std::string_view word();
  /// Words that are left of the line; no more than `most` are counted.
  int words_left(int most) const;
  /// All that is left of the line, without blanks around it.
  std::string_view remainder();
  /// The next word as a finite number of at most 1e18; `what` is for the sentence.
  double number(std::string_view what);

  /// Throws "path: line 12: sentence".
  [[noreturn]] void mistake(const std::string& sentence) const;

 private:
  std::string path_;
  std::string_view rest_;
  std::string_view line_;
  long number_ = 0;
};

}  // namespace lact::data::tracer
