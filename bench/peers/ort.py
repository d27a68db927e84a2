#!/usr/bin/env python3
"""Time an ONNX model with ONNX Runtime and check it against a golden case, as ort.mjs does where
there is Node.

    ort.py MODEL.onnx CASE.safetensors [THREADS=1] [SECONDS=3]
"""
import json, resource, sys, time
import numpy as np
import onnxruntime


def tensors(path):
    """The tensors of a safetensors file, by name."""
    raw = open(path, "rb").read()
    length = int.from_bytes(raw[:8], "little")
    types = {"F32": "f4", "F64": "f8", "I64": "i8", "I32": "i4", "U8": "u1", "BOOL": "?"}
    found = {}
    for name, tensor in json.loads(raw[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in tensor["data_offsets"])
        found[name] = np.frombuffer(raw[begin:end], types[tensor["dtype"]]).reshape(tensor["shape"])
    return found


def largest_difference(case, results):
    """Of the results from what PyTorch computed, where the case has it; of large ones it has the
    first elements alone."""
    largest = 0.0
    for i, result in enumerate(results):
        want = case.get(f"out.{i}")
        if want is None:
            continue
        got = np.asarray(result, "f8").ravel()[: want.size]
        largest = max(largest, float(np.abs(got - want.ravel()).max(initial=0)))
    return largest


model, golden, threads, seconds = (sys.argv[1:] + ["1", "3"][len(sys.argv) - 3 :])[:4]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = int(threads), 1, 3
begin = time.perf_counter()
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
create = time.perf_counter() - begin
case = tensors(golden)
feeds = {x.name: case[f"in.{i}"] for i, x in enumerate(session.get_inputs())}
maxdiff = largest_difference(case, session.run(None, feeds))
for _ in range(5):
    session.run(None, feeds)
times, end = [], time.perf_counter() + float(seconds)
while time.perf_counter() < end or len(times) < 10:
    begin = time.perf_counter()
    session.run(None, feeds)
    times.append(1000 * (time.perf_counter() - begin))
times.sort()
print(json.dumps({
    "peer": "onnxruntime", "model": model, "threads": int(threads), "runs": len(times),
    "median_ms": round(times[len(times) // 2], 4), "min_ms": round(times[0], 4), "create_ms": round(1000 * create, 2),
    "maxdiff": maxdiff, "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
}))
