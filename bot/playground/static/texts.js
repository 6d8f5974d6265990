/* Slack's text objects, plain_text and mrkdwn, as DOM nodes. */

import { el } from "./dom.js";
import { emoji, render } from "./mrkdwn.js";

export function plainText(object) {
  const text = object?.text ?? "";
  if (object?.emoji === false) return text;
  return text.replace(/:([a-z0-9_+-]{1,40}):/g, (whole, name) => emoji(name) ?? whole);
}

/** A text object as paragraphs. */
export function textObject(object, names) {
  if (object.type === "plain_text") return [el("p", {}, plainText(object))];
  return render(object.text ?? "", names, { verbatim: Boolean(object.verbatim) });
}

/** A text object as the words of a label, without paragraphs around them. */
export function labelText(object, names) {
  if (object?.type !== "mrkdwn") return [document.createTextNode(plainText(object))];
  return textObject(object, names).flatMap((node) => [...node.childNodes]);
}
