// Where something stands that belongs to a link or a button, and must not cover it.

const GAP = 6; // px between them, and to the edge of the window

/** Below a link or above it, beside an entry of a list; never over it, and inside the window. */
export function placeBeside(box, link) {
  const at = link.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = box;
  const [right, below] = [innerWidth - width - GAP, innerHeight - height - GAP];
  let { left } = at;
  let top = at.bottom + GAP > below ? at.top - GAP - height : at.bottom + GAP;
  if (link.closest("#sidebar")) {
    left = at.right + GAP > right ? at.left - GAP - width : at.right + GAP;
    ({ top } = at);
  }
  box.style.left = `${Math.max(GAP, Math.min(left, right))}px`;
  box.style.top = `${Math.max(GAP, Math.min(top, below))}px`;
}
