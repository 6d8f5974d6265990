/* The confirm dialog of a control, before its action is sent. The browser's own
   modal dialog keeps the focus inside and closes on Escape. */

import { el, fill } from "./dom.js";

/** Asks what an element's `confirm` object asks; true when the person agreed. */
export function agreed(question) {
  const node = document.getElementById("confirm");
  const style = question.style === "danger" ? "danger" : "primary";
  return new Promise((resolve) => {
    const yes = el("button", { type: "button", class: `button ${style}` },
      question.confirm?.text ?? "Yes");
    const no = el("button", { type: "button", class: "button" },
      question.deny?.text ?? "Cancel");
    fill(node,
      el("h2", { id: "confirm-title" }, question.title?.text ?? "Are you sure?"),
      el("p", { class: "words" }, question.text?.text ?? ""),
      el("div", { class: "row" }, no, yes));
    node.addEventListener("close", () => resolve(node.returnValue === "yes"), { once: true });
    yes.addEventListener("click", () => node.close("yes"));
    no.addEventListener("click", () => node.close("no"));
    node.returnValue = "no";
    node.showModal();
    // The safe answer has the focus: a second Enter must not confirm by accident.
    no.focus();
  });
}
