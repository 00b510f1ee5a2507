/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The emulator's core for JavaScript: makes an instance of core.wasm and turns its functions into
 * those of an object.  The same file runs in the page's worker and in Node.
 *
 * core.wasm wants a host by the rules of WASI.  There is none, so nearly every call answers "no
 * such file"; the environment is empty, and the clock is this machine's.
 */
"use strict";

const WASI_EBADF = 8, WASI_ENOSYS = 52;

/* A failed call: what is wrong is the user's to mend, and the message is a sentence. */
class CoreError extends Error {}

class Core {
  /* bytes: of core.wasm.  progress(p): called now and then during a replay; p has share (null if
   * unknown), records, seconds, read, written and programmed. */
  static async load(bytes, progress = () => {}) {
    const core = new Core();
    const {instance} = await WebAssembly.instantiate(bytes, {
      env: {progress: (share, records, ns, read, written, programmed) => progress(
        {share: share < 0 ? null : share, records, seconds: ns / 1e9, read, written, programmed})},
      wasi_snapshot_preview1: core.#host(),
    });
    core.raw = instance.exports;
    core.raw._initialize();
    return core;
  }

  #host() {
    const number = (at, value) => new DataView(this.raw.memory.buffer).setUint32(at, value, true);
    const calls = {
      environ_get: () => 0,
      environ_sizes_get: (count, size) => { number(count, 0); number(size, 0); return 0; },
      clock_time_get: (clock, precision, at) => {
        const ns = BigInt(Math.round(performance.now() * 1e6));
        new DataView(this.raw.memory.buffer).setBigUint64(at, ns, true);
        return 0;
      },
      fd_write: (fd, list, n, written) => { /* a failed assertion says where */
        const view = new DataView(this.raw.memory.buffer);
        let text = "", bytes = 0;
        for (let i = 0; i < n; i++) {
          const at = view.getUint32(list + 8 * i, true), len = view.getUint32(list + 8 * i + 4, true);
          text += new TextDecoder().decode(new Uint8Array(this.raw.memory.buffer, at, len));
          bytes += len;
        }
        console.error(text);
        number(written, bytes);
        return 0;
      },
      fd_prestat_get: () => WASI_EBADF,
      proc_exit: code => { throw new Error("the emulator has ended with " + code); },
    };
    return new Proxy(calls, {get: (known, name) => known[name] || (() => WASI_ENOSYS)});
  }

  /* Bytes, or a text with a NUL, in the emulator's memory. */
  #put(content) {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content + "\0") : content;
    const at = this.raw.web_alloc(bytes.length);
    if (at === 0) throw new CoreError("There is not enough memory in this browser.");
    new Uint8Array(this.raw.memory.buffer, at, bytes.length).set(bytes);
    return at;
  }

  /* What the last call has answered, as text. */
  #answer() {
    const bytes = new Uint8Array(this.raw.memory.buffer), at = this.raw.web_answer();
    return new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, at)));
  }

  /* Calls a function, whose parameters are numbers or texts.  Returns its answer as text. */
  text(name, ...args) {
    const texts = args.map(a => typeof a === "string" ? this.#put(a) : 0);
    const code = this.raw[name](...args.map((a, i) => typeof a === "string" ? texts[i] : a));
    texts.filter(at => at).forEach(at => this.raw.web_free(at));
    const text = this.#answer();
    if (code < 0) throw new CoreError(text);
    return text;
  }

  /* Keeps a file: bytes, which the emulator copies. */
  keep(name, bytes) {
    const path = this.#put(name), code = this.raw.web_keep(path, this.#put(bytes), bytes.length);
    this.raw.web_free(path);
    if (code < 0) throw new CoreError(this.#answer());
  }

  profiles() {
    return JSON.parse(this.text("web_profiles"));
  }

  /* Makes a device.  words: the profile and its KEY=VALUE.  Returns its description. */
  create(words, {cuts = false} = {}) {
    return JSON.parse(this.text("web_create", words.join("\n"), cuts ? 1 : 0));
  }

  /* The profile of the device in its canonical form. */
  show() {
    return this.text("web_show");
  }

  /* Runs a trace (a kept file, gen:... or rec:...) on the device; returns its statistics. */
  replay(trace, {depth = 1, foreign = false} = {}) {
    return JSON.parse(this.text("web_replay", trace, depth, foreign ? 1 : 0));
  }

  /* Looks at the device request by request.  Returns how many blocks and pages of each it has. */
  chipBegin(trace) {
    return JSON.parse(this.text("web_chip_begin", trace));
  }

  /* The next request with what it brings about; null behind the last one. */
  chipStep() {
    return JSON.parse(this.text("web_chip_step"));
  }

  /* Four numbers for each block: pages programmed, pages valid, erases, state (see chip.js). */
  chipBlocks(count) {
    const at = this.raw.web_chip_blocks();
    if (at === 0) throw new CoreError("There is not enough memory in this browser.");
    return new Uint32Array(this.raw.memory.buffer, at, 4 * count).slice();
  }

  chipCut(atNs) {
    return JSON.parse(this.text("web_chip_cut", atNs));
  }

  chipPowerOn() {
    return JSON.parse(this.text("web_chip_power_on"));
  }
}
