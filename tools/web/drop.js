/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files that somebody brings: a trace is replayed on the device of the question, a measurement is
 * shown, and a profile joins the devices.
 */
"use strict";

const MOST_FILE = 256 * 2 ** 20, MOST_TEXT = 8 * 2 ** 20;

class Drop {
  #last = Promise.resolve();
  #replaying = false;

  constructor(session, ask) {
    this.session = session;
    this.ask = ask;
    $("file").onchange = () => { this.take($("file").files); $("file").value = ""; };
    $("drop-stop").onclick = () => session.stop();
    document.addEventListener("dragover", e => {
      e.preventDefault();
      $("zone").classList.add("over");
    });
    document.addEventListener("dragleave", () => $("zone").classList.remove("over"));
    document.addEventListener("drop", e => {
      e.preventDefault();
      $("zone").classList.remove("over");
      open($("tab-drop"));
      this.take(e.dataTransfer.files, e.dataTransfer.items);
    });
  }

  #say(text, bad = false) {
    $("drop-status").textContent = text;
    $("drop-status").className = bad ? "answer error" : "answer";
  }

  /* One file after the other; a new one ends the replay of the last one. */
  take(files, items = []) {
    const file = files[0], folder = [...items].find(i => i.webkitGetAsEntry?.()?.isDirectory);
    const wrong = !file ? "What was dropped is no file."
      : files.length > 1 ? `These are ${files.length} files. This page takes one at a time.`
        : folder ? `${file.name} is a folder. This page takes one of its files.` : "";
    if (this.#replaying) this.session.stop();
    this.#last = this.#last.then(() => {
      $("found").replaceChildren();
      return wrong ? this.#say(wrong, true) : this.#take(file);
    });
  }

  async #take(file) {
    if (file.size > MOST_FILE) {
      this.#say(`${file.name} has ${sizeText(file.size)}, and this page takes ${sizeText(MOST_FILE)} at `
        + `most. The program takes any size: flashemu replay ${$("profile").value} ${file.name}`, true);
      return;
    }
    if (file.size === 0) {
      this.#say(`${file.name} is empty.`, true);
      return;
    }
    try {
      const head = await file.slice(0, 65536).text();
      if (/\.ini$/i.test(file.name) || /^\s*\[(device|nand|ftl)\]/m.test(head)) await this.#profile(file);
      else if (file.size > MOST_TEXT || !this.#measured(file, await file.text())) await this.#trace(file);
    } catch (e) {
      const unknown = e.message.includes("known trace format");
      const whole = e.name === "NotReadableError" || e.name === "NotFoundError"
        ? `${file.name} cannot be read: ${e.message}` : e.message;
      const hint = file.size > MOST_TEXT
        ? `. Results of fio and flashbench have at most ${sizeText(MOST_TEXT)} here; flashemu-lab import `
          + "takes any size."
        : ". It is no result of fio or flashbench either; flashemu-lab import reads more of them.";
      this.#say(whole + (unknown ? hint : ""), true);
    }
  }

  /* Any name will do for a profile that has a right text. */
  async #profile(file) {
    const name = file.name.replace(/[^\w.-]/g, "_").replace(/(\.ini)?$/i, ".ini");
    await this.session.keep(name, new Uint8Array(await file.arrayBuffer()));
    let device;
    await this.session.run("describe", {profile: name}, {device: m => { device = m.device; }});
    this.ask.addProfile(name);
    this.#say(`${file.name} is a profile: ${device.model}, ${sizeText(device.capacity)}, with the strategy `
      + `${device.strategy}. It is now the device of the question.`);
  }

  #measured(file, text) {
    const m = readMeasured(text);
    if (!m) return false;
    const left = m.unread ? `Left out, because they failed or cannot be read: ${m.unread}. ` : "";
    this.#say(`${file.name}: ${m.title}. ${left}flashemu-lab import and fit make a device of it.`);
    $("found").append(this.#table(m));
    return true;
  }

  #table({title, columns, rows}) {
    const most = Math.max(...rows.map(r => r[1]).filter(Number.isFinite), 0) || 1;
    const cell = x => make("td", {class: "n"}, Number.isFinite(x) ? digits(x) : "–");
    const scroll = {class: "scroll", tabindex: 0, role: "region", "aria-label": title};
    return make("div", scroll, make("table", {}, make("caption", {}, title),
      make("thead", {}, make("tr", {}, make("th", {scope: "col"}, ""), ...columns.map(c =>
        make("th", {scope: "col", class: "n"}, c.unit ? `${c.name}, ${c.unit}` : c.name)))),
      make("tbody", {}, ...rows.map(([name, ...values]) => make("tr", {},
        make("th", {scope: "row"}, name, make("span", {class: "bar", "aria-hidden": "true",
          style: `width:${(100 * Math.max(values[0] || 0, 0) / most).toFixed(1)}%`})),
        ...values.map(cell))))));
  }

  async #trace(file) {
    const points = [];
    $("drop-progress").hidden = $("drop-stop").hidden = false;
    $("drop-progress").removeAttribute("value");
    this.#replaying = true;
    this.#say(`Replaying ${file.name} …`);
    try {
      const whole = await this.session.run("trace", {file, profile: $("profile").value}, {
        progress: m => {
          points.push(m);
          if (m.share !== null) $("drop-progress").value = m.share;
        },
        trace: m => this.#replayed(file, m, points),
      });
      if (!whole) this.#say("Stopped.");
    } finally {
      $("drop-progress").hidden = $("drop-stop").hidden = true;
      this.#replaying = false;
    }
  }

  #replayed(file, {stats, device}, points) {
    const busy = stats.busy_ns / 1e9, latency = stats.latency_ns;
    const moved = stats.host.read.bytes + stats.host.write.bytes;
    this.#say(`${file.name} has ${count(stats.records, "request")} and keeps the ${device.model} busy for ${
      timeText(stats.busy_ns)}: ${rateText(moved / busy / 1e6)}. The chip programs ${
      stats.ftl.waf === null ? "nothing" : `${digits(stats.ftl.waf)} bytes for each that is written`}.`
      + (stats.dropped_trims ? ` ${count(stats.dropped_trims, "trim")} left out: it takes none.` : "")
      + (stats.skipped ? ` ${count(stats.skipped, "event")} of the file ${stats.skipped === 1 ? "was" : "were"
      } no request to it.` : ""));
    const rows = ["read", "write", "flush"].filter(kind => stats.host[kind].ops > 0).map(kind => [kind,
      stats.host[kind].bytes / 1e6, stats.host[kind].ops,
      ...["mean", "p50", "p99", "p999", "max"].map(key => latency[kind][key] / 1e6)]);
    $("found").append(this.#table({title: `${file.name} on the ${device.model}`, rows, columns: [
      {name: "data", unit: "MB"}, {name: "requests"}, ...["mean", "half below", "99 % below",
        "99.9 % below", "longest"].map(name => ({name, unit: "ms"}))]}));
    const merges = stats.ftl.merges;
    $("found").append(make("p", {}, `${count(stats.ftl.gc_runs, "collection")}, ${
      count(merges.switch + merges.partial + merges.full, "merge")}, ${
      count(stats.nand.block_erases, "erased block")}.`));
    this.#figures(points);
  }

  /* How fast it was, and how much flash was written, in the course of the device's time. */
  #figures(all) {
    const points = [{seconds: 0, read: 0, written: 0, programmed: 0}, ...all.filter((p, i) =>
      i === all.length - 1 || i % Math.ceil(all.length / 300) === 0)];
    const rates = [], wafs = [];
    for (let i = 1; i < points.length; i++) {
      const [a, b] = [points[i - 1], points[i]], time = b.seconds - a.seconds;
      if (time <= 0) continue;
      for (const at of [a.seconds, b.seconds])
        rates.push([at, (b.read + b.written - a.read - a.written) / time / 1e6]);
      if (b.written > a.written) for (const at of [a.seconds, b.seconds])
        wafs.push([at, (b.programmed - a.programmed) / (b.written - a.written)]);
    }
    if (rates.length) $("found").append(lineFigure("How fast it is", rates, ["seconds", "MB/s"]));
    if (wafs.length) $("found").append(lineFigure("Flash written for each byte", wafs,
      ["seconds", "bytes of flash for each byte"]));
  }
}
