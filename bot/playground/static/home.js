/* The Home tab of the app: the view that it published for the person acting. Looking
   at it tells the app, which may publish another one. */

import { failure } from "./blocks.js";
import { el, fill } from "./dom.js";
import { post } from "./server.js";
import { ViewBody } from "./viewbody.js";

export class Home {
  constructor(node, changed) {
    this.node = node;
    this.changed = changed;
    this.opening = new Set();
    this.troubles = new Map();
    this.holder = el("div", { class: "home-body body" });
    this.body = new ViewBody(this.holder);
    this.words = el("p", { class: "empty soft" });
    this.trouble = el("p", { class: "failed", role: "alert", hidden: true });
    fill(node, this.trouble, this.words, this.holder);
  }

  /** A person looks at the tab. */
  async look(person) {
    this.opening.add(person);
    this.troubles.delete(person);
    const answer = await post("/ui/open-home", { as: person });
    this.opening.delete(person);
    if (!answer.ok) this.troubles.set(person, failure(answer.error ?? "unknown_error"));
    this.changed();
  }

  show(person, view, forms, names) {
    const trouble = this.troubles.get(person) ?? "";
    this.trouble.hidden = !trouble;
    if (this.trouble.textContent !== trouble) this.trouble.textContent = trouble;
    this.words.hidden = Boolean(view);
    this.words.textContent = this.opening.has(person)
      ? "Opening …" : "The app has put nothing on this Home tab yet.";
    this.holder.hidden = !view;
    if (view) this.body.show(forms.of(view), names);
  }
}
