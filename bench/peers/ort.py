#!/usr/bin/env python3
"""Time an ONNX model with ONNX Runtime and check it against a golden case, as ort.mjs does where
there is Node.

    ort.py MODEL.onnx CASE.safetensors [THREADS=1] [SECONDS=3]
"""
import sys, time
import onnxruntime
from golden_case import largest_difference, report, tensors

model, golden, threads, seconds = (sys.argv[1:] + ["1", "3"][len(sys.argv) - 3 :])[:4]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = int(threads), 1, 3
begin = time.perf_counter()
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
create = time.perf_counter() - begin
case = tensors(golden)
feeds = {x.name: case[f"in.{i}"] for i, x in enumerate(session.get_inputs())}
maxdiff = largest_difference(case, session.run(None, feeds))
report("onnxruntime", model, int(threads), float(seconds), lambda: session.run(None, feeds), create, maxdiff)
