#!/usr/bin/env python3
"""Time an exported program with PyTorch's torch.compile on the CPU and check it against a golden
case. `create_ms` is the time of the first run, which compiles.

    torch_compile.py MODEL.pt2 CASE.safetensors [THREADS=1] [SECONDS=3]
"""
import sys, time
import numpy as np
import torch
from golden_case import largest_difference, report, tensors

model, golden, threads, seconds = (sys.argv[1:] + ["1", "3"][len(sys.argv) - 3 :])[:4]
torch.set_num_threads(int(threads))
case = tensors(golden)
count = sum(name.startswith("in.") for name in case)
inputs = [torch.from_numpy(np.array(case[f"in.{i}"])) for i in range(count)]
with torch.inference_mode():
    program = torch.compile(torch.export.load(model).module(), options={"freezing": True})
    begin = time.perf_counter()
    results = torch.utils._pytree.tree_leaves(program(*inputs))
    create = time.perf_counter() - begin
    maxdiff = largest_difference(case, [r.numpy() for r in results])
    report("torch.compile", model, int(threads), float(seconds), lambda: program(*inputs), create, maxdiff)
