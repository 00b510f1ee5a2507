/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The chip alive: a picture of all blocks, a story of the last request, and the switch of the power.
 * The worker does the requests and sends the state of the blocks; map.js draws them.
 */
"use strict";

const PACES = [["one a second", 1, 1000], ["five a second", 1, 200], ["30 a second", 1, 33],
  ["500 a second", 17, 33], ["as fast as it goes", 100000, 33]];
const WORKS = [
  ["random writes of 4 KiB", "gen:random,op=write,bs=4K,count=10M"],
  ["writes of 4 KiB in order", "gen:sequential,op=write,bs=4K,count=10M"],
  ["writes of 4 KiB in order, half a page aside", "gen:sequential,op=write,bs=4K,offset=2K,count=10M"],
  ["nine of ten writes to a tenth of the blocks", "gen:hotcold,op=write,bs=4K,count=10M"],
];

class Chip {
  #chip = null;       /* what the worker has said of the device */
  #state = null;      /* four numbers for each block */
  #touched = {read: [], program: [], erase: []};
  #step = null;
  #playing = false;
  #busy = false;

  constructor(session, ask) {
    this.session = session;
    this.ask = ask;
    const lessons = session.table.lessons;
    $("chip-device").append(
      make("optgroup", {label: "Small, to look at"},
        ...lessons.map(l => make("option", {value: l.name}, l.label))),
      make("optgroup", {label: "Whole"}, make("option", {value: ""}, "the device of the question")));
    $("chip-work").append(...WORKS.map(([label, trace]) => make("option", {value: trace}, label)),
      make("option", {value: "", disabled: true}, "the work of the question"));
    $("chip-device").value = "units.ini";
    $("chip-device").onchange = () => {
      const whole = $("chip-device").value === "";
      const work = [...$("chip-work").options].at(-1);
      work.disabled = !whole;
      if (!whole && work.selected) $("chip-work").selectedIndex = 0;
      this.begin();
    };
    $("chip-work").onchange = $("chip-again").onclick = () => this.begin();
    $("chip-play").onclick = () => this.#play(!this.#playing);
    $("chip-step").onclick = () => this.#once();
    $("chip-cut").onclick = () => this.#cut();
    $("chip-on").onclick = () => this.#powerOn();
    $("chip-speed").oninput = () => this.#showPace();
    $("scene").onsubmit = e => e.preventDefault();
    $("tab-chip").addEventListener("click", () => this.show());
    $("tab-chip").addEventListener("focus", () => this.show());
    for (const event of ["resize", "change"])
      (event === "resize" ? window : matchMedia("(prefers-color-scheme: dark)"))
        .addEventListener(event, () => this.#look());
    this.#showPace();
  }

  show() {
    if (!this.#chip) this.begin();
    this.#look();
  }

  #look() {
    drawLegend($("chip-legend"));
    this.#draw();
  }

  #showPace() {
    const [label] = PACES[$("chip-speed").value];
    $("chip-pace").textContent = label;
    $("chip-speed").setAttribute("aria-valuetext", label);
  }

