/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The picture of the blocks, and its legend, whose samples are drawn like the blocks themselves.
 * What a block is shows by its shape as well, for whoever cannot tell the colours: old copies are
 * hatched, a spare has a dot, a bad one a cross, and what was read has a dashed frame.
 */
"use strict";

/* What a block is, by the number that the emulator gives it. */
const USED = 0, SPARE = 1, BAD = 2;
const COLOURS = ["paper", "edge", "free", "valid", "stale", "gone", "spare", "flash", "mark", "open"];
const SHAPED = 10; /* pixels of a side, from which on there is room for shapes */
const KEYS = [
  ["erased pages", {programmed: 0, valid: 0, state: USED}],
  ["pages with the newest copy", {programmed: 1, valid: 1, state: USED}],
  ["old copies", {programmed: 1, valid: 0, state: USED}],
  ["spare blocks", {state: SPARE}],
  ["bad blocks", {state: BAD}],
  ["written just now", {programmed: 0, valid: 0, state: USED}, "program"],
  ["read just now", {programmed: 0, valid: 0, state: USED}, "read"],
  ["erased just now", {programmed: 0, valid: 0, state: USED}, "erase"],
];

/* The colours of the page, by their names, as they are where an element is. */
function paintAt(element) {
  const style = getComputedStyle(element);
  return Object.fromEntries(COLOURS.map(c => [c, style.getPropertyValue("--" + c)]));
}

/* Lines of 45 degrees through a box. */
function hatch(g, colour, x, y, width, height) {
  if (height <= 0) return;
  g.save();
  g.beginPath();
  g.rect(x, y, width, height);
  g.clip();
  g.strokeStyle = colour;
  g.lineWidth = 1.5;
  g.beginPath();
  for (let at = -height; at < width; at += 6) {
    g.moveTo(x + at, y + height);
    g.lineTo(x + at + height, y);
  }
  g.stroke();
  g.restore();
}

/* A block: {programmed, valid, state}, of which the first two are shares of its pages.  It fills
 * from below. */
function drawBlock(g, paint, [x, y], side, {programmed, valid, state}) {
  const shaped = side >= SHAPED;
  g.fillStyle = state >= BAD ? paint.gone : state === SPARE ? paint.spare : paint.free;
  g.fillRect(x, y, side, side);
  if (state === USED) {
    const full = side * Math.min(programmed, 1), good = side * Math.min(valid, 1);
    g.fillStyle = paint.stale;
    g.fillRect(x, y + side - full, side, full);
    if (shaped) hatch(g, paint.paper, x, y + side - full, side, full - good);
    g.fillStyle = paint.valid;
    g.fillRect(x, y + side - good, side, good);
  }
  if (!shaped) return;
  g.lineWidth = 2;
  g.strokeStyle = g.fillStyle = paint.paper;
  g.beginPath();
  if (state === SPARE) {
    g.arc(x + side / 2, y + side / 2, side / 6, 0, 2 * Math.PI);
    g.fill();
  } else if (state >= BAD) {
    for (const [from, to] of [[0, side], [side, 0]]) {
      g.moveTo(x + from, y);
      g.lineTo(x + to, y + side);
    }
    g.stroke();
  }
  g.lineWidth = 1;
  g.strokeStyle = paint.edge;
  g.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
}

/* What has just been done to a block: read, program or erase. */
function drawTouch(g, paint, [x, y], side, kind) {
  if (kind === "erase") {
    g.fillStyle = paint.flash;
    g.fillRect(x + side / 4, y + side / 4, side / 2, side / 2);
    return;
  }
  const shaped = side >= SHAPED;
  g.lineWidth = shaped ? 3 : 1;
  g.strokeStyle = kind === "read" ? paint.mark : paint.open;
  if (kind === "read" && shaped) g.setLineDash([side / 4, side / 6]);
  g.strokeRect(x, y, side, side);
  g.setLineDash([]);
}

/* A context of a canvas of so many CSS pixels, sharp on any screen. */
function canvasContext(canvas, width, height) {
  const scale = devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const g = canvas.getContext("2d");
  g.scale(scale, scale);
  return g;
}

/* Fills a list with what the signs of the picture mean. */
function drawLegend(list) {
  list.replaceChildren(...KEYS.map(([words]) => make("li", {}, make("canvas", {"aria-hidden": "true"}),
    words)));
  KEYS.forEach(([, block, touch], i) => {
    const g = canvasContext(list.children[i].firstChild, 20, 20), paint = paintAt(list);
    drawBlock(g, paint, [2, 2], 16, block);
    if (touch) drawTouch(g, paint, [2, 2], 16, touch);
  });
}
