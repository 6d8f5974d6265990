/* Tabs over panels: one is open, arrow keys move between them, and Tab leaves them. */

import { el, fill } from "./dom.js";

/** `tabs` are {id, name, panel}; `open` is the id of the open one. */
export function drawTabs(node, { tabs, open, choose }) {
  const ids = tabs.map(({ id }) => id);
  const drawn = [...node.children].map((tab) => tab.dataset.tab).join();
  if (drawn !== ids.join()) {
    fill(node, ...tabs.map(({ id, name, panel }) => el("button", {
      type: "button", role: "tab", class: "tab", id: `tab-${id}`, "data-tab": id,
      "aria-controls": panel,
    }, name)));
  }
  for (const tab of node.children) {
    const chosen = tab.dataset.tab === open;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    tab.onclick = () => choose(tab.dataset.tab);
  }
  node.onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = ids[(ids.indexOf(open) + step + ids.length) % ids.length];
    choose(next);
    node.querySelector(`[data-tab="${next}"]`)?.focus();
  };
}
