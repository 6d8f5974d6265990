/* What one person does with the controls of one message or one view: the presses under
   way and failed, and what was typed or chosen. `target` says which, as the page API
   does: {channel, ts} or {view_id}. */

import { agreed } from "./dialog.js";
import { post } from "./server.js";
import { fits, held, isTyped, keyOf, UNREADABLE } from "./values.js";

export class Acts {
  constructor(person, target, changed) {
    this.person = person;
    this.target = target;
    this.changed = changed;
    this.marks = new Map();
    this.values = new Map();
    this.unsent = new Map();
    // The entries of `state.values` that the server told of; messages have none.
    this.stored = {};
    // Counts the times a control must be drawn anew, though its block is the same.
    this.turn = 0;
  }

  mark(block, action) {
    return this.marks.get(`${block}/${action}`);
  }

  /** What decides how a block's controls look, beside the block itself. */
  looks(block) {
    const own = [...this.marks].filter(([key]) => key.startsWith(`${block}/`));
    return [own, this.turn];
  }

  value(element, block) {
    const kept = this.values.get(keyOf(block, element));
    if (kept !== undefined && fits(element, kept)) return kept;
    return held(element, this.stored[block.block_id]?.[element.action_id]);
  }

  typed(element, block, value) {
    const key = keyOf(block, element);
    this.values.set(key, value);
    this.unsent.set(key, { element, block });
  }

  /** Sends what an element holds, where that is sent before any button is pressed. */
  async dispatch(element, block) {
    const key = keyOf(block, element);
    if (block.type === "input" && !block.dispatch_action) return;
    if (element.confirm && !(await agreed(element.confirm))) {
      this.values.delete(key);
      this.unsent.delete(key);
      this.turn += 1;
      this.changed();
      return;
    }
    await this.send(element, block, { value: this.plain(element, block) });
  }

  async press(element, block) {
    if (element.confirm && !(await agreed(element.confirm))) return;
    await this.send(element, block, {});
  }

  plain(element, block) {
    const value = this.value(element, block);
    return value === UNREADABLE || (isTyped(element) && value === "") ? null : value;
  }

  async send(element, block, more) {
    const key = keyOf(block, element);
    for (const [name, mark] of this.marks) if (!mark.busy) this.marks.delete(name);
    this.marks.set(key, { busy: true });
    this.unsent.delete(key);
    this.changed();
    await this.tellTyped();
    const answer = await this.act(element, block, more);
    if (answer.ok) this.marks.delete(key);
    else this.marks.set(key, { failed: answer.error ?? "unknown_error" });
    this.changed();
  }

  /** A press carries what was typed elsewhere in the form: the server is told first. */
  async tellTyped() {
    const unsent = [...this.unsent.values()];
    this.unsent.clear();
    for (const { element, block } of unsent) {
      await this.act(element, block, { value: this.plain(element, block) });
    }
  }

  act(element, block, more) {
    return post("/ui/act", {
      as: this.person, ...this.target,
      action_id: element.action_id, block_id: block.block_id, ...more,
    });
  }
}
