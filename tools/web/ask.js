/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The question: which device, what for, how formatted.  The worker sends a point for every start of
 * the partition and for every other format; the slider and the tables show what has come.
 */
"use strict";

const NO_DIFFERENCE = 0.05; /* a replay and a kernel differ by as much */

class Ask {
  #points = [];   /* of the starts, sorted */
  #formats = [];
  #best = null;
  #device = null;
  #running = false;

  constructor(session) {
    this.session = session;
    for (const work of session.table.work) $("work").append(make("option", {value: work.name},
      work.label));
    $("work").onchange = () => this.#offerFormats();
    this.#offerFormats();
    $("question").onsubmit = e => { e.preventDefault(); this.run(); };
    $("stop").onclick = () => session.stop();
    $("start").oninput = () => this.#showStart();
    $("copy").onclick = () => this.#copy();
  }

  /* Fills the list of devices; a dropped profile is added by its file's name. */
  offer(profiles) {
    const kinds = [["USB sticks", l => l.startsWith("usb")], ["SD cards", l => l.startsWith("sd-")],
      ["eMMC", l => l.startsWith("emmc")], ["For studies", () => true]];
    const left = new Set(profiles);
    for (const [label, is] of kinds) {
      const mine = [...left].filter(p => is(p.link));
      mine.forEach(p => left.delete(p));
      if (mine.length) $("profile").append(make("optgroup", {label},
        ...mine.map(p => make("option", {value: p.name}, p.model))));
    }
    $("profile").value = "transcend8g";
  }

  addProfile(name) {
    if (![...$("profile").options].some(o => o.value === name))
      $("profile").prepend(make("option", {value: name}, `your file ${name}`));
    $("profile").value = name;
  }

  #format(name) { return this.session.table.format.find(f => f.name === name); }

