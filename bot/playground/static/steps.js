/* The strip "Try this": five steps that tick themselves off. What is done is read
   off the state; only that the bot was down at some time must be remembered,
   since a state tells the present alone. */

import { el, fill } from "./dom.js";
import { moreLine } from "./more.js";

const KEY = "countersign.playground.plug";
const ASK = "/tool restart service=api";
const OWN_TOOL = `@tool
async def greet(name: str, loudly: bool = False) -> str:
    """Greet somebody."""
    # Your own code goes here.
    words = f"Hello, {name}."
    if loudly:
        return words.upper()
    return words`;
const OWN_POLICY = `[[tool]]
name = "greet"
gate = "allow"`;

function blank() {
  return { seen: 0, downAt: null, plugged: false };
}

function restarts(state) {
  return state.tool_log.filter((entry) => entry.tool === "restart").length;
}

/** The memory after one more state; a log that shrank means a new start. */
export function remembered(memory, state) {
  const count = restarts(state);
  const known = count < memory.seen ? blank() : memory;
  const downAt = state.bot === "down" ? count : known.downAt;
  const again = state.bot === "up" && known.downAt !== null && count > known.downAt;
  return { seen: count, downAt, plugged: known.plugged || again };
}

function asked(state) {
  const texts = Object.values(state.notifications).flat().map((note) => note.text);
  return texts.some((text) => text.startsWith("Approve?")) || restarts(state) > 0;
}

function refused(state) {
  return Object.values(state.ephemeral).flat()
    .some((message) => /your yes does not count/i.test(JSON.stringify(message)));
}

function ownToolRan(state) {
  return Object.values(state.messages).flat().some((message) =>
    message.user === state.app.bot_user_id && /\bgreet\b/.test(JSON.stringify(message)));
}

function plugHint(state, memory) {
  if (state.bot === "down") {
    return "The bot is gone, Slack is not. Approve as Ben: the click fails, as it would "
      + "in Slack. Then press Start the bot.";
  }
  if (memory.downAt !== null) return "The bot is back. Approve as Ben: it runs, once.";
  return "Ask again as Ada, and press Kill the bot while the card waits.";
}

/** The five steps as they stand. */
export function steps(state, memory) {
  const count = restarts(state);
  return [
    {
      title: "Ask for it", done: asked(state), command: ASK,
      hint: "The command already stands in the box of #ops. Press Enter.",
    },
    {
      title: "Approve it yourself", done: refused(state),
      hint: "Press Approve on your own card. You are told, in private, why that does not count.",
    },
    {
      title: "Be Ben, approve", done: count > 0,
      hint: "Ben's phone rang. Click the line on it, then press Approve.",
    },
    {
      title: "Pull the plug", done: memory.plugged,
      command: memory.downAt === null ? ASK : null,
      hint: plugHint(state, memory),
    },
    {
      title: "Your own tool", done: ownToolRan(state), lines: true,
      hint: "A few lines, and it is yours: /tool greet name=Ben",
    },
  ];
}

function item(step, index, current) {
  const state = step.done ? "done" : index === current ? "current" : "open";
  return el("li", { class: state, "aria-current": state === "current" ? "step" : undefined },
    el("span", { class: "tick", "aria-hidden": "true" }, step.done ? "✓" : String(index + 1)),
    el("span", { class: "title" }, step.title),
    step.done ? el("span", { class: "unseen" }, ", done") : null);
}

function file(name, about, content) {
  return el("div", {},
    el("p", {}, el("b", {}, name), about),
    el("pre", { tabindex: "0", "aria-label": name }, content));
}

function lines() {
  const code = (text) => el("code", {}, text);
  return el("details", { class: "lines" },
    el("summary", {}, "Show the lines"),
    el("p", {}, "In an empty folder run ", code("countersign init"), ", add these lines to the "
      + "files that it wrote, and start ", code("countersign playground"), " there."),
    el("div", {},
      file("ops/tools.py", ", at the end", OWN_TOOL),
      file("policy.toml", ", at the end", OWN_POLICY)),
    el("p", {}, "With ", code('gate = "ask"'), ", ", code('approvers = ["@approvers"]'),
      " and ", code('post_to = "#ops"'), " it waits for Ben."));
}

export class Steps {
  constructor(node, fillIn) {
    this.node = node;
    this.fillIn = fillIn;
    this.open = !matchMedia("(max-width: 700px)").matches;
    this.memory = this.load();
    this.drawn = "";
  }

  load() {
    try {
      return { ...blank(), ...JSON.parse(sessionStorage.getItem(KEY)) };
    } catch {
      return blank();
    }
  }

  /** `more` is what else can be tried now, as more.js lists it. */
  draw(state, more) {
    this.more = more;
    this.memory = remembered(this.memory, state);
    try {
      sessionStorage.setItem(KEY, JSON.stringify(this.memory));
    } catch {
      // Without storage the fourth step is forgotten at reload, nothing more.
    }
    this.list = steps(state, this.memory);
    this.redraw();
  }

  redraw() {
    const now = JSON.stringify([this.list, this.more, this.open]);
    if (now === this.drawn) return;
    this.drawn = now;
    const focused = this.node.contains(document.activeElement)
      ? document.activeElement.dataset.key : null;
    const current = this.list.findIndex((step) => !step.done);
    fill(this.node, this.heading(current), ...(this.open ? this.body(current) : []));
    if (focused) this.node.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  heading(current) {
    const done = this.list.filter((step) => step.done).length;
    const next = this.open || current < 0 ? "" : `: ${this.list[current].title}`;
    return el("header", {},
      el("h2", {}, "Try this"),
      el("p", { class: "soft progress" }, `${done} of ${this.list.length} done${next}`),
      el("button", {
        type: "button", class: "link", "data-key": "toggle", "aria-expanded": String(this.open),
        click: () => { this.open = !this.open; this.redraw(); },
      }, this.open ? "Hide steps" : "Show steps"));
  }

  body(current) {
    const step = this.list[current];
    return [
      el("ol", {}, ...this.list.map((one, index) => item(one, index, current))),
      step
        ? el("div", { class: "hint" }, el("p", {}, step.hint),
          step.command ? el("button", {
            type: "button", class: "link", "data-key": "fill",
            click: () => this.fillIn(step.command),
          }, "Fill in the command") : null,
          step.lines ? lines() : null)
        : el("p", { class: "hint" }, "That was all of it."),
      moreLine(this.more),
    ];
  }
}
