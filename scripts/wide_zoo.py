#!/usr/bin/env python3
"""Runs a folder of exported programs by Ingot and compares with what PyTorch computed: eagerly, and
compiled.

    wide_zoo.py FOLDER INGOT [-o RESULTS.json] [--again] [--only GLOB]

A program is a folder with model.pt2 and case0.safetensors, case1.safetensors, … (in.N, out.N,
buffer.NAME), as `ingot check --suite` takes it; where sizes are open, the cases have different
ones. Programs are grouped by their names: NAME.static has no open sizes. What RESULTS.json has from
an earlier run of the same binary is not run again, unless it failed or --again says so. Prints a
line for each program, then the counts, the failures by cause and the time of compilation. Needs no
PyTorch. Exits with 1 where anything failed.
"""
import argparse
import collections
import fnmatch
import hashlib
import json
import os
import re
import resource
import statistics
import subprocess
import sys

LIMIT = 300  # seconds for one program, one way
WAYS = ("eager", "compiled")


def call(command):
    "Exit status (None: it took too long), what it said, seconds of a processor: what else the machine does has no say in these."
    def used():
        r = resource.getrusage(resource.RUSAGE_CHILDREN)
        return r.ru_utime + r.ru_stime
    before = used()
    try:
        p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=LIMIT)
        return p.returncode, p.stdout, used() - before
    except subprocess.TimeoutExpired:
        return None, "took too long", used() - before


def reason(status, said):
    "The first line that says what went wrong, without names and numbers that differ from program to program."
    if status == 0:
        return ""
    if status is not None and status < 0:
        return f"crash: signal {-status}"
    lines = [l for l in said.splitlines() if "FAILED" in l or "rror" in l] or said.strip().splitlines()[-1:] or [f"status {status}"]
    return re.sub(r"^FAILED\s+\S+: (case\d+\.safetensors: )?(\S+model\.pt2: )?", "", lines[0]).strip()


def check(ingot, folder):
    record = {}
    library = f"/tmp/wide_zoo_{os.getpid()}.so"
    status, said, seconds = call([ingot, "compile", f"{folder}/model.pt2", "-o", library, "--threads", "1"])
    record["compile"] = {"status": status, "reason": reason(status, said), "seconds": seconds}
    if os.path.exists(library):
        os.remove(library)
    for way in WAYS:
        status, said, seconds = call([ingot, "check", "--suite", folder, "--" + way])
        record[way] = {"status": status, "reason": reason(status, said), "seconds": seconds}
    return record


def counts(results, what, pick):
    names = [n for n in results if pick(n)]
    passed = {way: sum(results[n][way]["status"] == 0 for n in names) for way in WAYS}
    print(f"{what:12} {len(names):4} programs, eager {passed['eager']:4}, compiled {passed['compiled']:4}")


def report(results):
    counts(results, "all", lambda n: True)
    counts(results, "static", lambda n: n.endswith(".static"))
    counts(results, "open sizes", lambda n: not n.endswith(".static"))
    for way in WAYS:
        causes = collections.defaultdict(list)
        for name, r in results.items():
            if r[way]["status"] != 0:
                causes[re.sub(r"-?\d[\d.]*(e-?\d+)?", "#", r[way]["reason"])[:80]].append(name)
        print(f"\n{way}: failures by cause" if causes else f"\n{way}: none failed")
        for names in sorted(causes.values(), key=len, reverse=True):
            print(f"{len(names):4}  {results[names[0]][way]['reason'][:400]}\n      {' '.join(names)}")
    times = sorted((r["compile"]["seconds"], n) for n, r in results.items() if r["compile"]["status"] == 0)
    if times:
        print(f"\ncompile time: median {statistics.median(t for t, _ in times):.2f} s, max {times[-1][0]:.2f} s")
        for t, n in times[-5:][::-1]:
            print(f"{t:8.2f} s  {n}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("ingot")
    parser.add_argument("-o", "--output")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--only", default="*")
    given = parser.parse_args()
    path = given.output or f"{given.folder}/results.json"
    results = json.load(open(path)) if os.path.exists(path) else {}
    with open(given.ingot, "rb") as f:
        build = hashlib.file_digest(f, "sha256").hexdigest()[:12]
    names = sorted(n for n in os.listdir(given.folder) if os.path.exists(f"{given.folder}/{n}/case0.safetensors") and fnmatch.fnmatch(n, given.only))
    for name in names:
        old = results.get(name)
        if old and not given.again and old["build"] == build and all(old[w]["status"] == 0 for w in WAYS):
            continue
        results[name] = r = check(given.ingot, f"{given.folder}/{name}") | {"build": build}
        print(f"{name:44}", *(f"{w} {'ok' if r[w]['status'] == 0 else 'FAILED'}" for w in WAYS), f"compile {r['compile']['seconds']:.2f} s", flush=True)
        json.dump(results, open(path, "w"), indent=1)
    shown = {n: results[n] for n in names}
    report(shown)
    return any(r[w]["status"] != 0 for r in shown.values() for w in WAYS)


if __name__ == "__main__":
    sys.exit(main())
