/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What other programs have measured, as a table: fio's JSON and its text, flashbench, and the
 * measurements of flashemu-lab.  It is shown as it was measured; `flashemu-lab import` and `fit` make
 * a profile of it.
 *
 * readMeasured(text) returns {title, columns, rows, unread}, or null if the text is none of these.
 * A row is [name, number...], a column {name, unit}; the first column of numbers gets bars.  `unread`
 * counts results that could not be read, and jobs that failed.
 */
"use strict";

const UNITS = {"": 1, k: 1e3, m: 1e6, g: 1e9, ki: 2 ** 10, mi: 2 ** 20, gi: 2 ** 30};
const TIMES = {n: 1, ns: 1, us: 1e3, "µs": 1e3, "μs": 1e3, ms: 1e6, s: 1e9};
const RATE = {name: "rate", unit: "MB/s"}, IOPS = {name: "requests a second"};

/* "4.5K", "12.3M": a number of flashbench and fio; NaN if it is none. */
function number(text, units = UNITS) {
  const found = /^(-?[\d.]+)\s*([A-Za-zµμ]*)$/.exec(text.trim());
  const unit = found && units[found[2].toLowerCase()];
  return unit ? Number(found[1]) * unit : NaN;
}

function fioJson(o) {
  const rows = [];
  let unread = 0;
  for (const job of o.jobs ?? o.client_stats) {
    if (job.error) {
      unread++;
      continue;
    }
    for (const kind of ["read", "write", "trim"]) {
      const r = job[kind];
      if (!r || !(r.total_ios > 0 || r.iops > 0)) continue;
      /* Version 2 has KiB a second, microseconds and no bw_bytes. */
      const old = r.clat_ns === undefined, lat = old ? r.clat : r.clat_ns, scale = old ? 1e3 : 1;
      const p99 = lat?.percentile?.["99.000000"];
      const rate = r.bw_bytes ?? r.bw * 1024;
      if (!Number.isFinite(rate)) { unread++; continue; }
      rows.push([`${job.jobname ?? "job"}: ${kind}`, rate / 1e6, r.iops,
        lat?.mean === undefined ? NaN : lat.mean * scale / 1e6,
        p99 === undefined ? NaN : p99 * scale / 1e6]);
    }
  }
  return rows.length + unread === 0 ? null : {title: `What ${o["fio version"]} has measured`, unread,
    columns: [RATE, IOPS, {name: "mean latency", unit: "ms"}, {name: "99 % below", unit: "ms"}], rows};
}

function measurement(o) {
  const rows = o.points.map(p => {
    const sorted = [...p.values].sort((a, b) => a - b), middle = sorted[sorted.length >> 1];
    const words = Object.entries(p.parameters).map(([k, v]) => `${k}=${
      typeof v === "number" && v >= 1024 && v % 512 === 0 ? sizeText(v) : v}`);
    const row = [`${p.procedure} ${words.join(" ")}`, NaN, NaN];
    row[p.unit === "bytes/s" ? 1 : 2] = middle / 1e6;
    return row;
  });
  return {title: `The measurement of ${o.device?.name ?? "a device"}`, rows, unread: 0,
    columns: [RATE, {name: "time", unit: "ms"}]};
}

function flashbenchAlign(lines) {
  const rows = [];
  let unread = 0;
  for (const line of lines.filter(l => /\balign \d+\s+pre /.test(l))) {
    const found = /align (\d+)\s+pre (\S+)\s+on (\S+)\s+post (\S+)/.exec(line) || [];
    const [pre, on, post] = found.slice(2).map(t => number(t, TIMES));
    if (Number.isFinite(pre + on + post))
      rows.push([sizeText(Number(found[1])), (on - (pre + post) / 2) / 1e3, on / 1e3,
        (pre + post) / 2e3]);
    else unread++;
  }
  return rows.length + unread === 0 ? null : {title: "Reads across multiples of a size, by flashbench -a",
    rows, unread, columns: [{name: "longer across", unit: "µs"}, {name: "across", unit: "µs"},
      {name: "beside", unit: "µs"}]};
}

/* Lines "4MiB  5.9M/s  8.8M/s": one rate for flashbench -O, several for -f. */
function flashbenchRates(lines) {
  const rows = [];
  let unread = 0, most = 0;
  for (const line of lines) {
    const found = /^[>\s]*([\d.]+(?:[KMG]iB|B))\s+((?:[\d.]+[KMG]?\/s\s*)+)$/.exec(line);
    if (!found) continue;
    const rates = found[2].trim().split(/\s+/).map(t => number(t.replace("/s", "")) / 1e6);
    if (rates.some(r => !Number.isFinite(r))) { unread++; continue; }
    most = Math.max(most, rates.length);
    rows.push([found[1], ...rates]);
  }
  const columns = Array.from({length: most}, (_, i) => ({...RATE, name: most > 1 ? `unit ${i}` : "rate"}));
  return rows.length + unread === 0 ? null
    : {title: "Writes by the size of a request, by flashbench", rows, unread, columns};
}

/* fio's text: "write: IOPS=256, BW=16.0MiB/s (16.8MB/s)", and before version 3
 * "write: io=491520KB, bw=16384KB/s, iops=256". */
function fioText(lines) {
  const rows = [];
  let job = "job", unread = 0;
  for (const line of lines) {
    const head = /^[>\s]*(\S+): \(groupid=/.exec(line);
    if (head) job = head[1];
    const kind = /^[>\s]*(read|write|trim)\s*:\s+(?:IOPS=|io=)/.exec(line)?.[1];
    if (!kind) continue;
    const iops = number(/iops=\s*([\d.]+[kM]?)/i.exec(line)?.[1] ?? "");
    const now = /\(([\d.]+)([kMG]?)B\/s\)/.exec(line), old = /bw=\s*([\d.]+)([KMG]?)B\/s/.exec(line);
    const rate = now ? number(now[1] + now[2]) : old ? number(old[1] + (old[2] && old[2] + "i")) : NaN;
    if (Number.isFinite(rate)) rows.push([`${job}: ${kind}`, rate / 1e6, iops]);
    else unread++;
  }
  return rows.length + unread === 0 ? null : {title: "What fio has measured", rows, unread,
    columns: [RATE, IOPS]};
}

function readMeasured(text) {
  const brace = text.indexOf("{");
  if (brace >= 0 && brace < 4096) {
    try {
      const o = JSON.parse(text.slice(brace, text.lastIndexOf("}") + 1));
      if (o.format === "flashemu-measurement") return measurement(o);
      if (Array.isArray(o.jobs ?? o.client_stats) && o["fio version"]) return fioJson(o);
    } catch { /* it is no JSON; perhaps it is one of the others */ }
  }
  const lines = text.split(/\r?\n/);
  return flashbenchAlign(lines) || fioText(lines) || flashbenchRates(lines);
}
