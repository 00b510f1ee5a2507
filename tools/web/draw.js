/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small helpers: elements, numbers as people read them, and one kind of picture.
 */
"use strict";

const $ = id => document.getElementById(id);

/* An element with attributes and children; texts become text. */
function make(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) e.setAttribute(key, value === true ? "" : value);
  e.append(...children);
  return e;
}

function drawn(tag, attributes = {}, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

/* Three digits: 12.3, 0.123, 1 230. */
function digits(x) {
  if (!Number.isFinite(x)) return "∞";
  if (x >= 999.5) return Math.round(x).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return x === 0 ? "0" : x.toPrecision(3);
}

/* A number of things: 3, 1 230, and only a part of one with its digits. */
const whole = n => Number.isInteger(n) ? String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f") : digits(n);

/* A ratio or rate and its unit; what takes no time has no rate. */
const rateText = rate => Number.isFinite(rate) ? `${digits(rate)} MB/s` : "no time at all";

function timeText(ns) {
  const units = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];
  const [unit, size] = units.find(([, n]) => ns >= n) || units[3];
  return `${digits(ns / size)} ${unit}`;
}

function sizeText(bytes) {
  const units = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10], ["bytes", 1]];
  const [unit, size] = units.find(([, n]) => bytes >= n) || units[3];
  return `${Number((bytes / size).toFixed(2))} ${unit}`;
}

const startText = start => `${sizeText(start * 512)} (sector ${start})`;

/* A line over an axis that begins at 0, as a picture with a sentence.
 * points: [[x, y], ...]; names: of the axes, with units. */
function lineFigure(title, points, names) {
  const W = 420, H = 200, left = 58, bottom = 38, top = 10, right = 12;
  const xs = points.map(p => p[0]), ys = points.map(p => p[1]);
  const mostX = Math.max(...xs) || 1, mostY = Math.max(...ys) * 1.05 || 1;
  const at = ([x, y]) => [left + (W - left - right) * x / mostX,
    H - bottom - (H - top - bottom) * y / mostY];
  const svg = drawn("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": title});
  for (const part of [0, 0.5, 1]) {
    const [x, y] = at([mostX * part, mostY * part]);
    svg.append(
      drawn("line", {class: "grid", x1: left, x2: W - right, y1: y, y2: y}),
      drawn("text", {x: left - 6, y: y + 4, "text-anchor": "end"}, digits(mostY * part)),
      drawn("text", {x, y: H - bottom + 16, "text-anchor": part === 1 ? "end" : part ? "middle"
        : "start"}, digits(mostX * part)));
  }
  svg.append(
    drawn("text", {x: W - right, y: H - 4, "text-anchor": "end"}, names[0]),
    drawn("text", {x: left, y: H - 4}, "upwards: " + names[1]),
    drawn("polyline", {class: "line", points: points.map(p => at(p).map(n => n.toFixed(1)).join())
      .join(" ")}));
  return make("figure", {}, make("figcaption", {}, title), svg);
}
