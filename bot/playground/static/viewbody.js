/* The blocks of a view, kept node by node: a block that an update leaves as it was
   keeps its node, and so the caret and the words that are being typed in it. */

import { blockNodes } from "./blocks.js";
import { arrange } from "./dom.js";
import { showErrors } from "./fields.js";

export class ViewBody {
  constructor(node) {
    this.node = node;
    this.kept = new Map();
    this.form = null;
  }

  show(form, names) {
    if (form !== this.form) this.kept.clear();
    this.form = form;
    const focus = this.node.contains(document.activeElement)
      ? document.activeElement : null;
    const surface = {
      names,
      value: (element, block) => form.value(element, block),
      typed: (element, block, value) => form.typed(element, block, value),
      dispatch: (element, block) => form.dispatch(element, block),
      press: (element, block) => form.press(element, block),
      mark: (block, action) => form.mark(block, action),
      error: (block) => form.errors.get(block),
      failure: form.failure,
    };
    const kept = new Map();
    for (const block of form.view.blocks) {
      const signature = JSON.stringify([block, form.looks(block.block_id), names.signature]);
      const old = this.kept.get(block.block_id);
      kept.set(block.block_id, old?.signature === signature
        ? old : { signature, node: blockNodes([block], surface)[0] });
    }
    this.kept = kept;
    arrange(this.node, [...kept.values()].map(({ node }) => node));
    showErrors(this.node, (block) => form.errors.get(block));
    if (focus && !focus.isConnected) this.refocus(focus);
  }

  refocus(lost) {
    const { key } = lost.dataset;
    const same = key && this.node.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (!same) return;
    same.focus({ preventScroll: true });
    const typing = same.matches("textarea, input[type=text]");
    if (typing && lost.selectionStart !== undefined) {
      same.setSelectionRange(lost.selectionStart, lost.selectionEnd);
    }
  }
}
