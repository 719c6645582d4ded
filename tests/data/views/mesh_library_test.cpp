#include "lact/data/views/mesh_library.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <thread>

#include "data/views/tracer/glb.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::data {
namespace {

using testing::TemporaryFolder;
using testing::write_file;

constexpr const char* kTriangle = "v 0 0 0\nv 1 0 0\nv 0 2 0\nf 1 2 3\n";

void fill(const TemporaryFolder& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::filesystem::create_directories(std::filesystem::path(folder / name).parent_path());
    write_file(folder / name, kTriangle);
  }
}

std::vector<std::string> names_of(const std::vector<MeshFile>& files) {
  std::vector<std::string> names;
  for (const MeshFile& file : files) names.push_back(file.name);
  return names;
}

TEST(MeshLibrary, FoldersAreSearchedAndFilesStay) {
  const TemporaryFolder folder;
  fill(folder, {"set/b/model.obj", "set/a/model.obj", "set/z.obj", "other/single.obj"});
  write_file(folder / "set/readme.txt", "no mesh");
  const auto files = find_mesh_files({folder / "set", folder / "other/single.obj"});
  EXPECT_EQ(names_of(files),
            (std::vector<std::string>{"a/model.obj", "b/model.obj", "other/single.obj", "z.obj"}));
  EXPECT_EQ(files[1].path, folder / "set/b/model.obj");
  EXPECT_SENTENCE(find_mesh_files({folder / "gone.obj"}), "gone.obj: does not exist");
  std::filesystem::create_directory(folder / "empty");
  EXPECT_SENTENCE(find_mesh_files({folder / "empty"}),
                  "empty: the folder holds no mesh, expected files in OBJ, glTF, GLB or PLY");
}

TEST(MeshLibrary, HeldOutMeshesAreChosenByNameWhereverTheFolderIs) {
  const TemporaryFolder here, there;
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) names.push_back("object" + std::to_string(i) + "/model.obj");
  fill(here, names);
  fill(there, names);
  const auto split = [](const TemporaryFolder& folder, bool held_out) {
    return names_of(split_mesh_files(find_mesh_files({folder / ""}), held_out, 5, {}));
  };
  const auto held_out = split(here, true), train = split(here, false);
  EXPECT_EQ(held_out.size(), 5U);
  EXPECT_EQ(train.size(), 15U);
  std::set<std::string> all(held_out.begin(), held_out.end());
  all.insert(train.begin(), train.end());
  EXPECT_EQ(all.size(), 20U);
  EXPECT_EQ(split(there, true), held_out);
  EXPECT_EQ(names_of(split_mesh_files(find_mesh_files({here / ""}), true, 0, {})).size(), 0U);
}

TEST(MeshLibrary, HeldOutMeshesCanBeNamed) {
  const std::vector<MeshFile> files = {
      {"/m/car.obj", "car.obj"}, {"/m/cart.obj", "cart.obj"}, {"/m/dog.obj", "dog.obj"}};
  EXPECT_EQ(names_of(split_mesh_files(files, true, 1, {"car"})),
            (std::vector<std::string>{"car.obj", "cart.obj"}));
  EXPECT_EQ(names_of(split_mesh_files(files, false, 1, {"car"})), (std::vector<std::string>{"dog.obj"}));
  EXPECT_SENTENCE(split_mesh_files(files, false, 1, {"cat"}), "no mesh has 'cat' in its name");
  EXPECT_SENTENCE(split_mesh_files(files, false, 3, {}), "all 3 meshes are held out");
  EXPECT_SENTENCE(split_mesh_files(files, false, -1, {}), "holdout is -1");
}

TEST(MeshLibrary, KeepsTheMeshesUsedLast) {
  const TemporaryFolder folder;
  fill(folder, {"a.obj", "b.obj", "c.obj"});
  const size_t one = MeshLibrary(find_mesh_files({folder / ""}), {}).mesh(0)->bytes();
  MeshLibrary library(find_mesh_files({folder / ""}), {}, 2 * one);
  const auto first = library.mesh(0), second = library.mesh(1);
  EXPECT_EQ(library.mesh(0), first);
  library.mesh(2);
  EXPECT_EQ(library.mesh(0), first) << "used more recently than the second";
  EXPECT_NE(library.mesh(1), second) << "read again";
  EXPECT_SENTENCE(library.mesh(3), "mesh 3 is asked for, but there are 3");
}

TEST(MeshLibrary, NamedMeshesHaveYUp) {
  const TemporaryFolder folder;
  fill(folder, {"classic/a.obj", "scans/a.obj"});
  MeshLibrary library(find_mesh_files({folder / ""}), {"classic"});
  EXPECT_LT(library.mesh(0)->lowest, -0.5F) << "the triangle stands";
  EXPECT_NEAR(library.mesh(1)->lowest, 0, 1e-6F) << "the triangle lies";
}

TEST(MeshLibrary, EveryFormatIsFoundAndGltfHasYUpByItself) {
  const TemporaryFolder folder;
  fill(folder, {"a.obj"});
  write_file(folder / "b.glb", tracer::testing_glb::square_glb().bytes());
  write_file(
      folder / "c.PLY",
      "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
      "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 2 0\n3 0 1 2\n");
  const auto files = find_mesh_files({folder / ""});
  ASSERT_EQ(names_of(files), (std::vector<std::string>{"a.obj", "b.glb", "c.PLY"}));
  MeshLibrary library(files, {});
  EXPECT_EQ(library.mesh(1)->surfaces.size(), 2U);
  EXPECT_LT(library.mesh(1)->lowest, -0.5F) << "the square stands";
  EXPECT_NEAR(library.mesh(2)->lowest, 0, 1e-6F) << "the triangle lies";
  write_file(folder / "d.stl", "solid");
  EXPECT_SENTENCE(MeshLibrary(find_mesh_files({folder / "d.stl"}), {}).mesh(0),
                  "d.stl: is not known as a mesh by its name, expected OBJ, glTF, GLB or PLY");
}

TEST(MeshLibrary, ServesSeveralThreads) {
  const TemporaryFolder folder;
  fill(folder, {"a.obj", "b.obj", "c.obj"});
  MeshLibrary library(find_mesh_files({folder / ""}), {}, 1);  // keeps one
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&library, thread] {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(library.mesh((i + thread) % 3)->surfaces.size(), 1U);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace lact::data
