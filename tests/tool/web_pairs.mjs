// SPDX-License-Identifier: BSD-3-Clause
//
// Replays pairs of a profile and a recording on the core for WebAssembly.
//
//     node web_pairs.mjs TREE/tools/web/core.js core.wasm RECORDINGS < PAIRS
//
// A line of PAIRS is a profile, a blank and the rest of `rec:`.  For each one a line of JSON comes
// out, with numbers as the core has printed them: {"stats": ...} or {"error": "..."}.
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";

const [script, wasm, folder] = process.argv.slice(2);
const {Core} = new Function(fs.readFileSync(script, "utf8") + "\nreturn {Core};")();
const core = await Core.load(fs.readFileSync(wasm));
const kept = new Set();

// All files of a recording, one for each limit of a host.
function keep(name) {
  for (const limit of ["", "64K", "120K", "512K"]) {
    const file = path.join(limit, name + ".trace.gz"), at = path.join(folder, file);
    if (!kept.has(file) && fs.existsSync(at))
      core.keep("/recordings/" + file, zlib.gunzipSync(fs.readFileSync(at)));
    kept.add(file);
  }
}

for (const line of fs.readFileSync(0, "utf8").split("\n").filter(l => l)) {
  const [profile, recording] = line.split(" ");
  keep(recording.split(",")[0]);
  try {
    core.create([profile]);
    console.log('{"stats": %s}', core.text("web_replay", "rec:" + recording, 1, 0));
  } catch (e) {
    console.log(JSON.stringify({error: e.message}));
  }
}
