"""What the peers that run under Python have in common: a case file's tensors, and how a run is
timed. ort.mjs prints the same line under Node."""
import json, os, resource, time
import numpy as np


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


def report(peer, model, threads, seconds, run, create_s, maxdiff):
    """Times `run` and prints the line that bench/run.sh reads."""
    for _ in range(5):
        run()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 10:
        begin = time.perf_counter()
        run()
        times.append(1000 * (time.perf_counter() - begin))
    times.sort()
    print(json.dumps({
        "peer": peer, "model": os.fspath(model), "threads": threads, "runs": len(times),
        "median_ms": round(times[len(times) // 2], 4), "min_ms": round(times[0], 4), "create_ms": round(1000 * create_s, 2),
        "maxdiff": maxdiff, "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }))
