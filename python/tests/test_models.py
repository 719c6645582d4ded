"""The library's models from Python: files, states, and training that follows `lact lm train` step by step."""
import json
import math
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import torch
import torch.nn.functional as F

import lact_torch
from support import GOLDEN, ROOT, close

PROGRAM = os.environ.get("LACT_PROGRAM", "")
TINY = {"model_type": "lact_swiglu", "hidden_size": 32, "num_hidden_layers": 2, "num_attn_heads": 4, "num_lact_heads": 2,
        "vocab_size": 256, "intermediate_size": 48, "lact_chunk_size": 16, "window_size": 16, "use_momentum": True,
        "w0_w2_low_rank": 4, "rope_theta": 1e6, "initializer_range": 0.1}


def tiny_model():
    torch.manual_seed(7)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(TINY, file)
        file.flush()
        return lact_torch.LanguageModel.from_config(file.name)


class LanguageModels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def saved(self):
        tiny_model().save_pretrained(self.folder / "model")
        return str(self.folder / "model")

    def test_a_folder_is_the_same_model_in_both_forms(self):
        folder, ids = self.saved(), torch.randint(256, (2, 40))
        native = lact_torch.LanguageModel.from_pretrained(folder, precision="f32")
        modules = lact_torch.LaCTForCausalLM.from_pretrained(folder)
        close(self, modules(ids), native(ids), 1e-5)
        close(self, modules(ids[:1], [0, 11, 40]), native(ids[:1], [0, 11, 40]), 1e-5)
        modules.save_pretrained(self.folder / "again")
        close(self, lact_torch.LanguageModel.from_pretrained(str(self.folder / "again"), precision="f32")(ids), native(ids),
              1e-6)
        out, states = modules.advance(ids[:, :17])
        rest, _ = modules.advance(ids[:, 17:], states)
        close(self, torch.cat([out, rest], 1), modules(ids), 1e-5)

    def test_states_go_on_and_can_be_forked_saved_and_loaded(self):
        model = lact_torch.LanguageModel.from_pretrained(self.saved(), precision="f32", weights="f32")
        ids = torch.randint(1, 256, (40,))
        whole = model(ids.unsqueeze(0))[0]
        state = model.read(ids[:21])
        close(self, state.next_logits(), whole[20], 1e-5)
        size = state.nbytes
        after = model.read(ids[21:], state)
        close(self, after.next_logits(), whole[39], 1e-5)
        self.assertEqual((state.position, after.position), (21, 40))
        close(self, state.next_logits(), whole[20], 1e-5)
        self.assertLess(model.read(ids.repeat(20), after).nbytes, 2 * size)

        model.save_memory(after, self.folder / "text.memory")
        loaded = model.load_memory(self.folder / "text.memory")
        self.assertEqual(loaded.position, 40)
        for name, tensor in after.tensors().items():
            self.assertTrue(torch.equal(loaded.tensors()[name], tensor), name)
        texts = [model.generate("x", s, max_tokens=12, seed=5, ignore_end=True) for s in (after, loaded, after)]
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(texts[0], texts[2])
        self.assertEqual((len(texts[0].tokens), texts[0].reason), (12, "length"))
        other = tiny_model()
        with torch.no_grad():
            next(other.parameters()).add_(1)
        with self.assertRaisesRegex(RuntimeError, "another model"):
            other.load_memory(self.folder / "text.memory")

    def test_text_and_tokens(self):
        model = tiny_model()
        self.assertEqual(model.decode(model.encode("grün")), "grün")
        with self.assertRaisesRegex(RuntimeError, "outside of the model's vocabulary"):
            model(torch.tensor([[256]]))
        with self.assertRaisesRegex(RuntimeError, "temperature"):
            model.generate("x", temperature=-1)
        with self.assertRaisesRegex(RuntimeError, "a cache of int8 is for models that are not trained"):
            lact_torch.LanguageModel.from_pretrained(self.saved(), trainable=True, cache="int8")

    @unittest.skipUnless(PROGRAM, "LACT_PROGRAM does not name the program lact")
    def test_a_tokenizer_is_saved_with_its_model(self):
        tokenizer = str(self.folder / "words.model")
        subprocess.run([PROGRAM, "lm", "tokenizer", "train", str(ROOT / "README.md"), "-o", tokenizer, "--vocabulary-size",
                        "400"], check=True, capture_output=True)
        model = lact_torch.LanguageModel.from_config("lm_tiny", ["vocabulary_size=400", "num_layers=1"], tokenizer=tokenizer)
        model.save_pretrained(self.folder / "words")
        text = "the language model"
        self.assertLess(len(model.encode(text)), len(text))
        again = lact_torch.LanguageModel.from_pretrained(self.folder / "words", trainable=True)
        self.assertEqual((again.encode(text), again.decode(again.encode(text))), (model.encode(text), text))

    def test_an_optimizer_trains_the_native_model_in_place(self):
        model = tiny_model()
        ids = torch.randint(256, (2, 33))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        losses = []
        for _ in range(12):
            optimizer.zero_grad()
            loss = model.losses(ids).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], 0.8 * losses[0])
        close(self, F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten()), model.losses(ids).mean(), 1e-4)

    @unittest.skipUnless(PROGRAM, "LACT_PROGRAM does not name the program lact")
    def test_training_follows_the_program(self):
        """The same weights, batches and optimizer: 50 steps of modules in Python have the losses of `lact lm train`."""
        steps, warmup, rate, floor, clip = 50, 5, 3e-3, 0.1, 1.0
        run = self.folder / "run"
        command = [PROGRAM, "lm", "train", "--init", self.saved(), "-o", str(run), "--batch", "2", "--length", "48", "--steps",
                   str(steps), "--warmup", str(warmup), "--rate", str(rate), "--validate-every", "0", "--log-every", "1",
                   "--precision", "f32", "--names", "4", "--things", "4", "--facts", "2"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        expected = [record["loss"] for record in records if "loss" in record]
        self.assertEqual(len(expected), steps)

        text = lact_torch.TrainingText(str(run))
        model = lact_torch.LaCTForCausalLM.from_pretrained(str(self.folder / "model"))
        matrices, vectors = ([p for p in model.parameters() if (p.dim() > 1) == wanted] for wanted in (True, False))
        optimizer = torch.optim.AdamW([{"params": matrices}, {"params": vectors, "weight_decay": 0.0}], betas=(0.9, 0.95),
                                      eps=1e-8, weight_decay=0.1)
        losses = []
        for step in range(steps):
            ids = text.batch(step)
            loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            falling = floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))
            for group in optimizer.param_groups:
                group["lr"] = rate * ((step + 1) / warmup if step < warmup else falling)
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(expected[-1], 0.7 * expected[0])
        for step, (ours, theirs) in enumerate(zip(losses, expected)):
            self.assertAlmostEqual(ours, theirs, delta=1e-5 * theirs, msg=f"step {step}")


