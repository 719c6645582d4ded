#include "lact/data/views/tracer/render.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/views/tracer/rays.h"
#include "lact/data/views/tracer/obj.h"
#include "lact/data/views/tracer/random_camera.h"
#include "lact/data/views/tracer/random_scene.h"
#include "lact/io/png.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::data::tracer {
namespace {

using testing::expect_near;

Material flat(const Vec3& colour) {
  Material material;
  material.pattern.first = colour;
  return material;
}

/// A ball, lit from everywhere alike, before white.
Scene ball_scene(const Vec3& centre, float radius, const Vec3& colour = {0, 0, 0}) {
  Scene scene;
  scene.materials = {flat(colour)};
  scene.ambient_sky = scene.ambient_ground = {1, 1, 1};
  scene.solids = {solid_of(Convex::placed(Form::kBall, centre, Mat3{}, {radius, radius, radius}), 0)};
  return scene;
}

Vec3 pixel(const at::Tensor& image, int64_t x, int64_t y) {
  const auto values = image.accessor<float, 3>();
  return {values[0][y][x], values[1][y][x], values[2][y][x]};
}

TEST(TracerRender, SmallBallIsSeenWhereTheCameraFormulaSays) {
  Camera camera = camera_towards({1.5, -2.0, 1.0}, {0.1, 0.2, 0}, 1.1, 48, 64, 7);
  camera.cx += 3.5;  // neither square pixels nor a centred picture are taken for granted
  camera.fy *= 1.3;
  const std::array<double, 3> centre = {0.3, -0.1, 0.2};
  const at::Tensor image = render(ball_scene({0.3F, -0.1F, 0.2F}, 0.1F), camera);
  // World to camera is the transposed rotation of the offset.
  std::array<double, 3> local = {};
  for (size_t axis = 0; axis < 3; ++axis) {
    for (size_t row = 0; row < 3; ++row) {
      local[axis] += camera.camera_to_world[row][axis] * (centre[row] - camera.camera_to_world[row][3]);
    }
  }
  const double u = camera.fx * local[0] / local[2] + camera.cx;
  const double v = camera.fy * local[1] / local[2] + camera.cy;
  double mass = 0, mean_u = 0, mean_v = 0;
  for (int64_t y = 0; y < 48; ++y) {
    for (int64_t x = 0; x < 64; ++x) {
      const double dark = 1 - pixel(image, x, y).x;
      mass += dark;
      mean_u += dark * (static_cast<double>(x) + 0.5);
      mean_v += dark * (static_cast<double>(y) + 0.5);
    }
  }
  EXPECT_NEAR(mean_u / mass, u, 0.15);
  EXPECT_NEAR(mean_v / mass, v, 0.15);
  // A ball covers about pi (f r / Z)^2 pixels.
  EXPECT_NEAR(mass, 3.14159 * camera.fx * camera.fy * 0.01 / (local[2] * local[2]), 0.05 * mass);
  const Ray4 ray = camera_ray(camera, static_cast<float>(u), static_cast<float>(v));
  const Vec3 met = lane(ray.at(splat(static_cast<float>(
                            std::sqrt(local[0] * local[0] + local[1] * local[1] + local[2] * local[2])))),
                        0);
  expect_near(met, {0.3F, -0.1F, 0.2F}, 1e-5F);
}

TEST(TracerRender, LightAddsUpAndShadowsTakeItAway) {
  Scene scene;
  scene.materials = {flat({0.5F, 0.5F, 0.5F})};
  scene.ambient_sky = scene.ambient_ground = {0.2F, 0.2F, 0.2F};
  Light light;
  light.place = normalized(Vec3{0, 3, 4});  // cosine 0.8 with the plate
  light.colour = {1, 0.5F, 0};
  scene.lights = {light};
  scene.solids = {solid_of(Convex::placed(Form::kBox, {0, 0, -1}, Mat3{}, {9, 9, 0.5F}), 0)};
  const Camera camera = camera_towards({0.01, 0, 3}, {0.01, 0.001, 0}, 1, 5, 5);
  const Vec3 lit = pixel(render(scene, camera), 2, 2);
  expect_near(lit,
              {std::sqrt(0.25F * (0.2F + 0.8F)), std::sqrt(0.25F * (0.2F + 0.4F)), std::sqrt(0.25F * 0.2F)},
              1e-4F);
  // A ball on the way to the light, but not on the way to the camera.
  scene.solids.push_back(
      solid_of(Convex::placed(Form::kBall, {0, 1.5F, 1.5F}, Mat3{}, {0.3F, 0.3F, 0.3F}), 0));
  const float shadow = std::sqrt(0.25F * 0.2F);
  expect_near(pixel(render(scene, camera), 2, 2), {shadow, shadow, shadow}, 1e-4F);
  // A point light nearer than the ball is not blocked by it.
  scene.lights[0].directional = false;
  scene.lights[0].place = {0, 0.6F, 0.3F};
  // It is sqrt 0.45 away from the origin and 1 from the plate, where the cosine is 0.8.
  EXPECT_NEAR(pixel(render(scene, camera), 2, 2).x, std::sqrt(0.25F * (0.2F + 0.45F * 0.8F)), 5e-3F);
  scene.lights[0].place = {0, 3, 3.5F};
  expect_near(pixel(render(scene, camera), 2, 2), {shadow, shadow, shadow}, 1e-4F);
}

// A point light has the strength of its colour at the origin's distance, and a quarter of it at twice that.
TEST(TracerRender, PointLightsFadeWithTheSquareOfTheDistance) {
  Scene scene;
  scene.materials = {flat({0.5F, 0.5F, 0.5F})};
  scene.ambient_sky = scene.ambient_ground = {0.2F, 0.2F, 0.2F};
  scene.lights = {Light{false, {0.01F, 0, 1}, {1, 1, 1}}};
  const Camera camera = camera_towards({0.01, 0, 3}, {0.01, 0.001, 0}, 1, 5, 5);
  // Not nearer: the light would differ inside of a pixel.
  for (const float distance : {2.0F, 3.0F}) {
    scene.solids = {
        solid_of(Convex::placed(Form::kBox, {0, 0, 1 - distance - 0.5F}, Mat3{}, {9, 9, 0.5F}), 0)};
    EXPECT_NEAR(pixel(render(scene, camera), 2, 2).x, std::sqrt(0.25F * (0.2F + 1 / (distance * distance))),
                5e-3F)
        << distance;
  }
}

TEST(TracerRender, HighlightsAreSeenFromTheMirrorDirection) {
  Scene scene = ball_scene({0, 0, 0}, 1, {0.2F, 0.2F, 0.2F});
  scene.ambient_sky = scene.ambient_ground = {0.1F, 0.1F, 0.1F};
  scene.lights = {Light{true, normalized(Vec3{1, 0, 1}), {0.5F, 0.5F, 0.5F}}};
  const Camera mirror = camera_towards({3, 0, 3}, {0, 0, 0}, 1, 33, 33);
  const Camera aside = camera_towards({3, 4, 0}, {0, 0, 0}, 1, 33, 33);
  const auto brightness = [&](const Camera& camera) { return pixel(render(scene, camera), 16, 16).x; };
  const float dull_mirror = brightness(mirror), dull_aside = brightness(aside);
  scene.materials[0].gloss = 0.4F;
  EXPECT_GT(brightness(mirror), dull_mirror + 0.1F);
  EXPECT_NEAR(brightness(aside), dull_aside, 0.02F);
}

TEST(TracerRender, BackgroundGoesFromBottomToTop) {
  Scene scene;
  scene.materials = {flat({0, 0, 0})};
  scene.background = {{1, 0, 0}, {0, 0, 1}};
  const at::Tensor image = render(scene, camera_towards({0, 3, 0}, {0, 0, 0}, 0.3, 9, 9));
  EXPECT_GT(pixel(image, 4, 0).z, pixel(image, 4, 8).z + 0.3F);
  expect_near(pixel(image, 4, 4), {0.5F, 0, 0.5F}, 1e-2F);
}

TEST(TracerRender, EndlessGroundFadesIntoTheBackground) {
  Scene scene;
  scene.materials = {flat({0, 0, 0})};
  scene.solids = {solid_of(Convex::placed(Form::kHalfSpace, {0, 0, -0.5F}, Mat3{}, {1, 1, 1}), 0)};
  scene.fade_from = 2;
  const at::Tensor image = render(scene, camera_towards({3, 0, 0.5}, {0, 0, 0}, 0.5, 32, 32));
  expect_near(pixel(image, 16, 24), {0, 0, 0}, 1e-6F);
  expect_near(pixel(image, 16, 14), {1, 1, 1}, 1e-6F);  // ground far away, just below the horizon
}

/// A square in the plane x = 0 that faces +x: its texture, read as a picture, is seen by a camera there.
class TracerTexturedSquare : public ::testing::Test {
 protected:
  void SetUp() override {
    at::Tensor picture = at::zeros({16, 16, 3}, at::kByte);  // red green / blue white
    for (int64_t row = 0; row < 16; ++row) {
      for (int64_t column = 0; column < 16; ++column) {
        const bool low = row >= 8, right = column >= 8;
        if (!right && !low) picture[row][column][0] = 255;
        if (right && !low) picture[row][column][1] = 255;
        if (!right && low) picture[row][column][2] = 255;
        if (right && low) picture[row][column].fill_(255);
      }
    }
    io::write_png(folder_ / "texture.png", picture);
    testing::write_file(folder_ / "model.mtl", "newmtl m\nmap_Kd texture.png\n");
    testing::write_file(folder_ / "model.obj",
                        "mtllib model.mtl\nusemtl m\nv 0 -1 -1\nv 0 1 -1\nv 0 1 1\nv 0 -1 1\n"
                        "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 3/3 4/4\n");
    MeshInstance instance;
    instance.mesh = make_mesh(read_obj(folder_ / "model.obj"), "square");
    scene_.materials = {flat({0.5F, 0.5F, 0.5F})};
    scene_.ambient_sky = scene_.ambient_ground = {1, 1, 1};
    scene_.meshes = {instance};
  }

