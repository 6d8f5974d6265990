/* Interactive elements as form controls. What each holds lives in the surface (see
   acts.js): `value` gives it, `typed` keeps it, `dispatch` sends it where the block
   sends at once. `at` says where a control stands: its block, its surface, and how it
   is labelled and described. */

import { el } from "./dom.js";
import { unknown } from "./richtext.js";
import { labelText, plainText } from "./texts.js";
import { fromLocalMinute, keyOf, localMinute, UNREADABLE } from "./values.js";

const CHARACTERS_REST_MS = 400;
let groups = 0;

function common(element, at) {
  const busy = at.surface.mark(at.block.block_id, element.action_id)?.busy;
  return {
    id: at.id, "data-key": keyOf(at.block, element),
    "aria-label": at.label, "aria-labelledby": at.labelledby,
    "aria-describedby": at.described,
    "aria-required": at.required ? "true" : undefined,
    "aria-busy": busy ? "true" : undefined,
  };
}

function keep(element, at, value) {
  at.surface.typed(element, at.block, value);
}

/** Typed text leaves at once only for a block with `dispatch_action`. */
function sendingKeys(element, at) {
  if (!at.block.dispatch_action) return {};
  const on = element.dispatch_action_config?.trigger_actions_on ?? ["on_enter_pressed"];
  let rest;
  return {
    keydown: (event) => {
      if (event.key !== "Enter" || event.isComposing || element.multiline) return;
      event.preventDefault();
      if (on.includes("on_enter_pressed")) at.surface.dispatch(element, at.block);
    },
    keyup: () => {
      if (!on.includes("on_character_entered")) return;
      clearTimeout(rest);
      rest = setTimeout(() => at.surface.dispatch(element, at.block), CHARACTERS_REST_MS);
    },
  };
}

const LINE_KINDS = {
  plain_text_input: { type: "text" },
  // A box of type "number" hides what it cannot read; Slack's tells it apart.
  number_input: { type: "text", inputmode: "decimal" },
  email_text_input: { type: "email" },
  url_text_input: { type: "url" },
};

function line(element, at) {
  const tag = element.multiline ? "textarea" : "input";
  const kind = element.multiline ? { rows: 4 } : LINE_KINDS[element.type];
  const node = el(tag, {
    ...common(element, at), ...kind, class: "field", autocomplete: "off",
    placeholder: element.placeholder && plainText(element.placeholder),
    input: () => keep(element, at, node.value),
    ...sendingKeys(element, at),
  });
  node.value = at.surface.value(element, at.block);
  return node;
}

const PICKERS = {
  datepicker: { type: "date", shown: (value) => value, read: (text) => text },
  timepicker: { type: "time", shown: (value) => value, read: (text) => text },
  datetimepicker: { type: "datetime-local", shown: localMinute, read: fromLocalMinute },
};

function picker(element, at) {
  const { type, shown, read } = PICKERS[element.type];
  const value = () => {
    if (node.validity.badInput) return UNREADABLE;
    return node.value ? read(node.value) : null;
  };
  const node = el("input", {
    ...common(element, at), type, class: "field short",
    title: element.placeholder && plainText(element.placeholder),
    input: () => keep(element, at, value()),
    // Half a date fires no `input` event.
    keyup: () => keep(element, at, value()),
    change: () => at.surface.dispatch(element, at.block),
  });
  const now = at.surface.value(element, at.block);
  node.value = now === UNREADABLE ? "" : shown(now) ?? "";
  return node;
}

/** The options under their groups; a plain list is one group without a name. */
function groupsOf(element) {
  return element.option_groups ?? [{ options: element.options ?? [] }];
}

function select(element, at) {
  const now = at.surface.value(element, at.block);
  const option = (one) => el("option", {
    value: one.value, selected: one.value === now,
  }, plainText(one.text));
  const none = plainText(element.placeholder) || "Choose an option";
  const node = el("select", {
    ...common(element, at), class: "field",
    change: () => {
      keep(element, at, node.value || null);
      at.surface.dispatch(element, at.block);
    },
  }, el("option", { value: "" }, none),
  ...groupsOf(element).flatMap((group) => (group.label
    ? el("optgroup", { label: plainText(group.label) }, ...group.options.map(option))
    : group.options.map(option))));
  return node;
}

function choice(option, at, attributes) {
  return el("label", { class: "choice" },
    el("input", attributes),
    el("span", {}, ...labelText(option.text, at.surface.names),
      option.description
        ? el("span", { class: "soft about" }, plainText(option.description)) : null));
}

function radios(element, at) {
  const now = at.surface.value(element, at.block);
  const { "data-key": key, ...rest } = common(element, at);
  groups += 1;
  const name = `choices-${groups}`;
  return el("div", { ...rest, class: "choices", role: "radiogroup" },
    ...element.options.map((option, index) => choice(option, at, {
      type: "radio", name, value: option.value,
      "data-key": `${key}/${index}`, checked: option.value === now,
      change: () => {
        keep(element, at, option.value);
        at.surface.dispatch(element, at.block);
      },
    })));
}

function boxes(element, at) {
  const now = new Set(at.surface.value(element, at.block));
  const { "data-key": key, "aria-required": _, ...rest } = common(element, at);
  const long = element.type === "multi_static_select";
  const most = element.max_selected_items ?? Infinity;
  const list = el("div", { ...rest, class: long ? "choices long" : "choices", role: "group" });
  const inputs = () => [...list.querySelectorAll("input")];
  const limit = () => {
    const full = inputs().filter((input) => input.checked).length >= most;
    for (const input of inputs()) input.disabled = full && !input.checked;
  };
  const change = () => {
    limit();
    keep(element, at, inputs().filter((one) => one.checked).map((one) => one.value));
    at.surface.dispatch(element, at.block);
  };
  let index = 0;
  for (const group of groupsOf(element)) {
    if (group.label) list.append(el("p", { class: "soft" }, plainText(group.label)));
    list.append(...group.options.map((option) => choice(option, at, {
      type: "checkbox", value: option.value, checked: now.has(option.value),
      "data-key": `${key}/${index++}`, change,
    })));
  }
  limit();
  return list;
}

const CONTROLS = {
  plain_text_input: line, number_input: line, email_text_input: line, url_text_input: line,
  datepicker: picker, timepicker: picker, datetimepicker: picker,
  static_select: select, radio_buttons: radios,
  checkboxes: boxes, multi_static_select: boxes,
};
const GROUPS = ["radio_buttons", "checkboxes", "multi_static_select"];

/** Whether a label must name the control as a group, since it is many boxes. */
export function isGroup(element) {
  return GROUPS.includes(element.type);
}

export function formControl(element, at) {
  const make = Object.hasOwn(CONTROLS, element.type) && CONTROLS[element.type];
  return make ? make(element, at) : unknown(element.type, "control");
}
