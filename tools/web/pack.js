/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the page carries, unpacked again; page.py says how it was packed.
 */
"use strict";

/* Bytes from base64 of bytes that zlib has compressed. */
async function inflate(base64) {
  const bytes = Uint8Array.from(atob(base64), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const WORDS = {r: "read", w: "write", t: "trim", F: "flush"};

/* The trace of a packed recording. */
function unpack(text) {
  let end = 0;
  return text.split("\n").map(line => {
    if (line === "" || line[0] === "#") return line;
    const [letter, length, distance = 0, fua] = line.split(" ");
    const offset = end + Number(distance);
    end = offset + Number(length);
    return `0 ${WORDS[letter]} ${offset} ${length}${fua ? " fua" : ""}`;
  }).join("\n");
}