  testing::TemporaryFolder folder_;
  Scene scene_;
  Camera front_ = camera_towards({2, 0, 0}, {0, 0, 0}, 1, 16, 16);
};

TEST_F(TracerTexturedSquare, IsSeenUprightAndNotMirrored) {
  const at::Tensor image = render(scene_, front_);
  expect_near(pixel(image, 5, 5), {1, 0, 0}, 0.02F);
  expect_near(pixel(image, 10, 5), {0, 1, 0}, 0.02F);
  expect_near(pixel(image, 5, 10), {0, 0, 1}, 0.02F);
  expect_near(pixel(image, 10, 10), {1, 1, 1}, 0.02F);
}

TEST_F(TracerTexturedSquare, TurnsWithItsInstance) {
  scene_.meshes[0].to_world = {{1, 0, 0}, {0, -1, 0}, {0, 0, 1}};  // mirror image
  expect_near(pixel(render(scene_, front_), 10, 5), {1, 0, 0}, 0.02F);
  scene_.meshes[0].to_world = {{0, -1, 0}, {1, 0, 0}, {0, 0, 1}};  // +x becomes +y
  expect_near(pixel(render(scene_, camera_towards({0, 2, 0}, {0, 0, 0}, 1, 16, 16)), 5, 5), {1, 0, 0}, 0.02F);
  EXPECT_EQ(pixel(render(scene_, front_), 5, 5).y, 1) << "seen on edge, there is the background";
  scene_.meshes[0].to_world = {{0.5F, 0, 0}, {0, 0.5F, 0}, {0, 0, 0.5F}};
  scene_.meshes[0].scale = 0.5F;
  const at::Tensor half = render(scene_, front_);
  expect_near(pixel(half, 6, 6), {1, 0, 0}, 0.05F);
  expect_near(pixel(half, 2, 2), {1, 1, 1}, 1e-6F);
}

TEST_F(TracerTexturedSquare, CanBeRecolouredAndIsSeenFromBehind) {
  scene_.meshes[0].recolour = {{0, 0, 1}, {0, 0.5F, 0}, {1, 0, 0}};
  expect_near(pixel(render(scene_, front_), 5, 5), {0, 0, 1}, 0.02F);
  expect_near(pixel(render(scene_, front_), 10, 5), {0, 0.5F, 0}, 0.02F);
  const Camera behind = camera_towards({-2, 0, 0}, {0, 0, 0}, 1, 16, 16);
  expect_near(pixel(render(scene_, behind), 10, 5), {0, 0, 1}, 0.02F);
}

TEST_F(TracerTexturedSquare, ColoursAtCornersMultiplyTheTexture) {
  // From red on the left to green on the right.
  testing::write_file(folder_ / "model.obj",
                      "mtllib model.mtl\nusemtl m\nv 0 -1 -1 1 0 0\nv 0 1 -1 0 1 0\nv 0 1 1 0 1 0\n"
                      "v 0 -1 1 1 0 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 3/3 4/4\n");
  scene_.meshes[0].mesh = make_mesh(read_obj(folder_ / "model.obj"), "square");
  const at::Tensor image = render(scene_, front_);
  const Vec3 red = pixel(image, 5, 5), blue = pixel(image, 5, 10), white = pixel(image, 10, 10);
  EXPECT_GT(red.x, 0.5F);
  EXPECT_EQ(red.y + red.z, 0);
  expect_near(blue, {0, 0, 0}, 1e-3F);
  EXPECT_GT(white.y, white.x);
  EXPECT_NEAR(white.x + white.y, 1, 0.02F);
  EXPECT_NEAR(red.x, white.y, 0.02F);
}

TEST(TracerRender, IsTheSameEveryTimeAndFinerGridsAgree) {
  const Scene scene = random_scene(17);
  const Camera camera = random_cameras(3, 1, 32, 48)[0];
  const at::Tensor image = render(scene, camera);
  EXPECT_EQ(image.sizes(), (at::IntArrayRef{3, 32, 48}));
  EXPECT_TRUE(image.equal(render(scene, camera)));
  EXPECT_LE(image.max().item<float>(), 1);
  EXPECT_GE(image.min().item<float>(), 0);
  EXPECT_LT((image - render(scene, camera, {.grid = 3})).abs().mean().item<float>(), 0.02);
}

TEST(TracerRender, ViewsComeWithTheirCameras) {
  const auto cameras = ring_cameras(3, 20, 16, 16);
  const PosedImages views = render_views(random_scene(2), cameras);
  ASSERT_EQ(views.images.size(), 3U);
  EXPECT_EQ(views.cameras[2].camera_to_world, cameras[2].camera_to_world);
  EXPECT_TRUE(views.images[2].equal(render(random_scene(2), cameras[2])));
}

TEST(TracerRender, BadCamerasGiveASentence) {
  const Scene scene = random_scene(1);
  Camera camera = ring_cameras(1, 0, 8, 8)[0];
  camera.width = 0;
  EXPECT_SENTENCE(render(scene, camera), "the camera has 0 x 8 pixels");
  camera.width = 8;
  camera.fx = 0;
  EXPECT_SENTENCE(render(scene, camera), "focal lengths 0 and");
  camera.fx = 8;
  EXPECT_SENTENCE(render(scene, camera, {.grid = 0}), "grid is 0");
}

}  // namespace
}  // namespace lact::data::tracer
