/* Any JSON value as nodes that fold: the children of an object or a list are made
   when it is opened for the first time, since most are never looked at. */

import { el } from "./dom.js";

const LONG = 300;

function label(name) {
  return name === null ? null : el("span", { class: "json-name" }, `${name}: `);
}

/** A text that is itself a JSON object or list, as Web API calls carry them. */
function inside(text) {
  if (!/^\s*[{[]/.test(text)) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function leaf(value, name) {
  const kind = value === null ? "null" : typeof value;
  const written = el("span", { class: `json-${kind}` }, JSON.stringify(value));
  if (kind !== "string" || value.length <= LONG) {
    return el("p", { class: "json-leaf" }, label(name), written);
  }
  return el("details", { class: "json" },
    el("summary", {}, label(name),
      el("span", { class: "soft" }, `a text of ${value.length} characters`)),
    el("p", { class: "json-leaf" }, written));
}

function size(value) {
  const count = Object.keys(value).length;
  return Array.isArray(value) ? `[ ${count} ]` : `{ ${count} }`;
}

/** One value; of `open` names, those that stand open at first. */
export function jsonNode(value, name = null, open = []) {
  const nested = typeof value === "string" ? inside(value) : value;
  if (nested === null || typeof nested !== "object") return leaf(value, name);
  const about = nested === value ? size(nested) : `${size(nested)} in a text`;
  const node = el("details", { class: "json" },
    el("summary", {}, label(name), el("span", { class: "soft" }, about)));
  let made = false;
  const make = () => {
    if (made || !node.open) return;
    made = true;
    node.append(...Object.entries(nested).map(([key, one]) => jsonNode(one, key, open)));
  };
  node.addEventListener("toggle", make);
  if (open.includes(name)) {
    node.open = true;
    make();
  }
  return node;
}
