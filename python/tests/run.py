"""Runs tests of this folder by name; exit code 77, and a line that says why, where there is nothing to test with."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    import torch  # noqa: F401
except ImportError as error:
    print(f"skipped: {sys.executable} has no torch ({error})")
    sys.exit(77)
unittest.main(module=None)
