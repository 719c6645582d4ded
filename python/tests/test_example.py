"""The scripts that people copy from still run."""
import subprocess
import sys
import unittest

from support import ROOT


class Scripts(unittest.TestCase):
    def run_script(self, *words):
        result = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_lact_in_a_transformer(self):
        output = self.run_script(ROOT / "examples/lact_in_a_transformer.py", "--steps", 2)
        for name in ("window attention", "LaCT"):
            self.assertRegex(output, rf"{name} +step +2 +loss 2\.\d+ +recalled +\d+%")

    def test_bench(self):
        output = self.run_script(ROOT / "bench/torch_ops.py", "--tokens", 64, "--chunk", 16, "--width", 32, "--heads", 1,
                                 "--times", 1, "--precision", "f32")
        self.assertRegex(output, r"forward and backward +[\d.]+ ms +[\d.]+ ms +[\d.]+ times")


if __name__ == "__main__":
    unittest.main()
