/* The wire panel: every request and answer between the app and this Slack, newest
   first, with what was wrong in it. It reads the log only while it is open. */

import { arrange, el, fill } from "./dom.js";
import { jsonNode } from "./json.js";
import { post, read } from "./server.js";

const SHOWN_MORE = 100;
const LOOK_MS = 1000;
const OPEN = ["request", "payload", "args", "answer"];

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The command that sends a request to the app once more. */
export function curl({ url, headers, body }) {
  const lines = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  return ["curl -sS -X POST", quoted(url), ...lines, `--data-raw ${quoted(body)}`].join(" \\\n  ");
}

function isPending(entry) {
  return entry.ms === null;
}

/** A frame of a socket that nobody answers, such as its hello. */
function isFrame(entry) {
  return !isPending(entry) && entry.status === null && entry.answer === null
    && entry.problems.length === 0;
}

function wentWrong(entry) {
  if (isPending(entry) || isFrame(entry)) return false;
  return entry.problems.length > 0 || !(entry.status >= 200 && entry.status < 300);
}

function statusOf(entry) {
  if (isPending(entry)) return "…";
  return isFrame(entry) ? "" : String(entry.status ?? "no answer");
}

function copyButton(entry) {
  const { url, headers, body } = entry.request ?? {};
  // What goes over a socket of the app's own cannot be sent by anybody else.
  const posted = entry.to === "app" && /^https?:/.test(url) && typeof body === "string";
  if (!posted) return null;
  const command = curl({ url, headers: headers ?? {}, body });
  const said = el("span", { class: "soft", role: "status" });
  const copy = async (event) => {
    try {
      await navigator.clipboard.writeText(command);
      said.textContent = "Copied";
    } catch {
      // Without a clipboard the command is shown, to be copied by hand.
      said.textContent = "";
      event.target.after(el("pre", { tabindex: "0", "aria-label": "curl command" }, command));
      event.target.nextSibling.focus();
    }
  };
  return el("p", { class: "copy" },
    el("button", { type: "button", class: "button small", click: copy }, "Copy as curl"), " ", said);
}

function opened(entry) {
  const answer = entry.answer === "" ? "(empty)" : entry.answer;
  return [
    copyButton(entry),
    jsonNode(entry.request, "request", OPEN),
    isPending(entry) ? el("p", { class: "soft" }, "No answer yet.") : null,
    isPending(entry) || isFrame(entry) ? null : jsonNode(answer, "answer", OPEN),
  ].filter(Boolean);
}

/** What a delivery is about, where its kind alone does not say it. */
function about({ request }) {
  const payload = request?.payload ?? {};
  if (payload.event) return payload.event.type;
  if (payload.command) return `${payload.command} ${payload.text ?? ""}`;
  return payload.actions?.[0]?.action_id ?? payload.view?.callback_id ?? "";
}

function line(entry) {
  const toApp = entry.to === "app";
  const way = toApp ? "→ app" : "→ Slack";
  const took = isPending(entry) || isFrame(entry) ? "" : `${Math.round(entry.ms)} ms`;
  return el("summary", {},
    el("span", { class: "wire-line" },
      el("span", { class: toApp ? "way to-app" : "way" }, way),
      el("span", { class: "wire-kind" }, el("b", {}, entry.kind), " ",
        el("span", { class: "soft" }, about(entry))),
      el("span", { class: "soft wire-ms" }, took),
      el("span", { class: wentWrong(entry) ? "wire-status wrong" : "wire-status" }, statusOf(entry))));
}

function item(entry, wasOpen) {
  const node = el("li", { class: wentWrong(entry) ? "wire-entry wrong" : "wire-entry" });
  const details = el("details", {}, line(entry));
  const make = () => {
    if (details.open && details.children.length === 1) details.append(...opened(entry));
  };
  details.addEventListener("toggle", make);
  if (wasOpen) {
    details.open = true;
    make();
  }
  node.append(details, ...entry.problems.map((words) => el("p", { class: "failed" }, words)));
  return node;
}

export class Wire {
  constructor(node) {
    this.entries = new Map();
    this.nodes = new Map();
    this.shown = SHOWN_MORE;
    this.open = false;
    this.reading = false;
    this.empty = el("p", { class: "empty soft" }, "Nothing went over the wire yet.");
    this.list = el("ol", { class: "wire-list", "aria-label": "Requests, newest first" });
    this.older = el("button", {
      type: "button", class: "link", hidden: true,
      click: () => { this.shown += SHOWN_MORE; this.draw(); },
    }, "Show older ones");
    this.sockets = el("span", {});
    this.socketLine = el("p", { class: "socket-line", hidden: true }, this.sockets,
      el("button", {
        type: "button", class: "button small", click: () => this.refresh(),
      }, "Ask it to reconnect"));
    this.trouble = el("p", { class: "failed", role: "alert", hidden: true });
    fill(node, this.socketLine, this.trouble, this.empty, this.list, this.older);
    // Calls that change nothing in the workspace bring no new state.
    setInterval(() => this.look(), LOOK_MS);
  }

  show(open, state) {
    const count = state.socket?.connections;
    this.socketLine.hidden = count === undefined;
    this.sockets.textContent = `Socket Mode · ${count} ${count === 1 ? "connection" : "connections"}`;
    if (open === this.open) return;
    this.open = open;
    this.look();
  }

  /** Slack asks an app now and then to connect anew; here whenever one likes. */
  async refresh() {
    const answer = await post("/ui/socket", { do: "refresh" });
    this.trouble.hidden = answer.ok;
    this.trouble.textContent = answer.ok ? "" : answer.error;
    this.look();
  }

  /** Reads what is new, and again what had no answer at the last look. */
  async look() {
    if (!this.open || this.reading || document.hidden) return;
    this.reading = true;
    const kept = [...this.entries.values()];
    const pending = kept.slice(-SHOWN_MORE).find(isPending);
    const since = pending ? pending.n - 1 : kept.at(-1)?.n ?? 0;
    const entries = await read(`/ui/log?since=${since}`);
    this.reading = false;
    for (const entry of entries ?? []) this.entries.set(entry.n, entry);
    if (entries?.length || !kept.length) this.draw();
  }

  draw() {
    const newest = [...this.entries.values()].reverse();
    this.empty.hidden = newest.length > 0;
    this.older.hidden = newest.length <= this.shown;
    const nodes = newest.slice(0, this.shown).map((entry) => this.nodeOf(entry));
    arrange(this.list, nodes);
  }

  nodeOf(entry) {
    const old = this.nodes.get(entry.n);
    if (old && old.pending === isPending(entry)) return old.node;
    const wasOpen = old?.node.querySelector("details").open ?? false;
    const node = item(entry, wasOpen);
    this.nodes.set(entry.n, { node, pending: isPending(entry) });
    return node;
  }
}
