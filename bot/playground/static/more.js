/* "More to try", below the five steps: what else this build of the bot offers. */

import { el } from "./dom.js";

const RUN = "/run restart the api and tell me if it is healthy";
const IN_THREAD = "@Countersign restart the api";

function newestRoot(state, channel) {
  return (state.messages[channel] ?? [])
    .filter((one) => !one.thread_ts || one.thread_ts === one.ts).at(-1);
}

/** What may be tried now; `doing` has a function for each kind of thing to do. */
export function more(state, doing) {
  const runs = state.commands.some(({ command }) => command === "/run");
  const ops = state.channels.find((channel) => channel.name === "ops");
  const root = ops && newestRoot(state, ops.id);
  const found = [];
  if (runs) found.push({ name: RUN, run: () => doing.fillIn(RUN) });
  if (runs && root) {
    found.push({
      name: "@Countersign in a thread",
      run: () => doing.fillInThread({ channel: ops.id, ts: root.ts }, IN_THREAD),
    });
  }
  if (runs) {
    found.push({ name: "The Home tab", run: () => doing.openHome() });
    found.push({ name: "“Deny, say why” on a card that waits" });
  }
  found.push({ name: "The wire panel", run: () => doing.openWire() });
  return found;
}

export function moreLine(list) {
  return el("div", { class: "more" },
    el("h3", {}, "More to try"),
    el("ul", {}, ...list.map(({ name, run }) => el("li", {}, run
      ? el("button", { type: "button", class: "link", "data-key": `more ${name}`, click: run }, name)
      : name))));
}
