/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The page's side of the worker.  A job has callbacks for what the worker says while it runs; to
 * stop it, the worker is ended and another one begins with the files that the old one had.
 */
"use strict";

const dataOf = id => document.getElementById(id).textContent;

class Session {
  #worker = null;
  #jobs = new Map();
  #files = new Map();
  #next = 1;

  constructor() {
    this.table = JSON.parse(dataOf("table"));
  }

  /* Starts a worker.  Returns what the emulator says of its profiles. */
  async begin() {
    const url = URL.createObjectURL(new Blob([dataOf("worker")], {type: "text/javascript"}));
    this.#worker = new Worker(url);
    URL.revokeObjectURL(url);
    this.#worker.onmessage = ({data}) => this.#take(data);
    this.#worker.onerror = e => this.#take({kind: "error", id: [...this.#jobs.keys()][0],
      text: "The worker has failed: " + (e.message || "this browser starts none")});
    let profiles = [];
    const begun = this.#post("begin", {wasm: dataOf("core"), recordings: dataOf("recordings"),
      table: this.table}, {profiles: m => { profiles = m.profiles; }});
    for (const [name, bytes] of this.#files) this.#post("keep", {name, bytes}, {});
    await begun;
    return profiles;
  }

  /* Runs a job.  handlers: functions by the kind of a message.  Resolves when the job is over, to
   * false if it was stopped; rejects with the sentence that says why it failed. */
  run(job, content, handlers = {}) {
    return this.#post(job, content, handlers);
  }

  /* Keeps a file for all jobs to come. */
  keep(name, bytes) {
    this.#files.set(name, bytes);
    return this.#post("keep", {name, bytes}, {});
  }

  /* Ends what runs. */
  async stop() {
    this.#worker.terminate();
    const ended = [...this.#jobs.values()];
    this.#jobs.clear();
    await this.begin();
    ended.forEach(job => job.resolve(false));
  }

  #post(job, content, handlers) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#jobs.set(id, {handlers, resolve, reject});
      this.#worker.postMessage({job, id, ...content});
    });
  }

  /* Jobs run in order, so a message without a number belongs to the first one. */
  #take(message) {
    const id = message.id ?? this.#jobs.keys().next().value, job = this.#jobs.get(id);
    if (!job) return;
    if (message.kind === "done" || message.kind === "error") {
      this.#jobs.delete(id);
      if (message.kind === "done") job.resolve(true);
      else job.reject(new Error(message.text));
    } else {
      job.handlers[message.kind]?.(message);
    }
  }
}
