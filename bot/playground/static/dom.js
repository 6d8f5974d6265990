/* Builds DOM nodes and nothing else. Text is only ever text: this page never
   hands a string to an HTML parser, so what a tool or a person wrote cannot
   become markup. Links are made here too, since only http(s) may become one. */

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else node.setAttribute(name, String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function fill(node, ...children) {
  node.replaceChildren(...children.filter(Boolean));
}

/** The address when it is one that may be opened, else null. */
export function safeUrl(text) {
  let url;
  try {
    url = new URL(text);
  } catch {
    return null;
  }
  return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
}

/** A link to elsewhere; an address that may not be opened stays text. */
export function outside(address, label) {
  const url = safeUrl(address);
  if (url === null) {
    const words = label && label !== address ? `${label} (${address})` : address;
    return document.createTextNode(words);
  }
  return el(
    "a",
    { href: url, title: url, target: "_blank", rel: "noopener noreferrer" },
    label || address,
  );
}

/** Text for screen readers only. */
export function unseen(text) {
  return el("span", { class: "unseen" }, text);
}

/** Makes `nodes` the children, in this order, and leaves those alone that stay. */
export function arrange(holder, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...holder.children]) if (!wanted.has(child)) child.remove();
  nodes.forEach((node, index) => {
    const now = holder.children[index];
    if (now !== node) holder.insertBefore(node, now ?? null);
  });
}
