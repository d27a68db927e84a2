// Time an ONNX model with ONNX Runtime (npm onnxruntime-node) and check it against a golden case.
//   node ort.mjs MODEL.onnx CASE.safetensors [threads=1] [seconds=3]
// Prints one JSON line: median/min milliseconds, session-creation time, peak RSS, largest absolute
// difference from out.*.
// Set-up: npm install --ignore-scripts onnxruntime-node@1.30.0   (in the folder this is run from)
import { createRequire } from "node:module";
import fs from "node:fs";
const require = createRequire(process.cwd() + "/");
const ort = require("onnxruntime-node");
const [model, golden, threads = "1", seconds = "3"] = process.argv.slice(2);

function readSafetensors(path) {
  const raw = fs.readFileSync(path), n = Number(raw.readBigUInt64LE(0));
  const head = JSON.parse(raw.subarray(8, 8 + n).toString()), out = {};
  const make = { F32: Float32Array, I64: BigInt64Array, I32: Int32Array, F64: Float64Array, U8: Uint8Array, BOOL: Uint8Array };
  for (const [name, t] of Object.entries(head)) {
    if (name === "__metadata__") continue;
    const bytes = raw.subarray(8 + n + t.data_offsets[0], 8 + n + t.data_offsets[1]);
    const copy = new Uint8Array(bytes).buffer;
    out[name] = { type: { F32: "float32", I64: "int64", I32: "int32", F64: "float64", U8: "uint8", BOOL: "bool" }[t.dtype], dims: t.shape, data: new make[t.dtype](copy) };
  }
  return out;
}
const t0 = performance.now();
const session = await ort.InferenceSession.create(model, { intraOpNumThreads: +threads, interOpNumThreads: 1, executionProviders: ["cpu"], logSeverityLevel: 3 });
const create_ms = performance.now() - t0;
const g = readSafetensors(golden), feeds = {};
session.inputNames.forEach((name, i) => { const x = g[`in.${i}`]; feeds[name] = new ort.Tensor(x.type, x.data, x.dims); });
let result = await session.run(feeds), maxdiff = 0;
session.outputNames.forEach((name, i) => {
  const want = g[`out.${i}`]; if (!want) return;
  for (let k = 0; k < want.data.length; ++k) maxdiff = Math.max(maxdiff, Math.abs(Number(result[name].data[k]) - Number(want.data[k])));
});
const times = [], end = performance.now() + 1000 * +seconds;
for (let k = 0; k < 5; ++k) await session.run(feeds);
while (performance.now() < end || times.length < 10) { const a = performance.now(); await session.run(feeds); times.push(performance.now() - a); }
times.sort((a, b) => a - b);
console.log(JSON.stringify({ peer: "onnxruntime-node", model, threads: +threads, runs: times.length, median_ms: +times[times.length >> 1].toFixed(4), min_ms: +times[0].toFixed(4), create_ms: +create_ms.toFixed(2), maxdiff, peak_rss_mb: +(process.resourceUsage().maxRSS / 1024).toFixed(0) }));