class ViewModels(unittest.TestCase):
    def test_the_weights_that_come_with_the_library(self):
        self.assertEqual(lact_torch.ViewModel.from_pretrained(precision="f32").config["task"], "nvs")

    def test_scene_files(self):
        model = lact_torch.ViewModel.from_pretrained(str(GOLDEN / "models/lact_nvs_tiny/checkpoint.pt"), precision="f32")
        case = lact_torch.load_file(str(GOLDEN / "models/lact_nvs_tiny/golden.safetensors"))
        images, intrinsics, poses = (case[f"input_{x}"][0] for x in ("image", "fxfycxcy", "c2w"))
        scene = model.reconstruct(images.unbind(0), intrinsics, poses)
        view = scene.render(intrinsics[0], poses[0], 32, 48)
        self.assertEqual(tuple(view.shape), (3, 32, 48))
        with tempfile.TemporaryDirectory() as folder:
            scene.save(f"{folder}/a.scene")
            again = model.load_scene(f"{folder}/a.scene")
            self.assertTrue(torch.equal(again.render(intrinsics[0], poses[0], 32, 48), view))
            close(self, again.intrinsics, intrinsics, 1e-6)
            with self.assertRaisesRegex(RuntimeError, "nothing.scene"):
                model.load_scene(f"{folder}/nothing.scene")


if __name__ == "__main__":
    unittest.main()
