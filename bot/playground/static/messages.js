/* Messages as articles, and the list that keeps them. The list reuses the node of
   every message that did not change, so that focus, selection and the screen
   reader's place survive each new state. */

import { blockNodes } from "./blocks.js";
import { clock, dayName, fromTs } from "./dates.js";
import { arrange, el } from "./dom.js";
import { render } from "./mrkdwn.js";

const NEAR_END_PX = 80;

export function avatar(names, id) {
  const sign = names.isBot(id) ? "✓" : names.short(id).charAt(0);
  return el("span", { class: `avatar tone-${names.tone(id)}`, "aria-hidden": "true" }, sign);
}

function body(message, surface) {
  const blocks = message.blocks ?? [];
  if (blocks.length) return blockNodes(blocks, surface);
  return render(message.text ?? "", surface.names);
}

function repliesLine(message, surface) {
  const { count, last } = message.replies;
  if (!count) return null;
  return el("button", {
    type: "button", class: "replies", "data-key": "replies",
    click: () => surface.openThread(message),
  },
  `${count} ${count === 1 ? "reply" : "replies"}`,
  el("span", { class: "soft" }, ` last at ${clock(fromTs(last))}`));
}

function threadButton(message, surface) {
  if (message.ephemeral || !surface.openThread || message.replies?.count) return null;
  return el("button", {
    type: "button", class: "plain start-thread", "data-key": "thread",
    "aria-label": "Open thread", title: "Open thread",
    click: () => surface.openThread(message),
  });
}

function article(message, surface) {
  const { names } = surface;
  const moment = fromTs(message.ts);
  const author = names.user(message.user);
  const place = message.ephemeral ? "message only-you" : "message";
  return el("article", {
    class: place, tabindex: "-1", "data-ts": message.ts,
    "aria-label": `${author} at ${clock(moment)}`,
  },
  avatar(names, message.user),
  el("div", { class: "content" },
    message.ephemeral ? el("p", { class: "private" }, "Only visible to you") : null,
    el("p", { class: "meta" },
      el("bdi", { class: "author" }, author),
      names.isBot(message.user) ? el("span", { class: "badge" }, "app") : null,
      el("time", { class: "soft", datetime: moment.toISOString() }, clock(moment)),
      threadButton(message, surface)),
    el("div", { class: "body" },
      ...body(message, surface),
      message.edited ? el("span", { class: "soft edited" }, "(edited)") : null),
    message.replies ? repliesLine(message, surface) : null));
}

function divider(name) {
  return el("p", { class: "day" }, el("span", {}, name));
}

export class MessageList {
  constructor(log, scroll) {
    this.log = log;
    this.scroll = scroll;
    this.kept = new Map();
    this.place = null;
  }

  /** `messages` in order, each with what it looks like now; `place` names the room. */
  show(place, messages, surface) {
    const moved = place !== this.place;
    const atEnd = moved || this.nearEnd();
    const focus = this.focused();
    if (moved) this.kept.clear();
    this.place = place;
    arrange(this.log, this.nodes(messages, surface));
    this.refocus(focus);
    if (atEnd) this.scroll.scrollTop = this.scroll.scrollHeight;
  }

  nodes(messages, surface) {
    const kept = new Map();
    const nodes = [];
    let day = null;
    const keep = (key, signature, make) => {
      const old = this.kept.get(key);
      const entry = old?.signature === signature ? old : { signature, node: make() };
      kept.set(key, entry);
      nodes.push(entry.node);
    };
    for (const message of messages) {
      const name = dayName(fromTs(message.ts));
      if (name !== day) keep(`day ${name}`, name, () => divider(name));
      day = name;
      const signature = JSON.stringify([message, surface.marksOf(message), surface.version]);
      const here = surface.of(message);
      keep(message.key, signature, () => article(message, here));
    }
    this.kept = kept;
    return nodes.length ? nodes : [el("p", { class: "empty soft" }, surface.empty)];
  }

  nearEnd() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroll;
    return scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
  }

  focused() {
    const active = document.activeElement;
    const holder = active && this.log.contains(active) && active.closest("article");
    return holder ? { ts: holder.dataset.ts, key: active.dataset.key, active } : null;
  }

  refocus(focus) {
    if (!focus || focus.active.isConnected) return;
    const holder = this.find(focus.ts);
    const same = focus.key && holder?.querySelector(`[data-key="${CSS.escape(focus.key)}"]`);
    (same || holder || this.log).focus({ preventScroll: true });
  }

  find(ts) {
    return [...this.log.children].find((node) => node.dataset.ts === ts) ?? null;
  }

  /** Brings one message into view, as a click on a phone does. */
  reveal(ts) {
    const node = this.find(ts);
    if (!node) return;
    node.scrollIntoView({ block: "nearest" });
    node.focus({ preventScroll: true });
    node.classList.remove("found");
    requestAnimationFrame(() => node.classList.add("found"));
  }
}
