"""PyTorch, asked by `lact bench`: reads one JSON request per line, answers with one line.

{"op": "ttt" | "attention" | "recurrence" | "splat" | "prefill" | "train" | "decode" | "nvs_reconstruct" | "nvs_render" | "nvs_train",
 "precision": "bf16" | "f32", ...sizes...}
    -> {"seconds": s}                           one run
    -> {"extra_memory_mb": m}                   with "memory": true
    -> {"norms": [...]}                         with "norms": true: of the output and every gradient, to compare
    -> {"error": "..."}                         this request failed, the next may not
"""
import argparse
import ctypes
import json
import os
import sys
import time

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what libraries print must not mix with answers

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import attention  # noqa: E402
import lm  # noqa: E402
import nvs  # noqa: E402
import recurrences  # noqa: E402
import splat  # noqa: E402
import ttt  # noqa: E402

OPS = {"ttt": ttt.Ttt, "attention": attention.Attention, "recurrence": recurrences.Recurrence,
       "splat": splat.Splat,
       "prefill": lm.Prefill, "train": lm.Train, "decode": lm.Decode,
       "nvs_reconstruct": nvs.Reconstruct, "nvs_render": nvs.Render, "nvs_train": nvs.Train}


def status(name):
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    return 0


def extra_memory(run):
    """Most resident memory during a run beyond what was resident before it, in MB."""
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = status("VmRSS")
    run()
    return (status("VmHWM") - before) / 1e6


class Server:
    """Keeps the problem of the last request of each precision and form, as the next one is often the same."""

    def __init__(self):
        self.problems, self.sizes = {}, None

    def problem(self, request):
        request = {key: value for key, value in request.items() if key not in ("memory", "norms")}
        variant = (request["precision"], request.get("form"), request.get("compile", False))
        sizes = {key: value for key, value in request.items() if key not in ("precision", "form", "compile")}
        if sizes != self.sizes:
            self.problems, self.sizes = {}, sizes
        if variant not in self.problems:
            self.problems[variant] = OPS[request["op"]](**{k: v for k, v in request.items() if k != "op"})
        return self.problems[variant]

    def answer(self, request):
        if request["op"] == "hello":
            return {"torch": torch.__version__, "compile": hasattr(torch, "compile"),
                    "scaled_dot_product_attention": hasattr(F, "scaled_dot_product_attention"),
                    "threads": torch.get_num_threads()}
        problem = self.problem(request)
        if request.get("memory"):
            problem.prepare()
            return {"extra_memory_mb": extra_memory(problem.run)}
        if request.get("norms"):
            return {"norms": [x.double().norm().item() for x in problem.tensors()]}
        problem.prepare()
        start = time.perf_counter()
        problem.run()
        return {"seconds": time.perf_counter() - start}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    torch.set_num_threads(parser.parse_args().threads)
    server = Server()
    for line in sys.stdin:
        try:
            answer = server.answer(json.loads(line))
        except Exception as error:  # noqa: BLE001
            server.problems, server.sizes = {}, None
            answer = {"error": "%s: %s" % (type(error).__name__, error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
