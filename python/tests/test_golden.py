"""The authors' numbers: operations, layers with their parameter names, whole models."""
import unittest

import torch

import lact_torch
from lact_torch import layouts
from lact_torch import update_rule
from support import ALL_GOLDEN, golden_cases

OPERATIONS = {"update_then_apply": layouts.UPDATE_THEN_APPLY, "apply_then_update": layouts.APPLY_THEN_UPDATE,
              "update_only": layouts.UPDATE, "apply_only": layouts.APPLY}


def newton_schulz_options(options, **names):
    """Of a case's options, as arguments called `names`."""
    given = {"steps": options["steps"], "coefficients": options["coefficients"],
             "type": "bfloat16" if options["dtype"] == "bfloat16" else "input"}
    return {names[key]: value for key, value in given.items()}


class Golden(unittest.TestCase):
    def each(self, *kinds):
        cases = list(golden_cases(*kinds))
        self.assertTrue(cases, f"there is no golden case of {kinds}")
        return cases

    def test_all_cases_are_here(self):
        if not ALL_GOLDEN.exists():
            self.skipTest(f"{ALL_GOLDEN} does not exist: only the committed cases are compared")

    def test_ttt(self):
        for case in self.each("ttt"):
            options, linear = case.options, case.options["network"] == "linear"
            rule = {"network": options["network"], "momentum": options["momentum"], "norm": options["norm_placement"],
                    "detach_norm": options.get("initial_norm") == "detached"}
            if options.get("newton_schulz"):
                rule.update(muon=True, **newton_schulz_options(options["newton_schulz"], steps="newton_schulz_steps",
                                                               coefficients="newton_schulz_coefficients",
                                                               type="newton_schulz_type"))
            turned = options.get("weight_layout") == "in_out"
            names = ["W"] if linear else ["w0", "w1", "w2"]
            # Cases hold [B · H, T, D]: one sequence of so many heads.
            weights = [case.input(x).transpose(-2, -1) if turned else case.input(x) for x in names]
            tokens = [case.input(x).transpose(0, 1).unsqueeze(0) for x in ("q", "k", "v")]
            rates = [case.input(x).transpose(0, 1).unsqueeze(0) for x in (["lr"] if linear else ["lr0", "lr1", "lr2"])]
            momentum = case.input("momentum").transpose(0, 1).unsqueeze(0) if options["momentum"] else None
            steps = options.get("schedule") or case.description["schedule"]
            schedule = [x for step in steps for x in (OPERATIONS[step[0]], step[1], step[2])]
            out, state = lact_torch.chunk_lact(*tokens, weights, rates, momentum, order=schedule, rule=update_rule(**rule),
                                               output_final_state=True)
            out = out[0].transpose(0, 1)
            case.expect(self, "output", out)
            for name, final in zip(names, state.weights(options["network"])):
                if case.has(f"{name}_final"):
                    case.expect(self, f"{name}_final", final[0].transpose(-2, -1) if turned else final[0])
            case.expect_gradients(self, ("", out))

    def test_newton_schulz(self):
        for case in self.each("newton_schulz"):
            dtype = {"bfloat16": torch.bfloat16, "float32": torch.float32}[case.options["dtype"]]
            out = lact_torch.newton_schulz(case.input("G"), case.options["steps"], case.options["coefficients"], dtype)
            case.expect(self, "output", out)
            case.expect_gradients(self, ("", out))

    def test_attention(self):
        for case in self.each("attention.sliding", "attention.blocks", "attention.video_window"):
            options, tokens = case.options, [case.input(x) for x in ("q", "k", "v")]
            count = tokens[0].shape[1]
            if case.kind == "attention.sliding":
                out = lact_torch.window_attention(*tokens, options["window"])
            elif case.kind == "attention.blocks":
                out = lact_torch.window_attention(*tokens, window=layouts.block_window(count, options["tokens_per_block"]))
            else:
                layout = layouts.interleaved(options["num_chunks"], (1, 1, options["chunk_tokens"]), options["repeat"],
                                             options["kv_cache_size"])
                out = lact_torch.window_attention(*tokens, window=layout.window)
            case.expect(self, "output", out)
            case.expect_gradients(self, ("", out))

    def test_recurrences(self):
        for case in self.each("gla", "deltanet"):
            if case.kind == "gla":
                state = case.input("initial_state") if case.has("initial_state") else None
                out, last = lact_torch.chunk_gla(*(case.input(x) for x in ("q", "k", "v", "gk")), None, state, True)
            else:
                q, k, v, beta = (case.input(x).transpose(1, 2) for x in ("q", "k", "v", "beta"))
                state = case.input("initial_state") if case.has("initial_state") else None
                out, last = lact_torch.chunk_delta_rule(q, k, v, beta, None, state, True, use_qk_l2norm_in_kernel=True)
                out = out.transpose(1, 2)
            case.expect(self, "output", out)
            case.expect(self, "final_state", last)
            case.expect_gradients(self, ("", out))

    def test_splatting(self):
        for case in self.each("splat.render"):
            options = case.options
            poses = torch.linalg.inv(case.input("viewmats").double())
            fields = [case.input(x) for x in ("means", "quats", "log_scales", "opacity_logits", "sh")]
            picture = lact_torch.rasterize(*fields, case.input("intrinsics").double(), poses, options["height"],
                                           options["width"], degree=options["sh_degree"], near=options["near"],
                                           far=options["far"], blur=options["blur"],
                                           background=case.input("background").tolist())
            image = picture.image.permute(0, 2, 3, 1)
            case.expect(self, "output.image", image)
            case.expect(self, "output.alpha", picture.alpha)
            case.expect_gradients(self, ("image", image), ("alpha", picture.alpha))

    def run_layer(self, case, layer, *arguments, tokens=None):
        x = case.input("x")
        case.load(layer)
        out = layer(x if tokens is None else x.reshape(-1, tokens, x.shape[-1]), *arguments)
        out = (out[0] if isinstance(out, tuple) else out).reshape(case.tensors["output"].shape)
        case.expect(self, "output", out)
        case.expect_gradients(self, ("", out))

    def test_language_layers(self):
        for case in self.each("layer.llm"):
            case.options.pop("newton_schulz", None)
            self.run_layer(case, lact_torch.LaCTSWIGLULayer(**case.options))

    def test_minimal_layers(self):
        classes = {"layer.minimal_bidirectional": lact_torch.BidirectionalLaCTSwiGLU,
                   "layer.minimal_causal": lact_torch.CausalLaCTSwiGLUWithSlidingWindowAttn}
        for case in self.each(*classes):
            case.options.pop("newton_schulz", None)
            self.run_layer(case, classes[case.kind](**case.options))

    def test_view_layers(self):
        for case in self.each("layer.nvs"):
            operators, given = case.options.pop("ttt_operators"), case.options.pop("state_given", False)
            layer, state = lact_torch.FastWeightGluMLPMultihead(**case.options), None
            if given:
                batch = case.tensors["x"].shape[0]
                weights = [case.input(f"state_w{i}").transpose(-2, -1).unflatten(0, (batch, -1)) for i in range(3)]
                state = lact_torch.start_state(weights, layer.rule, batch)
            self.run_layer(case, layer, operators, state)
            if case.has("w0_final"):
                _, after = layer(case.input("x"), operators, state)
                for i, weight in enumerate(after.weights()):
                    case.expect(self, f"w{i}_final", weight.flatten(0, 1).transpose(-2, -1))

    def test_video_layers(self):
        for case in self.each("layer.video"):
            options = case.options
            grid, chunks = options.pop("latent_grid"), options.pop("num_chunks")
            every, visible = options.pop("update_every"), options.pop("kv_cache_size", None)
            for name in ("newton_schulz", "batch_size", "n_latent_f", "ar_window_f", "local_window_size"):
                options.pop(name, None)
            size = grid[0] * grid[1] * grid[2]
            layout = layouts.interleaved(chunks, grid, every // size - 1, None if visible in (None, -1) else visible)
            self.run_layer(case, lact_torch.VideoLaCTSelfAttention(**options), layout, tokens=layout.tokens)

    def test_language_models(self):
        for case in self.each("model.lm"):
            ids = case.tensors["input_ids"]
            ours = lact_torch.LaCTForCausalLM.from_pretrained(str(case.folder))
            native = lact_torch.LanguageModel.from_pretrained(str(case.folder), trainable=True, precision="f32")
            case.expect(self, "logits", ours(ids))
            case.expect(self, "logits", native(ids))
            case.leaves.update({f"param.{name}": parameter for name, parameter in ours.named_parameters()})
            loss = torch.nn.functional.cross_entropy(ours(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
            loss.backward()
            for name in [x for x in case.tensors if x.startswith("grad.")]:
                if not case.description["tensors"][name].get("ill_conditioned"):
                    case.expect(self, name, case.leaves[name[5:]].grad)
            self.assertAlmostEqual(native.losses(ids).mean().item(), loss.item(), places=5)

    def test_view_models(self):
        for case in self.each("model.nvs"):
            model = lact_torch.ViewModel.from_pretrained(str(case.folder / "checkpoint.pt"), precision="f32")
            images, size = case.tensors["input_image"], case.tensors["input_image"].shape[-1]
            cameras = [(case.tensors[f"{x}_fxfycxcy"], case.tensors[f"{x}_c2w"]) for x in ("input", "target")]
            out = model(images, *(torch.cat(x, 1) for x in zip(*cameras)))
            case.expect(self, "output", out)
            scene = model.reconstruct(images[0].unbind(0), *(x[0] for x in cameras[0]))
            views = [scene.render(k, pose, size, size) for k, pose in zip(*(x[0] for x in cameras[1]))]
            case.expect(self, "rendering", torch.stack(views).unsqueeze(0))


if __name__ == "__main__":
    unittest.main()
