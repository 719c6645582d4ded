// Golden cases of what stands around the video model: the autoencoder and the text encoder.
#include <ATen/ATen.h>

#include "lact/golden/kinds.h"
#include "lact/models/umt5/folder.h"
#include "lact/models/vae/folder.h"

namespace lact::golden {

namespace {

/// The autoencoder beside the case, with the sizes of the case's options and the published latent scale.
std::shared_ptr<models::Vae> golden_vae(Run& run) {
  const std::string file = run.folder() + "/model.safetensors";
  const auto model = models::load_vae(file);
  models::VaeConfig told = models::translate(models::read_authors_vae(run.options(), "options"));
  const auto published = models::vae_wan();
  model->set_latent_scale(published.latent_mean, published.latent_std);
  told.latent_mean = published.latent_mean;
  told.latent_std = published.latent_std;
  LACT_CHECK(told == model->config(), "the options differ from the sizes in {}", file);
  const auto expect_numbers = [&](const std::string& name, const std::vector<double>& values) {
    LACT_CHECK(at::allclose(run.input(name).to(at::kDouble), at::tensor(values, at::kDouble), 1e-6),
               "{} is not the published one", name);
  };
  expect_numbers("mean", published.latent_mean);
  expect_numbers("std", published.latent_std);
  run.use(*model, models::own_names(*model));
  return model;
}

/// The same clip with caches, one latent frame at a time.
template <class Function>
at::Tensor in_pieces(const at::Tensor& clip, int64_t first, int64_t step, const Function& function) {
  at::NoGradGuard no_grad;
  models::FrameCaches caches;
  std::vector<at::Tensor> results;
  for (int64_t begin = 0, count = first; begin < clip.size(2); begin += count, count = step) {
    if (begin == 0) count = first;
    results.push_back(function(clip.narrow(2, begin, count), caches));
  }
  return at::cat(results, 2);
}

}  // namespace

void run_vae_encode(Run& run) {
  const auto model = golden_vae(run);
  const at::Tensor video = run.input("video");
  run.expect("output", in_pieces(video.detach(), 1, model->config().temporal(),
                                 [&](const at::Tensor& piece, models::FrameCaches& caches) {
                                   return model->scaled(model->encode(piece, &caches).mean);
                                 }));
  const at::Tensor output = model->scaled(model->encode(video).mean);
  run.expect("output", output);
  run.expect_loss_and_gradients(output);
}

void run_vae_decode(Run& run) {
  const auto model = golden_vae(run);
  const at::Tensor latent = run.input("latent");
  run.expect("output",
             in_pieces(latent.detach(), 1, 1, [&](const at::Tensor& piece, models::FrameCaches& caches) {
               return model->decode(model->unscaled(piece), &caches);
             }));
  const at::Tensor output = model->decode(model->unscaled(latent));
  run.expect("output", output);
  run.expect_loss_and_gradients(output);
}

void run_umt5(Run& run) {
  const auto told = models::translate(models::read_authors_umt5(run.options(), "options"));
  const auto model = models::load_umt5(run.folder() + "/model.safetensors");
  LACT_CHECK(told == model->config(), "the options differ from the sizes in model.safetensors");
  run.use(*model, models::own_names(*model));
  const at::Tensor output = model->forward(run.input("ids"), run.input("mask"));
  run.expect("output", output);
  run.expect_loss_and_gradients(output);
}

}  // namespace lact::golden
