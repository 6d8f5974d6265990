/* Input blocks: a control with its label, its hint and the place for its error. An
   error comes and goes without a new control, so that nothing typed is lost. */

import { formControl, isGroup } from "./controls.js";
import { el } from "./dom.js";
import { plainText } from "./texts.js";

let count = 0;

export function inputBlock(block, surface) {
  const { element } = block;
  count += 1;
  const id = `field-${count}`;
  const group = isGroup(element);
  const hint = block.hint
    ? el("p", { class: "hint-text soft", id: `${id}-hint` }, plainText(block.hint)) : null;
  const control = formControl(element, {
    block, surface, id, required: !block.optional,
    labelledby: group ? `${id}-label` : undefined, described: hint?.id,
  });
  const words = [
    plainText(block.label),
    block.optional ? el("span", { class: "soft" }, " (optional)") : null,
  ];
  const label = group
    ? el("p", { class: "label", id: `${id}-label` }, ...words)
    : el("label", { class: "label", for: id }, ...words);
  const node = el("div", { class: "input-block", "data-block": block.block_id },
    label, control, el("p", { class: "failed", id: `${id}-error`, hidden: true }), hint);
  showError(node, surface.error(block.block_id));
  return node;
}

function showError(node, text) {
  const line = node.querySelector(":scope > .failed");
  const control = node.querySelector(`[id="${line.id.replace("-error", "")}"]`);
  line.textContent = text ?? "";
  line.hidden = !text;
  if (!control) return;
  const hint = node.querySelector(":scope > .hint-text")?.id;
  const described = [text ? line.id : null, hint].filter(Boolean).join(" ");
  if (described) control.setAttribute("aria-describedby", described);
  else control.removeAttribute("aria-describedby");
  if (text) control.setAttribute("aria-invalid", "true");
  else control.removeAttribute("aria-invalid");
}

/** Puts the errors under their blocks, and takes those away that are no more. */
export function showErrors(holder, errorOf) {
  for (const node of holder.querySelectorAll("[data-block]")) {
    showError(node, errorOf(node.dataset.block));
  }
}

/** Puts the focus on the first control that has an error. */
export function focusFirstError(holder) {
  const control = holder.querySelector("[aria-invalid]");
  (control?.matches("[role]") ? control.querySelector("input") : control)?.focus();
}
