/* The views of everybody, modal and Home, as forms: each keeps its values, its errors
   and how its last submission stands, as long as the view is there. */

import { Acts } from "./acts.js";
import { failure } from "./blocks.js";
import { post } from "./server.js";
import { complaint } from "./values.js";

const TROUBLE = "We had some trouble connecting. Try again?";
// Deliveries that failed, told in the words of Slack's client and the code.
const LOST = ["operation_timeout", "dispatch_failed"];

function words(error) {
  if (LOST.includes(error)) return `${TROUBLE} (${error})`;
  return error.startsWith(TROUBLE) ? error : failure(error);
}

function answeredErrors(delivery) {
  try {
    return Object.entries(JSON.parse(delivery.body).errors ?? {});
  } catch {
    return [];
  }
}

class Form extends Acts {
  constructor(person, view, changed) {
    super(person, { view_id: view.id }, changed);
    this.view = view;
    this.errors = new Map();
    this.busy = false;
    this.trouble = "";
    this.failure = words;
  }

  take(view) {
    if (view.hash !== this.view.hash) {
      this.busy = false;
      this.errors.clear();
    }
    this.view = view;
    this.stored = view.state?.values ?? {};
  }

  inputs() {
    return this.view.blocks.filter((block) => block.type === "input");
  }

  /** The plain values of every input, as the page API takes them. */
  filled() {
    const values = {};
    for (const block of this.inputs()) {
      const { element } = block;
      values[block.block_id] = { [element.action_id]: this.plain(element, block) };
    }
    return values;
  }

  /** Submits the view unless the client's own checks find something; true when sent. */
  async submit() {
    if (this.busy) return;
    this.trouble = "";
    this.errors = new Map(this.inputs()
      .map((block) => [block.block_id, complaint(block, this.value(block.element, block))])
      .filter(([, text]) => text));
    this.busy = this.errors.size === 0;
    this.changed();
    if (this.busy) await this.deliver();
  }

  async deliver() {
    const answer = await post("/ui/submit", {
      as: this.person, view_id: this.view.id, values: this.filled(),
    });
    if (answer.delivery) this.unsent.clear();
    // After success the next state says what became of the view.
    this.busy = answer.ok;
    if (answer.error === "view_errors") this.errors = new Map(answeredErrors(answer.delivery));
    else if (!answer.ok) this.trouble = words(answer.error ?? "unknown_error");
    this.changed();
  }

  close() {
    return post("/ui/close", { as: this.person, view_id: this.view.id });
  }
}

export class Forms {
  constructor(changed) {
    this.changed = changed;
    this.kept = new Map();
  }

  /** Takes the views of a new state; forms of views that are gone go too. */
  receive(state) {
    const all = [
      ...Object.entries(state.views).flatMap(([person, stack]) =>
        stack.map((view) => [person, view])),
      ...Object.entries(state.home),
    ];
    const before = this.kept;
    this.kept = new Map(all.map(([person, view]) =>
      [view.id, before.get(view.id) ?? new Form(person, view, this.changed)]));
    for (const [, view] of all) this.kept.get(view.id).take(view);
    for (const stack of Object.values(state.views)) {
      // One that another view was laid over has had its answer.
      for (const view of stack.slice(0, -1)) this.kept.get(view.id).busy = false;
    }
  }

  of(view) {
    return this.kept.get(view.id);
  }
}
