// Golden cases of whole models, loaded from the model folder in which the case lies.
#include <ATen/ATen.h>

#include "lact/eval/golden/kinds.h"
#include "lact/models/lm/folder.h"
#include "lact/models/lm/weights.h"
#include "lact/ops/losses.h"

namespace lact::eval::golden {

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

}  // namespace lact::eval::golden
