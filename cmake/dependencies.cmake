# The packages of packages.txt, as CMake targets. Also read by the installed package (lactConfig.cmake).
include(CMakeFindDependencyMacro)
find_dependency(Torch)
find_dependency(fmt)
find_dependency(spdlog)
find_dependency(nlohmann_json)
find_dependency(PNG)
find_dependency(JPEG)
find_dependency(ZLIB)
find_dependency(yaml-cpp)
find_dependency(Threads)
find_dependency(OpenMP)
find_dependency(Boost 1.74)

# Debian's Zstandard comes without a CMake package.
if(NOT TARGET lact_zstd)
  add_library(lact_zstd INTERFACE IMPORTED)
  find_library(LACT_ZSTD NAMES zstd REQUIRED NO_CACHE)
  target_link_libraries(lact_zstd INTERFACE ${LACT_ZSTD})
endif()

# One name for LibTorch, with its headers marked as system headers so that only our own code is warned about.
if(NOT TARGET lact_torch)
  add_library(lact_torch INTERFACE IMPORTED)
  target_include_directories(lact_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  # LibTorch's parallel_for is a template: compiled without OpenMP it runs on one core.
  target_link_libraries(lact_torch INTERFACE ${TORCH_LIBRARIES} OpenMP::OpenMP_CXX)
  separate_arguments(_lact_torch_flags NATIVE_COMMAND "${TORCH_CXX_FLAGS}")
  target_compile_options(lact_torch INTERFACE ${_lact_torch_flags})

  # LibTorch's own threads are OpenMP threads. An OpenBLAS with a thread pool of its own fights with them (10 times
  # slower on a busy machine), so the OpenMP variant goes first in the link order when it is installed; the system's
  # choice of BLAS stays as it is.
  find_library(LACT_OPENBLAS_OPENMP NAMES libblas.so.3 PATH_SUFFIXES openblas-openmp NO_CACHE
    PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp NO_DEFAULT_PATH)
  if(LACT_OPENBLAS_OPENMP)
    target_link_libraries(lact_torch INTERFACE -Wl,--no-as-needed ${LACT_OPENBLAS_OPENMP} -Wl,--as-needed)
  endif()
endif()
