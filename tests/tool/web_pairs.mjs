// SPDX-License-Identifier: BSD-3-Clause
//
// Replays traces on devices of the core for WebAssembly.
//
//     node web_pairs.mjs TREE/tools/web/core.js core.wasm RECORDINGS < TASKS
//
// A line of TASKS is JSON: [WORDS, TRACE], a profile with its KEY=VALUE and what is replayed; without
// a trace the profile is shown.  For each one a line of JSON comes out, with numbers as the core has
// printed them: {"stats": ...}, {"profile": "..."} or {"error": "..."}.
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

function answer(words, trace) {
  core.create(words);
  if (trace) return `{"stats": ${core.text("web_replay", trace, 1, 0)}}`;
  return JSON.stringify({profile: core.show()});
}

for (const line of fs.readFileSync(0, "utf8").split("\n").filter(l => l)) {
  const [words, trace] = JSON.parse(line);
  if (words[0].endsWith(".ini")) core.keep(words[0], fs.readFileSync(words[0]));
  if (trace?.startsWith("rec:")) keep(trace.slice(4).split(",")[0]);
  try {
    console.log(answer(words, trace));
  } catch (e) {
    console.log(JSON.stringify({error: e.message}));
  }
}
