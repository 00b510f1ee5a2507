/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One request in words: what the controller did for it, in the order in which it did it, and what
 * each step cost.
 */
"use strict";

const count = (n, one, many = one + "s") => `${whole(n)} ${n === 1 ? one : many}`;

/* "block 3", "blocks 3 and 5", "blocks 3, 5 and 6", "7 blocks". */
function blocksText(blocks) {
  const list = [...new Set(blocks)].sort((a, b) => a - b);
  if (list.length > 4) return `${list.length} blocks`;
  if (list.length === 1) return `block ${list[0]}`;
  return `blocks ${list.slice(0, -1).join(", ")} and ${list.at(-1)}`;
}

/* Operations that belong together: reads and the programs behind them that go to one block; erases
 * in a row; what the controller does by itself. */
function groups(ops) {
  const found = [];
  let reads = [];
  const last = () => found.at(-1);
  const add = (kind, op) => {
    if (last()?.kind === kind && (kind !== "fill" || last().to === op.block)) last().ops.push(op);
    else found.push({kind, to: op.block, reads: [], ops: [op]});
  };
  for (const op of ops) {
    if (op.kind === "read") {
      reads.push(op);
    } else if (op.kind === "program") {
      add("fill", op);
      last().reads.push(...reads);
      reads = [];
    } else {
      if (reads.length) found.push({kind: "read", reads, ops: []});
      reads = [];
      add(op.kind, op);
    }
  }
  if (reads.length) found.push({kind: "read", reads, ops: []});
  return found;
}

function groupText({kind, to, reads, ops}) {
  const all = [...reads, ...ops];
  const cost = timeText(Math.max(...all.map(o => o.end)) - Math.min(...all.map(o => o.start)));
  const from = blocksText(reads.map(o => o.block));
  switch (kind) {
  case "read": return `Read ${count(reads.length, "page")} of ${from}: ${cost}.`;
  case "erase": return `Erase ${blocksText(ops.map(o => o.block))}, where only old copies are left: ${
    cost}.`;
  case "fill":
    return reads.length === 0 ? `Program ${count(ops.length, "page")} in block ${to}: ${cost}.`
      : `Read ${count(reads.length, "page")} of ${from} and program ${count(ops.length, "page")} in block ${
        to}: ${cost}.`;
  default: return `The controller itself is busy: ${cost}.`;
  }
}

/* Why it took so long, of what the device counts. */
function reasons(step) {
  const found = [];
  if (step.full) found.push(`${count(step.full, "full merge")}: `
      + "the newest copies of a whole unit were brought together elsewhere.");
  if (step.partial) found.push(`${count(step.partial, "partial merge")}: `
      + "only what was missing of a unit was copied.");
  if (step.switched) found.push(`${count(step.switched, "switch", "switches")}: `
      + "a log block became the unit, and nothing was copied.");
  if (step.collections) found.push(`${count(step.collections, "collection")}: `
      + "a block with few valid pages was emptied to make room.");
  return found;
}

/* The story of a step, as elements. */
function tell(step, page) {
  const names = {write: "Write", read: "Read", trim: "Trim", flush: "Flush"};
  const head = step.type === "flush" ? "Flush"
    : `${names[step.type]} of ${sizeText(step.length)} at ${sizeText(step.offset)}`;
  const written = step.programmed / page, asked = step.length / page;
  const cost = step.type !== "write" ? "" : written > 0
    ? ` The chip programmed ${count(written, "page")} for ${whole(asked)} that ${
      asked === 1 ? "was" : "were"} written.`
    : " Nothing was programmed yet: the data wait in the controller.";
  const lines = groups(step.ops).map(groupText);
  const shown = lines.slice(0, 12), more = lines.length - shown.length;
  if (more > 0 || step.left_out) shown.push(`And ${count(more, "step")} more of this kind${
    step.left_out ? `, with ${count(step.left_out, "operation")} that are not listed` : ""}.`);
  return [make("p", {class: "answer"}, make("b", {}, `${head}: ${timeText(step.done - step.arrival)}.`),
    cost, ...(step.power ? [] : [" Power failed before it was done."])),
  make("ol", {}, ...shown.map(line => make("li", {}, line))),
  ...reasons(step).map(line => make("p", {}, line))];
}
