/* Everybody's phone: what its lock screen says and why it rang. A line is a link to
   the message as that person, so that it also opens in a second window. Below, the
   tool log: what really ran. */

import { clock, clockWithSeconds, fromLog, fromTs } from "./dates.js";
import { el, fill } from "./dom.js";
import { plain } from "./mrkdwn.js";
import { unreadNotifications } from "./reading.js";
import { addressOf } from "./server.js";

const WHY = {
  direct: "direct message",
  mentioned: "mentioned",
  thread: "follows the thread",
};

function line(person, note, fresh, view) {
  const { names } = view;
  const room = names.channel(note.channel, person);
  const why = `${WHY[note.why] ?? note.why} · ${room} · ${clock(fromTs(note.ts))}`;
  return el("li", {}, el("a", {
    href: addressOf(person, note.channel, note.ts),
    class: fresh ? "told fresh" : "told",
    "data-key": `${person}/${note.channel}/${note.ts}`,
    click: (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      view.open(person, note);
    },
  }, el("span", { class: "words" }, plain(note.text, names)),
  el("span", { class: "why" }, why)));
}

function phone(user, view) {
  const { state, names } = view;
  const notes = [...(state.notifications[user.id] ?? [])].reverse();
  const fresh = new Set(unreadNotifications(state, view.reading, user.id));
  const short = names.short(user.id);
  return el("section", {
    class: fresh.size ? "phone ringing" : "phone", "aria-label": `${short}'s phone`,
  },
  el("h3", {}, `${short}'s phone`,
    fresh.size ? el("span", { class: "count" }, String(fresh.size)) : null),
  notes.length
    ? el("ol", { class: "told-list" },
      ...notes.map((note) => line(user.id, note, fresh.has(note), view)))
    : el("p", { class: "empty soft" }, "Nothing on the lock screen"));
}

export function drawPhones(node, view) {
  const focused = node.contains(document.activeElement)
    ? document.activeElement.dataset.key : null;
  const tops = new Map([...node.querySelectorAll(".told-list")]
    .map((list) => [list.closest("section").getAttribute("aria-label"), list.scrollTop]));
  const people = view.names.people();
  const total = people.reduce(
    (sum, user) => sum + (view.state.notifications[user.id]?.length ?? 0), 0);
  fill(node,
    total ? null : el("p", { class: "empty" }, "Nobody was notified"),
    ...people.map((user) => phone(user, view)));
  for (const list of node.querySelectorAll(".told-list")) {
    list.scrollTop = tops.get(list.closest("section").getAttribute("aria-label")) ?? 0;
  }
  if (focused) node.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

function ran(entry) {
  const at = fromLog(entry.at);
  const call = Object.entries(entry.args ?? {})
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(" ");
  return el("li", {},
    el("code", {}, el("b", {}, entry.tool), call ? ` ${call}` : ""),
    at ? el("time", { class: "soft", datetime: at.toISOString() }, clockWithSeconds(at)) : null);
}

export function drawToolLog(node, entries) {
  fill(node,
    el("h2", {}, "Tool log", el("span", { class: "soft" }, " what really ran")),
    entries.length
      ? el("ol", {}, ...[...entries].reverse().map(ran))
      : el("p", { class: "empty soft" }, "Nothing ran yet"));
}
