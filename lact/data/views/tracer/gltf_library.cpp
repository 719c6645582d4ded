// TinyGLTF is a header whose functions have to be compiled in one place.
#define TINYGLTF_IMPLEMENTATION
#include "lact/data/views/tracer/gltf_library.h"