  /* A job of the worker; what is wrong becomes the status.  A question, or a file, takes the device
   * of the emulator; then the chip begins anew. */
  async #run(job, content, handlers) {
    let lost = false;
    this.#busy = true;
    try {
      const whole = await this.session.run(job, content, {...handlers, lost: () => { lost = true; }});
      if (!lost) return whole;
      await this.begin();
      $("chip-status").textContent = "The emulator had another device meanwhile: the chip begins anew.";
      return false;
    } catch (e) {
      $("chip-status").textContent = e.message;
      this.#play(false);
      return false;
    } finally {
      this.#busy = false;
    }
  }

  /* Whoever waits for the emulator asks again at once before the next job: others wait as well. */
  #pause() {
    return new Promise(resolve => setTimeout(resolve, 10));
  }

  /* A new device, and a new stream of requests. */
  async begin() {
    this.#play(false);
    const lesson = this.session.table.lessons.find(l => l.name === $("chip-device").value);
    const q = this.ask.question;
    const phase = this.session.table.work.find(w => w.name === q.work).phase;
    const words = [lesson ? "lesson/" + lesson.name : q.profile]; /* somebody's own may have its name */
    const trace = $("chip-work").value || `rec:${q.format}-${q.work},start=2048,measure=${phase}`;
    if (lesson) this.session.keep(words[0], new TextEncoder().encode(lesson.text));
    this.#chip = {};
    $("chip-status").textContent = "";
    const good = await this.#run("chipBegin", {words, trace}, {chip: m => {
      this.#chip = m;
      this.#take(m, {});
    }});
    if (!good) this.#chip = null;
    this.#power(true);
    $("chip-story").replaceChildren(make("p", {}, `${this.#chip?.blocks ?? 0} blocks of ${
      this.#chip?.pages ?? 0} pages of ${sizeText(this.#chip?.device?.page ?? 0)}.`));
  }

  #take({state, work, step}, touched) {
    this.#state = state;
    this.#touched = {read: [], program: [], erase: [], ...touched};
    if (step) this.#step = step;
    if (work) this.#counts(work);
    this.#draw();
  }

  #counts(work) {
    const rows = [["requests", work.requests], ["written", sizeText(work.bytes)],
      ["flash for each byte", work.bytes ? digits(work.programmed / work.bytes) : "–"],
      ["blocks erased", work.erased], ["collections", work.collections], ["merges", work.merges]];
    $("chip-counts").replaceChildren(...rows.map(([name, value]) =>
      make("div", {}, make("dt", {}, name), make("dd", {},
        typeof value === "number" ? whole(value) : value))));
  }

  async #steps(many, most, told) {
    if (this.#busy || !this.#state) return;
    await this.#run("chipStep", {count: many, most}, {steps: m => {
      this.#take(m, m.touched);
      if (m.step && told) $("chip-story").replaceChildren(...tell(m.step, this.#chip.device.page));
      if (m.step && !m.step.power) this.#power(false);
      if (m.ended) {
        $("chip-status").textContent = "That was the last request.";
        this.#play(false);
      }
    }});
  }

  /* Each click counts, also one that comes before the emulator has answered to the last one. */
  async #once() {
    this.#play(false);
    while (this.#busy) await this.#pause();
    await this.#steps(1, 1000, true);
  }

  #play(on) {
    if (on === this.#playing) return;
    this.#playing = on;
    $("chip-play").textContent = on ? "Pause" : "Play";
    if (on) this.#loop();
  }

  async #loop() {
    while (this.#playing) {
      const [, many, ms] = PACES[$("chip-speed").value];
      /* A screen reader, and an eye, can follow a story a second. */
      await this.#steps(many, ms, ms >= 200);
      await new Promise(resolve => setTimeout(resolve, ms));
    }
    if (this.#step && this.#chip?.device)
      $("chip-story").replaceChildren(...tell(this.#step, this.#chip.device.page));
  }

  #power(on) {
    $("chip-cut").disabled = !on;
    $("chip-on").disabled = on;
    $("chip-play").disabled = $("chip-step").disabled = !on;
  }

  /* In the middle of the last request, where it hurts. */
  async #cut() {
    this.#play(false);
    while (this.#busy) await this.#pause();
    const s = this.#step, at = s ? Math.floor((s.arrival + s.done) / 2) : 0;
    const good = await this.#run("chipCut", {at}, {cut: m => this.#take(m, {})});
    if (!good) return;
    this.#power(false);
    $("chip-story").replaceChildren(make("p", {class: "answer"}, make("b", {}, "Power has failed. "),
      "The controller has forgotten its mapping. What was being programmed is torn, what had not "
      + "begun never happened, and the pages keep the rest."));
  }

  async #powerOn() {
    const good = await this.#run("chipOn", {}, {on: m => {
      this.#take(m, {read: [], program: m.ops.filter(o => o.kind === "program").map(o => o.block),
        erase: m.ops.filter(o => o.kind === "erase").map(o => o.block)});
      const lines = groups(m.ops).map(groupText), shown = lines.slice(0, 8);
      if (lines.length > 8 || m.left_out) shown.push("And so on.");
      $("chip-story").replaceChildren(
        make("p", {class: "answer"}, make("b", {}, `Power is back, and the device is ready after ${
          timeText(m.ready - m.now)}. `), "It has read what the pages say of themselves and taken the "
          + "newest readable copy of each."),
        make("ol", {}, ...shown.map(line => make("li", {}, line))));
    }});
    if (good) this.#power(true);
  }

  /* --- the picture --- */

  #draw() {
    const canvas = $("chip-map"), width = canvas.clientWidth;
    if (!this.#state || width === 0) return;
    const n = this.#state.length / 4, pages = this.#chip.pages, paint = paintAt(canvas);
    const cell = [44, 30, 20, 14, 10, 7, 5, 4].find(c => Math.ceil(n / Math.floor(width / c)) * c < 420)
      || 3;
    const columns = Math.floor(width / cell), height = Math.ceil(n / columns) * cell + 4;
    const side = cell - (cell > SHAPED ? 4 : 1), g = canvasContext(canvas, width, height);
    canvas.style.height = height + "px";
    const place = b => [b % columns * cell + 2, Math.floor(b / columns) * cell + 2];
    for (let b = 0; b < n; b++)
      drawBlock(g, paint, place(b), side, {programmed: this.#state[4 * b] / pages,
        valid: this.#state[4 * b + 1] / pages, state: this.#state[4 * b + 3]});
    for (const kind of ["erase", "read", "program"])
      for (const b of this.#touched[kind]) drawTouch(g, paint, place(b), side, kind);
    canvas.setAttribute("aria-label", this.#inWords(n, pages));
  }

  #inWords(n, pages) {
    const kinds = {erased: 0, open: 0, full: 0, spare: 0, bad: 0};
    for (let b = 0; b < n; b++) {
      const programmed = this.#state[4 * b], state = this.#state[4 * b + 3];
      kinds[state >= BAD ? "bad" : state === SPARE ? "spare" : programmed === 0 ? "erased"
        : programmed < pages ? "open" : "full"]++;
    }
    return `${n} blocks of the chip: ${Object.entries(kinds).filter(([, k]) => k)
      .map(([name, k]) => `${k} ${name}`).join(", ")}`;
  }
}
