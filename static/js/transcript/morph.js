// An element becomes another one: what is equal stays the same node, with its selection and its scroll position.

const SHELLS = ["body", "text"]; // classes of elements that stay, whatever becomes of what they hold

/** Make `old` like `fresh`, which is used up. */
export function become(old, fresh) {
  copyAttributes(old, fresh);
  let next = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const match = findMatch(next, child);
    if (!match) {
      old.insertBefore(child, next);
      continue;
    }
    removeBetween(next, match);
    if (!match.isEqualNode(child)) become(match, child);
    next = match.nextSibling;
  }
  removeBetween(next, null);
}

function copyAttributes(old, fresh) {
  for (const { name } of [...old.attributes])
    if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) old.setAttribute(name, value);
}

/** The node from `next` on that `child` is a newer version of, or null. */
function findMatch(next, child) {
  if (child.nodeType !== Node.ELEMENT_NODE) return next?.isEqualNode(child) ? next : null;
  const shell = SHELLS.find((name) => child.classList.contains(name));
  let node = next;
  while (node && !(shell ? node.classList?.contains(shell) : node.isEqualNode(child)))
    node = node.nextSibling;
  return node;
}

/** Remove `first` and what follows it, up to `end`. */
function removeBetween(first, end) {
  let node = first;
  while (node !== end) {
    const after = node.nextSibling;
    node.remove();
    node = after;
  }
}
