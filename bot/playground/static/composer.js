/* The box in which a person writes: Enter sends, Shift+Enter breaks the line, "/"
   completes commands and "@" completes names. What stands in it belongs to a
   person and a room, so drafts are kept outside, in a map that is handed in. */

import { el, fill } from "./dom.js";

const ROWS_MAX = 6;
let lists = 0;

export class Composer {
  constructor(holder, { drafts, send, commands, mentions }) {
    this.drafts = drafts;
    this.send = send;
    this.commands = commands;
    this.mentions = mentions;
    this.sent = new Map();
    this.offers = [];
    this.chosen = 0;
    lists += 1;
    this.build(holder, `offers-${lists}`);
  }

  build(holder, id) {
    this.list = el("ul", { class: "offers", id, role: "listbox", hidden: true });
    this.box = el("textarea", {
      rows: 1, autocomplete: "off", spellcheck: "false",
      "aria-autocomplete": "list", "aria-controls": id,
      input: () => this.typed(), keydown: (event) => this.key(event),
      blur: () => this.offer([]),
    });
    this.button = el("button", { type: "submit", class: "button primary" });
    this.note = el("p", { class: "note", role: "status" });
    const form = el("form", {
      class: "composer",
      submit: (event) => { event.preventDefault(); this.submit(); },
    }, this.list, this.box, this.button);
    fill(holder, form, this.note);
  }

  /** Turns to a room: `owner` whose history, `key` whose draft. */
  show({ owner, key, label, hint, action }) {
    this.box.setAttribute("aria-label", label);
    this.box.placeholder = hint;
    this.list.setAttribute("aria-label", "Suggestions");
    this.button.textContent = action;
    if (this.room === key) return;
    this.owner = owner;
    this.room = key;
    this.put(this.drafts.get(key) ?? "");
    this.say("");
  }

  put(text) {
    this.box.value = text;
    this.drafts.set(this.room, text);
    this.box.rows = Math.min(ROWS_MAX, text.split("\n").length);
    this.offer([]);
  }

  say(text, failed = false) {
    this.note.textContent = text;
    this.note.classList.toggle("failed", failed);
    this.note.setAttribute("role", failed ? "alert" : "status");
  }

  focus() {
    this.box.focus();
    this.box.setSelectionRange(this.box.value.length, this.box.value.length);
  }

  typed() {
    const { value } = this.box;
    this.drafts.set(this.room, value);
    this.box.rows = Math.min(ROWS_MAX, value.split("\n").length);
    this.say("");
    this.offer(this.fitting(value));
  }

  fitting(value) {
    const caret = this.box.selectionStart;
    if (/^\/\S*$/.test(value)) {
      const found = this.commands().filter(({ command }) => command.startsWith(value));
      return found.map(({ command, description, usage_hint: usage }) => ({
        words: command, about: usage || description || "", from: 0, text: `${command} `,
      }));
    }
    const at = value.startsWith("/") ? null : /(?:^|[\s(])@([^\s@]*)$/.exec(value.slice(0, caret));
    if (!at) return [];
    const start = caret - at[1].length - 1;
    return this.mentions()
      .filter(({ word }) => word.toLowerCase().startsWith(at[1].toLowerCase()))
      .map(({ word, about }) => ({
        words: `@${word}`, about, from: start, to: caret, text: `@${word} `,
      }));
  }

  offer(offers) {
    this.offers = offers;
    this.chosen = 0;
    this.list.hidden = offers.length === 0;
    fill(this.list, ...offers.map((offer, index) => el("li", {
      role: "option", id: `${this.list.id}-${index}`, "aria-selected": String(index === 0),
      // Before the box loses its focus and with it the list.
      mousedown: (event) => { event.preventDefault(); this.accept(index); },
    }, el("b", {}, offer.words), el("span", { class: "soft" }, ` ${offer.about}`))));
    this.mark();
  }

  mark() {
    [...this.list.children].forEach((item, index) =>
      item.setAttribute("aria-selected", String(index === this.chosen)));
    if (this.offers.length) {
      this.box.setAttribute("aria-activedescendant", `${this.list.id}-${this.chosen}`);
    } else this.box.removeAttribute("aria-activedescendant");
  }

  accept(index) {
    const { from, to, text } = this.offers[index];
    const { value } = this.box;
    this.put(value.slice(0, from) + text + value.slice(to ?? value.length));
    this.box.setSelectionRange(from + text.length, from + text.length);
  }

  key(event) {
    if (event.isComposing) return;
    if (this.offers.length && this.offerKey(event)) event.preventDefault();
    else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.submit();
    } else if (event.key === "ArrowUp" && this.box.value === "") {
      event.preventDefault();
      this.put(this.sent.get(this.owner) ?? "");
    }
  }

  offerKey({ key, shiftKey }) {
    const count = this.offers.length;
    if (key === "ArrowDown" || key === "ArrowUp") {
      this.chosen = (this.chosen + (key === "ArrowDown" ? 1 : count - 1)) % count;
      this.mark();
      return true;
    }
    if (key === "Escape") {
      this.offer([]);
      return true;
    }
    // A word that is already whole is sent by Enter, not completed once more.
    const whole = this.offers[this.chosen].words === this.box.value.trim();
    if ((key === "Enter" && !shiftKey && !whole) || key === "Tab") {
      this.accept(this.chosen);
      return true;
    }
    return false;
  }

  async submit() {
    const text = this.box.value.trim();
    if (!text) return;
    const room = this.room;
    this.sent.set(this.owner, text);
    this.put("");
    this.say(`Sending ${text.startsWith("/") ? text.split(/\s/)[0] : "…"}`);
    const problem = await this.send(text);
    if (this.room === room) {
      this.say(problem ?? "", Boolean(problem));
      if (problem && this.box.value === "") this.put(text);
    } else if (problem && !this.drafts.get(room)) this.drafts.set(room, text);
  }
}
