// Meshes of real objects: they lie beside the repository on the developers' machines.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lact/data/views/mesh_library.h"
#include "lact/data/views/tracer/random_camera.h"
#include "lact/data/views/tracer/random_scene.h"
#include "lact/data/views/tracer/render.h"
#include "support/shared_data.h"

namespace lact::data::tracer {
namespace {

class ScannedMesh : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::shared_data("meshes");
    if (folder_.empty()) GTEST_SKIP() << "the folder ../shared/data/meshes is not there";
  }

  std::string folder_;
};

TEST_F(ScannedMesh, FacesAreThoseOfTheIndex) {
  struct Row {
    const char* file;
    size_t faces;
    bool coloured;
  };
  for (const Row& row :
       {Row{"classic/spot/model.obj", 5856, true}, Row{"classic/stanford_bunny.obj", 6966, false},
        Row{"gso/3D_Dollhouse_Lamp/model.obj", 10490, true}}) {
    MeshLibrary library(find_mesh_files({folder_ + "/" + row.file}), {"classic"});
    const auto mesh = library.mesh(0);
    EXPECT_LE(mesh->surfaces.size(), row.faces) << row.file;
    EXPECT_GE(mesh->surfaces.size(), row.faces * 99 / 100) << "a few faces have no area: " << row.file;
    EXPECT_EQ(mesh->coloured, row.coloured) << row.file;
    EXPECT_GT(mesh->lowest, -1) << row.file;
  }
}

TEST_F(ScannedMesh, LampStandsUprightInTheMiddleOfThePicture) {
  MeshLibrary library(find_mesh_files({folder_ + "/gso/3D_Dollhouse_Lamp/model.obj"}), {});
  Scene scene = mesh_scene(library.mesh(0), 1);
  scene.background = {};
  scene.solids.clear();
  scene.fade_from = kNothing;
  const at::Tensor image = render(scene, ring_cameras(1, 0, 64, 64)[0]);
  const at::Tensor dark = image.amin(0).lt(0.98);
  const at::Tensor rows = dark.any(1), columns = dark.any(0);
  // 0.167 high and 0.048 wide, scaled to a radius of 1: 1.93 and 0.55 of the 2.52 units that the picture
  // shows; its near side, at 2.42 instead of 2.7, a little larger.
  EXPECT_NEAR(rows.sum().item<double>(), 64 * 1.93 / 2.52 * 1.06, 4);
  EXPECT_NEAR(columns.sum().item<double>(), 64 * 0.55 / 2.52 * 1.06, 4);
  EXPECT_TRUE(dark[32][32].item<bool>());
}

}  // namespace
}  // namespace lact::data::tracer
