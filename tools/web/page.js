/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The page: its tabs, and the parts behind them.
 */
"use strict";

const tabs = [...document.querySelectorAll("[role=tab]")];

function open(tab) {
  for (const t of tabs) {
    t.setAttribute("aria-selected", t === tab);
    t.tabIndex = t === tab ? 0 : -1;
    $(t.getAttribute("aria-controls")).hidden = t !== tab;
  }
}

for (const [i, tab] of tabs.entries()) {
  tab.onclick = () => open(tab);
  tab.onkeydown = e => {
    const next = {ArrowRight: tabs[(i + 1) % tabs.length], ArrowLeft: tabs.at(i - 1), Home: tabs[0],
      End: tabs.at(-1)}[e.key];
    if (!next) return;
    e.preventDefault();
    open(next);
    next.focus();
  };
}

async function begin() {
  const session = new Session(), ask = new Ask(session);
  new Chip(session, ask);
  new Drop(session, ask);
  try {
    ask.offer(await session.begin());
  } catch (e) {
    $("status").textContent = "This browser cannot run the emulator: " + e.message;
    return;
  }
  await ask.run();
}

begin();
