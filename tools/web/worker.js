/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The worker: it has the emulator, and does one job after the other.  Whoever wants a job to stop
 * ends the worker and starts another one, so nothing in here has to look for a wish to stop.
 *
 *     page  --{job, ...}-->  worker
 *     page  <--{kind: "progress" | "point" | "done" | "error", ...}--  worker
 */
"use strict";

/* Where a partition may begin, in sectors: what old and new programs choose, and what lies between. */
const STARTS = [63, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768];
const SECTOR = 512;

let core, packed, table;
let chip = null; /* {blocks, pages, work}: the chip that is looked at, and what was done so far */
const unpacked = new Set();

const say = (kind, content = {}) => postMessage({kind, ...content});
const find = (list, name) => list.find(entry => entry.name === name);

/* Hands the emulator the recordings of a name, one for each limit of a host. */
function keepRecording(name) {
  if (unpacked.has(name)) return;
  for (const path in packed)
    if (path.replace(/^\d+K\//, "") === name + ".trace.gz")
      core.keep("/recordings/" + path, new TextEncoder().encode(unpack(packed[path])));
  unpacked.add(name);
}

/* There is one device, so a new one ends looking at the chip of another. */
function create(words, options) {
  chip = null;
  return core.create(words, options);
}

/* The starts that a partition of this format can have on a device of so many bytes. */
function possibleStarts(format, capacity) {
  const step = format.segment ? format.segment / SECTOR : 0;
  const starts = step ? [0, 1, 2, 4, 8].map(n => format.start + n * step) : STARTS;
  return starts.filter(start => (start + format.sectors) * SECTOR <= capacity);
}

/* One replay on a new device: what a page shows of it. */
function measure(profile, format, work, start) {
  const trace = `rec:${format.name}-${work.name},start=${start},measure=${work.phase}`;
  create([profile]);
  const s = core.replay(trace);
  const commits = s.latency_ns.commit;
  return {
    start, format: format.name, trace,
    rate: s.user_bytes / s.busy_ns * 1e3,                   /* MB/s of the user's files */
    waf: s.nand.bytes_programmed / s.user_bytes,            /* bytes of flash for each of them */
    erases: s.nand.block_erases,
    commit: commits.count ? {count: commits.count, mean: commits.mean, p99: commits.p99} : null,
  };
}

/* The best of several starts: of those that are as good, the one that programs choose today, or
 * else one above it.  Less than 5 % is no difference. */
function bestStart(points) {
  const rate = Math.max(...points.map(p => p.rate));
  const good = points.filter(p => p.rate >= 0.95 * rate);
  const order = [2048, 8192, 4096, 16384, 32768];
  return order.map(start => good.find(p => p.start === start)).find(p => p) || good.at(-1);
}

/* How fast a work is at every start, and then with every other format at the best one. */
function answer({profile, work: workName, format: formatName}) {
  const work = find(table.work, workName), format = find(table.format, formatName);
  const device = create([profile]);
  say("device", {device});
  const starts = possibleStarts(format, device.capacity);
  if (starts.length === 0)
    throw new CoreError(`The recordings have a partition of ${format.sectors * SECTOR >> 20} MiB, and `
      + `this device has ${(device.capacity / 2 ** 20).toFixed(0)} MiB.  Choose a larger device, or `
      + "look at its chip.");
  const others = table.format.filter(f => f.name !== formatName && f.works.includes(workName));
  const jobs = starts.length + others.length;
  let done = 0;
  const run = (of, form, start) => {
    say("progress", {share: done++ / jobs, text: `${form.label}, sector ${start}`});
    keepRecording(`${form.name}-${workName}`);
    const point = measure(profile, form, work, start);
    say("point", {of, point});
    return point;
  };
  /* The two that matter most come first. */
  const first = [2048, 63].filter(start => starts.includes(start));
  const order = [...first, ...starts.filter(start => !first.includes(start))];
  const best = bestStart(order.map(start => run("start", format, start)));
  say("best", {start: best.start});
  for (const form of others) {
    const fit = possibleStarts(form, device.capacity);
    const nearest = fit.sort((a, b) => Math.abs(a - best.start) - Math.abs(b - best.start))[0];
    if (nearest !== undefined) run("format", form, nearest);
  }
}

/* --- a trace that somebody has brought --- */

const MOST_BYTES = 2 ** 29; /* of a trace, decompressed */

/* The content of a file, decompressed if gzip has made it. */
async function contentOf(file) {
  const magic = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (!(magic[0] === 0x1f && magic[1] === 0x8b)) return new Uint8Array(await file.arrayBuffer());
  const reader = file.stream().pipeThrough(new DecompressionStream("gzip")).getReader(), parts = [];
  let bytes = 0;
  try {
    for (let part; !(part = await reader.read()).done;) {
      parts.push(part.value);
      bytes += part.value.length;
      if (bytes > MOST_BYTES) break;
    }
  } catch {
    throw new CoreError(`${file.name} is damaged: it cannot be decompressed to its end.`);
  }
  if (bytes > MOST_BYTES)
    throw new CoreError(`${file.name} has more than ${MOST_BYTES / 2 ** 20} MiB when decompressed, and this `
      + "page takes no more. The program takes any size: flashemu replay");
  const whole = new Uint8Array(bytes);
  parts.reduce((at, part) => { whole.set(part, at); return at + part.length; }, 0);
  return whole;
}

async function trace({file, profile}) {
  const bytes = await contentOf(file);
  const isRecording = /^# partition: /m.test(new TextDecoder().decode(bytes.subarray(0, 8192)));
  /* A recording's name ends at a comma, and some names are no files. */
  const name = isRecording ? "./" + file.name.replace(/,/g, "_")
    : file.name.replace(/^(gen:|rec:|-$)/, "./$1");
  core.keep(name, bytes);
  try {
    const device = create([profile]);
    const stats = core.replay(isRecording ? "rec:" + name : name, {foreign: true});
    say("trace", {stats, device});
  } finally {
    core.keep(name, new Uint8Array(0));
  }
}

/* --- the chip alive --- */

const NOTHING = {requests: 0, bytes: 0, programmed: 0, erased: 0, collections: 0, merges: 0};

function chipBegin({words, trace}) {
  if (trace.startsWith("rec:")) keepRecording(trace.slice(4).split(",")[0]);
  const device = create(words, {cuts: true});
  chip = {...core.chipBegin(trace), work: {...NOTHING}};
  say("chip", {device, ...chip, state: core.chipBlocks(chip.blocks)});
}

/* Up to count requests, or fewer if they have taken `most` ms.  The last one is told as a whole, of
 * the others only which blocks they touched. */
function chipStep({count, most}) {
  if (!chip) return say("lost");
  const began = performance.now(), touched = {read: new Set(), program: new Set(), erase: new Set()};
  let step = null, ended = false;
  for (let i = 0; i < count && !(i > 0 && performance.now() - began > most); i++) {
    const next = core.chipStep();
    ended = next === null;
    if (ended) break;
    step = next;
    chip.work.requests++;
    chip.work.bytes += step.type === "write" ? step.length : 0;
    chip.work.programmed += step.programmed;
    chip.work.collections += step.collections;
    chip.work.merges += step.switched + step.partial + step.full;
    for (const op of step.ops) {
      if (op.block >= 0) touched[op.kind]?.add(op.block);
      chip.work.erased += op.kind === "erase";
    }
  }
  say("steps", {step, ended, work: chip.work, state: core.chipBlocks(chip.blocks),
    touched: Object.fromEntries(Object.entries(touched).map(([kind, set]) => [kind, [...set]]))});
}

function chipCut({at}) {
  if (!chip) return say("lost");
  say("cut", {...core.chipCut(at), state: core.chipBlocks(chip.blocks)});
}

function chipOn() {
  if (!chip) return say("lost");
  const answer = core.chipPowerOn();
  say("on", {...answer, state: core.chipBlocks(chip.blocks)});
}

const JOBS = {
  trace, chipBegin, chipStep, chipCut, chipOn,
  async begin({wasm, recordings, table: chosen}) {
    core = await Core.load(await inflate(wasm), p => say("progress", p));
    packed = JSON.parse(new TextDecoder().decode(await inflate(recordings)));
    table = chosen;
    say("profiles", {profiles: core.profiles()});
  },
  answer,
  keep({name, bytes}) { core.keep(name, bytes); },
  describe({profile}) { say("device", {device: create([profile])}); },
};

/* Messages are dealt with in their order, also while a job waits. */
let last = Promise.resolve();
onmessage = ({data}) => {
  last = last.then(async () => {
    try {
      await JOBS[data.job](data);
      say("done", {id: data.id});
    } catch (e) {
      const text = e instanceof CoreError ? e.message
        : e instanceof WebAssembly.RuntimeError || e instanceof RangeError
          ? "The emulator has run out of memory, or has a mistake: " + e.message : e.message;
      say("error", {id: data.id, text});
    }
  });
};
