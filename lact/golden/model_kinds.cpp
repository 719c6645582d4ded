// Golden cases of whole models, loaded from the model folder in which the case lies.
#include <ATen/ATen.h>

#include "lact/golden/kinds.h"
#include "lact/io/safetensors.h"
#include "lact/models/lm/folder.h"
#include "lact/models/lm/weights.h"
#include "lact/models/nvs/folder.h"
#include "lact/models/nvs/model.h"
#include "lact/models/nvs/weights.h"
#include "lact/ops/images/rays.h"
#include "lact/ops/losses/losses.h"

namespace lact::golden {

namespace {

/// The two files of the folder must hold the same model.
void load_nvs_case(Run& run, models::NvsModel& model) {
  models::load_nvs_weights(model, run.folder() + "/checkpoint.pt");
  const std::string hash = models::fingerprint(model);
  models::load_nvs_weights(model, run.folder() + "/model.safetensors");
  LACT_CHECK(models::fingerprint(model) == hash, "checkpoint.pt and model.safetensors differ");
}

struct GoldenViews {
  at::Tensor intrinsics, camera_to_world, rays;
};

GoldenViews golden_views(Run& run, const std::string& which, const at::Tensor& images) {
  const at::Tensor intrinsics = run.input(which + "_fxfycxcy"), pose = run.input(which + "_c2w");
  return {intrinsics, pose, ops::plucker_rays(intrinsics, pose, images.size(3), images.size(4))};
}

/// Fast weights of each block, then each target view rendered by itself.
void expect_scene(Run& run, models::NvsModel& model, const at::Tensor& images, const GoldenViews& inputs,
                  const GoldenViews& targets) {
  const auto state = model.reconstruct(images[0].unbind(0), inputs.intrinsics[0], inputs.camera_to_world[0]);
  for (size_t i = 0; i < state->memories.size(); ++i) {
    const auto& weights = dynamic_cast<ttt::LactState&>(*state->memories[i]).memory.weights;
    for (size_t j = 0; j < weights.size(); ++j)
      run.expect(fmt::format("state.{}.w{}", i, j), weights[j].flatten(0, 1).transpose(-2, -1));
  }
  std::vector<at::Tensor> rendered;
  for (int64_t i = 0; i < targets.intrinsics.size(1); ++i)
    rendered.push_back(model.render(*state, targets.intrinsics[0][i], targets.camera_to_world[0][i],
                                    images.size(3), images.size(4)));
  run.expect("rendering", at::stack(rendered).unsqueeze(0));
}

}  // namespace

void run_nvs_model(Run& run) {
  options::Json options = run.options();
  options.erase("image_size");  // the images have it
  LACT_CHECK(options.size() == 1 && options.contains("model"), "options are not {{model, image_size}}");
  const auto theirs = models::read_authors_nvs(options["model"], "options.model");
  const models::NvsConfig config = models::translate(theirs);
  LACT_CHECK(models::to_authors(config).has_value(), "the config does not translate back");

  const at::Tensor images = run.input("input_image"), truth = run.input("target_image");
  const GoldenViews inputs = golden_views(run, "input", images), targets = golden_views(run, "target", truth);
  run.expect("input_ray_o", inputs.rays.narrow(2, 0, 3));
  run.expect("input_ray_d", inputs.rays.narrow(2, 3, 3));
  run.expect("input_o_cross_d", inputs.rays.narrow(2, 6, 3));
  run.expect("target_pose_only", targets.rays);

  if (run.has("output_bf16ns")) {
    at::NoGradGuard no_grad;
    models::NvsConfig published = config;
    published.lact.memory.update.newton_schulz.iteration_type = ops::IterationType::bfloat16;
    models::NvsModel same(published);
    models::load_foreign(same, models::foreign_names(theirs),
                         io::read_safetensors(run.folder() + "/model.safetensors").tensors, run.folder());
    same.to(run.precision());
    same.set_compute_type(run.precision());
    run.expect("output_bf16ns", same.forward(images, inputs.rays, targets.rays));
  }
  models::NvsModel model(config);
  load_nvs_case(run, model);
  run.use(model, models::foreign_names(theirs));
  model.set_compute_type(run.precision());
  expect_scene(run, model, images, inputs, targets);
  const at::Tensor output = model.forward(images, inputs.rays, targets.rays);
  run.expect("output", output);
  const at::Tensor error = (output.detach() - truth).square().mean();
  run.expect("l2_loss_to_target", error.reshape({1}));
  run.expect("psnr_to_target", (-10 * error.log10()).reshape({1}));
  run.expect_loss_and_gradients(output);
}

void run_lm_model(Run& run) {
  const auto theirs = models::read_authors_lm(run.options(), "options");
  LACT_CHECK(models::translate(theirs) == models::read_lm_config(run.folder()),
             "the options differ from the folder's config.json");
  const auto model = models::load_lm(run.folder());
  run.use(*model, models::foreign_names(theirs));
  model->set_compute_type(run.precision());

  const at::Tensor ids = run.input("input_ids");
  if (run.has("logits_bf16ns")) {
    at::NoGradGuard no_grad;
    models::LmConfig published = model->config();
    published.layer.memory.update.newton_schulz.iteration_type = ops::IterationType::bfloat16;
    models::LanguageModel same(published);
    same.to(run.precision());
    same.set_compute_type(run.precision());
    models::load_foreign(same, models::foreign_names(theirs),
                         models::export_foreign(*model, models::foreign_names(theirs)), run.folder());
    run.expect("logits_bf16ns", same.forward(ids));
  }
  std::vector<at::Tensor> between;
  const at::Tensor hidden = model->hidden(ids, &between);
  between.push_back(hidden);
  for (size_t i = 0; i < between.size(); ++i) run.expect(fmt::format("hidden_{}", i), between[i]);
  const at::Tensor logits = model->logits(hidden);
  run.expect("logits", logits);
  const at::Tensor loss = ops::next_token_loss(logits, ids);
  run.expect("per_token_loss", loss);
  run.expect("loss", loss.mean().reshape({1}));
  run.expect_gradients_of(loss.mean());
}

}  // namespace lact::golden
