/* Block Kit blocks as DOM nodes: section, rich_text, context, actions, input, divider,
   header, image. Anything else is shown as a named placeholder, never dropped.
   A surface says how: `names` for ids, `press` for buttons, `mark` for how the
   last press of a control stands (busy, or failed with an error), `value`, `typed`
   and `dispatch` for what the other controls hold, `error` for an input block. */

import { formControl } from "./controls.js";
import { el, safeUrl } from "./dom.js";
import { inputBlock } from "./fields.js";
import { richText, unknown } from "./richtext.js";
import { plainText, textObject } from "./texts.js";

const FOLD_CHARACTERS = 700;
const FOLD_LINES = 12;

/** What Slack's client says beside a button, in words close to its own. */
export function failure(error) {
  if (error === "operation_timeout") {
    return "The app did not answer within 3 seconds (operation_timeout).";
  }
  if (error === "dispatch_failed") {
    return "The app could not be reached (dispatch_failed).";
  }
  if (error === "playground_unreachable") return "The playground does not answer.";
  return `That did not work (${error}).`;
}

function foldable(nodes, text) {
  const box = el("div", { class: "folded" }, ...nodes);
  const more = el("button", { type: "button", class: "link", "aria-expanded": "false" });
  more.textContent = "See more";
  more.addEventListener("click", () => {
    const open = box.classList.toggle("open");
    more.setAttribute("aria-expanded", String(open));
    more.textContent = open ? "See less" : "See more";
  });
  const long = text.length > FOLD_CHARACTERS || text.split("\n").length > FOLD_LINES;
  return long ? [box, more] : nodes;
}

function picture(element) {
  // Never loaded: a remote image would tell its owner who reads the message.
  return el("span", { class: "picture" }, `Image: ${element.alt_text || "no description"}`);
}

function button(element, block, surface) {
  const mark = surface.mark(block.block_id, element.action_id) ?? {};
  const style = ["primary", "danger"].includes(element.style) ? ` ${element.style}` : "";
  const node = el("button", {
    type: "button",
    class: `button${style}`,
    "aria-label": element.accessibility_label,
    "aria-busy": mark.busy ? "true" : undefined,
    "aria-disabled": mark.busy ? "true" : undefined,
    "data-key": `${block.block_id}/${element.action_id}`,
    click: () => {
      const url = element.url && safeUrl(element.url);
      if (url) window.open(url, "_blank", "noopener,noreferrer");
      if (!surface.mark(block.block_id, element.action_id)?.busy) {
        surface.press(element, block);
      }
    },
  }, plainText(element.text));
  if (mark.busy) node.append(el("span", { class: "spinner", "aria-hidden": "true" }));
  return node;
}

function control(element, block, surface) {
  if (element.type === "button") return button(element, block, surface);
  if (element.type === "image") return picture(element);
  const label = plainText(element.placeholder) || block.text?.text || "Choose";
  return attempt(element.type, "control", () => formControl(element, { block, surface, label }));
}

function warnings(elements, block, surface) {
  return elements
    .map((element) => surface.mark(block.block_id, element.action_id)?.failed)
    .filter(Boolean)
    .map((error) => el("p", { class: "failed", role: "alert" },
      el("span", { class: "sign", "aria-hidden": "true" }, "⚠"),
      ` ${(surface.failure ?? failure)(error)}`));
}

function section(block, surface) {
  const text = block.text ? textObject(block.text, surface.names) : [];
  const body = block.expand ? text : foldable(text, block.text?.text ?? "");
  const fields = (block.fields ?? []).map((field) =>
    el("div", {}, ...textObject(field, surface.names)));
  const side = block.accessory ? [block.accessory] : [];
  return el("div", { class: "section" },
    el("div", { class: "words" }, ...body,
      fields.length ? el("div", { class: "fields" }, ...fields) : null,
      ...warnings(side, block, surface)),
    ...side.map((element) => control(element, block, surface)));
}

function actions(block, surface) {
  const elements = block.elements ?? [];
  return el("div", { class: "actions" },
    el("div", { class: "row" },
      ...elements.map((element) => control(element, block, surface))),
    ...warnings(elements, block, surface));
}

function context(block, surface) {
  const parts = (block.elements ?? []).map((element) =>
    element.type === "image"
      ? picture(element)
      : el("div", {}, ...textObject(element, surface.names)));
  return el("div", { class: "context" }, ...parts);
}

function image(block) {
  const title = block.title ? el("figcaption", {}, plainText(block.title)) : null;
  return el("figure", {}, title, picture(block));
}

function input(block, surface) {
  const wrong = warnings([block.element], block, surface);
  return el("div", {}, inputBlock(block, surface), ...wrong);
}

const BLOCKS = {
  section,
  actions,
  input,
  context,
  image,
  rich_text: (block, surface) => richText(block, surface.names),
  divider: () => el("hr"),
  header: (block) => el("h3", { class: "header-block" }, plainText(block.text)),
};

/** One that is malformed does not take the others with it. */
function attempt(type, what, make) {
  try {
    return make();
  } catch (error) {
    console.warn(`A ${what} could not be shown:`, error);
    return unknown(type, what);
  }
}

/** Blocks → nodes. */
export function blockNodes(blocks, surface) {
  return blocks.map((block) => {
    const make = Object.hasOwn(BLOCKS, block?.type) && BLOCKS[block.type];
    if (!make) return unknown(block?.type ?? "none");
    return attempt(block.type, "block", () => make(block, surface));
  });
}
