/* The modal of the person acting: the uppermost view of their stack as a dialog over
   the workspace. The bar at the top stays usable, since it belongs to the playground:
   one may turn to another person, or kill the bot, while a form is open. */

import { el, fill } from "./dom.js";
import { focusFirstError } from "./fields.js";
import { plainText } from "./texts.js";
import { ViewBody } from "./viewbody.js";

const FOCUSABLE = "a[href], button, input:not(:disabled), select, textarea, summary, "
  + "[tabindex]:not([tabindex='-1'])";

export class Modal {
  constructor(veil, behind) {
    this.veil = veil;
    this.behind = behind;
    this.form = null;
    this.cameFrom = null;
    this.errors = null;
    this.build();
  }

  build() {
    this.back = el("button", {
      type: "button", class: "plain back", "aria-label": "Go back to the view before",
      title: "Go back", click: () => this.form.close(),
    }, "←");
    this.title = el("h2", { id: "modal-title" });
    this.cross = el("button", {
      type: "button", class: "plain", "aria-label": "Close dialog", title: "Close",
      click: () => this.root.close(),
    }, "✕");
    const holder = el("div", { class: "modal-body body" });
    this.body = new ViewBody(holder);
    this.trouble = el("p", { class: "failed modal-trouble", role: "alert", hidden: true });
    this.cancel = el("button", {
      type: "button", class: "button", click: () => this.form.close(),
    });
    this.submit = el("button", { type: "submit", class: "button primary" });
    this.box = el("form", {
      class: "modal", role: "dialog", "aria-modal": "true", "aria-labelledby": "modal-title",
      novalidate: true, tabindex: "-1",
      submit: (event) => { event.preventDefault(); this.send(); },
      keydown: (event) => this.key(event),
    },
    el("header", {}, this.back, this.title, this.cross),
    holder, this.trouble, el("footer", {}, this.cancel, this.submit));
    fill(this.veil, this.box);
  }

  get open() {
    return this.form !== null;
  }

  /** Shows a person's stack of views, bottom first; an empty one closes the dialog. */
  show(stack, forms, names) {
    const top = stack.at(-1);
    const form = top ? forms.of(top) : null;
    if (form && !this.form) this.cameFrom = document.activeElement;
    const turned = form !== this.form;
    const closed = this.form !== null && !form;
    this.form = form;
    this.root = stack.length ? forms.of(stack[0]) : null;
    this.veil.hidden = !form;
    this.behind.inert = Boolean(form);
    if (closed) this.giveBack();
    if (!form) return;
    this.draw(form, stack.length > 1, names);
    if (turned) this.enter(form);
    else if (form.errors.size && form.errors !== this.errors) focusFirstError(this.body.node);
    this.errors = form.errors;
  }

  draw(form, deeper, names) {
    const { view } = form;
    this.back.hidden = !deeper;
    this.title.textContent = plainText(view.title);
    this.cancel.textContent = plainText(view.close) || "Cancel";
    this.submit.hidden = !view.submit;
    const label = plainText(view.submit) || "Submit";
    if (this.submit.firstChild?.textContent !== label) fill(this.submit, label);
    this.drawBusy(form.busy);
    this.trouble.hidden = !form.trouble;
    if (this.trouble.textContent !== form.trouble) this.trouble.textContent = form.trouble;
    this.body.show(form, names);
  }

  drawBusy(busy) {
    const spinner = this.submit.querySelector(".spinner");
    if (busy && !spinner) this.submit.append(el("span", { class: "spinner", "aria-hidden": "true" }));
    else if (!busy) spinner?.remove();
    for (const name of ["aria-busy", "aria-disabled"]) {
      if (busy) this.submit.setAttribute(name, "true");
      else this.submit.removeAttribute(name);
    }
  }

  /** The focus goes where the view wants it, else to the first thing to fill in. */
  enter(form) {
    const { node } = this.body;
    node.scrollTop = 0;
    const wanted = form.inputs().find(({ element }) => element.focus_on_load);
    const holder = wanted
      ? node.querySelector(`[data-block="${CSS.escape(wanted.block_id)}"]`) : node;
    const first = holder?.querySelector("input:not(:disabled), select, textarea");
    const last = form.view.submit ? this.submit : this.cancel;
    (first ?? node.querySelector("button") ?? last).focus();
  }

  /** The focus goes back to what opened the dialog, or to what stands in its place. */
  giveBack() {
    const from = this.cameFrom;
    this.cameFrom = null;
    const now = document.activeElement;
    if (now && now !== document.body && !this.veil.contains(now)) return;
    const place = from?.isConnected && from !== document.body ? from : this.successor(from);
    (place ?? document.getElementById("log")).focus({ preventScroll: true });
  }

  /** The control that was drawn anew in the place of one that is gone. */
  successor(lost) {
    const ts = lost?.closest("article")?.dataset.ts;
    const key = lost?.dataset.key;
    const holder = ts
      ? this.behind.querySelector(`article[data-ts="${CSS.escape(ts)}"]`) : this.behind;
    return (key && holder?.querySelector(`[data-key="${CSS.escape(key)}"]`)) || (ts && holder);
  }

  send() {
    if (this.form.view.submit) this.form.submit();
  }

  key(event) {
    if (event.key !== "Tab") return;
    const stops = [...this.box.querySelectorAll(FOCUSABLE)]
      .filter((node) => node.getClientRects().length > 0);
    const [first, last] = [stops[0], stops.at(-1)];
    const edge = event.shiftKey ? first : last;
    if (document.activeElement === edge || document.activeElement === this.box) {
      event.preventDefault();
      (event.shiftKey ? last : first).focus();
    }
  }
}