  #offerFormats() {
    const was = $("format").value;
    $("format").replaceChildren(...this.session.table.format
      .filter(f => f.works.includes($("work").value))
      .map(f => make("option", {value: f.name}, f.label)));
    $("format").value = [...$("format").options].some(o => o.value === was) ? was : "vfat";
    if (!$("format").value) $("format").selectedIndex = 0;
  }

  async run() {
    if (this.#running) await this.session.stop();
    this.#running = true;
    this.#points = [];
    this.#formats = [];
    this.#best = null;
    this.question = {profile: $("profile").value, work: $("work").value, format: $("format").value};
    $("answer").hidden = true;
    $("progress").hidden = $("stop").disabled = false;
    $("progress").value = 0;
    $("sentence").textContent = $("status").textContent = "";
    const began = performance.now();
    try {
      const whole = await this.session.run("answer", this.question, {
        device: m => { this.#device = m.device; },
        progress: m => this.#progress(m),
        point: m => this.#take(m),
        best: m => { this.#best = m.start; this.#choose(m.start); this.#say(); },
      });
      $("status").textContent = whole
        ? `Worked out in ${((performance.now() - began) / 1e3).toFixed(1)} s.` : "Stopped.";
    } catch (e) {
      $("status").textContent = e.message;
    }
    this.#running = false;
    $("progress").hidden = $("stop").disabled = true;
  }

  #progress({share, text}) {
    if (text === undefined) return; /* of one replay */
    $("progress").value = share;
    $("status").textContent = text;
  }

  #take({of, point}) {
    const list = of === "start" ? this.#points : this.#formats;
    list.push(point);
    list.sort(of === "start" ? (a, b) => a.start - b.start : (a, b) => b.rate - a.rate);
    $("answer").hidden = false;
    $("start").max = this.#points.length - 1;
    if (this.#best === null) this.#choose(point.start);
    else { this.#showStart(); this.#say(); }
  }

  #choose(start) {
    $("start").value = this.#points.findIndex(p => p.start === start);
    this.#showStart();
  }

  #now() { return this.#points[$("start").value]; }

  #showStart() {
    const p = this.#now();
    const words = [`${rateText(p.rate)}`, `${digits(p.waf)} bytes of flash for each byte of yours`];
    if (p.commit) words.push(`a sync takes ${timeText(p.commit.mean)}, one in 100 takes more than `
      + timeText(p.commit.p99));
    $("at").textContent = `${startText(p.start)}: ${words.join("; ")}.`;
    $("start").setAttribute("aria-valuetext", $("at").textContent);
    this.#table($("starts"), "start", this.#points, q => startText(q.start), q => q === p);
    const others = [...this.#formats, ...(this.#best === null ? []
      : this.#points.filter(q => q.start === this.#best))].sort((a, b) => b.rate - a.rate);
    this.#table($("formats"), "format", others, q => this.#format(q.format).label,
      q => q.format === this.question.format);
    this.#lines(p);
  }

  #table(table, what, points, name, isCurrent) {
    const rates = points.map(q => q.rate).filter(Number.isFinite), most = Math.max(...rates, 0) || 1;
    const head = make("thead", {}, make("tr", {}, ...[what, "MB/s", "flash written"].map(
      (word, i) => make("th", {scope: "col", class: i && "n"}, word))));
    const rows = points.map(q => make("tr", {"aria-current": isCurrent(q) ? "true" : undefined},
      make("th", {scope: "row"}, name(q), make("span", {class: "bar", "aria-hidden": "true",
        style: `width:${(100 * Math.min(q.rate / most, 1)).toFixed(1)}%`})),
      make("td", {class: "n"}, digits(q.rate)), make("td", {class: "n"}, digits(q.waf))));
    table.replaceChildren(table.caption, head, make("tbody", {}, ...rows));
  }

  /* The answer, as one tells it to a friend. */
  #say() {
    const best = this.#points.find(p => p.start === this.#best);
    const worst = this.#points.reduce((a, b) => b.rate < a.rate ? b : a);
    const option = $("profile").selectedOptions[0].textContent;
    const label = this.#format(this.question.format).label;
    const work = $("work").selectedOptions[0].textContent;
    const words = [`Start the partition at ${startText(best.start)}.`,
      `${work[0].toUpperCase()}${work.slice(1)} then runs at ${rateText(best.rate)} on the ${
      option} with ${label}.`];
    const loss = 1 - worst.rate / best.rate;
    words.push(loss >= NO_DIFFERENCE ? `At ${startText(worst.start)} it loses ${
      (100 * loss).toFixed(0)} % of that.` : "Other starts make no difference here.");
    const faster = this.#formats.reduce((a, b) => !a || b.rate > a.rate ? b : a, null);
    if (faster && faster.rate * (1 - NO_DIFFERENCE) > best.rate)
      words.push(`${this.#format(faster.format).label} is faster: ${rateText(faster.rate)}.`);
    else if (this.#formats.length) words.push("No other way to format it that was tried is "
      + `more than ${100 * NO_DIFFERENCE} % faster.`);
    $("sentence").textContent = words.join(" ");
  }

  #lines(p) {
    const f = this.#format(p.format), device = this.#device;
    const sectors = Math.floor((device.capacity - p.start * 512) / 2 ** 20) * 2048;
    /* mke2fs and mkntfs were forced to take a device without a partition table. */
    const mkfs = /^(mke2fs|mkntfs)/.test(f.mkfs) ? f.mkfs.replace(/ -F(?= |$)/, "") : f.mkfs;
    $("lines").textContent = [
      `printf 'label: dos\\nstart=${p.start}, size=${sectors}, type=${f.type}\\n' |`,
      "    sfdisk --wipe always /dev/sdX", `${mkfs} /dev/sdX1`, `${f.mount} /dev/sdX1 /mnt`,
      `# the same with the program: flashemu replay ${device.profile} ${p.trace}`].join("\n");
  }

  async #copy() {
    const text = $("lines").textContent;
    try {
      await navigator.clipboard.writeText(text);
      $("copy").textContent = "Copied";
    } catch {
      getSelection().selectAllChildren($("lines")); /* a page from a file may not write there */
      $("copy").textContent = document.execCommand("copy") ? "Copied" : "Selected: copy it by hand";
    }
  }
}
