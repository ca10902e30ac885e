// Which parts of a text box its author did not type: an instruction in a pasted mail is not theirs.

const TYPED =
  /^(insert(Text|LineBreak|Paragraph|CompositionText|FromComposition|ReplacementText|Transpose)$|delete)/;
const MOST_PARTS = 200; // parts that the server takes

/**
 * Follow a text box from now on. `known`: the parts of what it holds now, as [start, end]; without
 * them, and whenever the text changes unseen, it counts as pasted.
 */
export function trackPastes(area, known = null) {
  let text = area.value;
  let parts = known ?? [[0, text.length]];

  function follow(typed) {
    const now = area.value;
    if (now === text) return;
    const most = Math.min(text.length, now.length);
    let start = 0;
    while (start < most && text[start] === now[start]) start++;
    let same = 0; // at the end
    while (same < most - start && text[text.length - 1 - same] === now[now.length - 1 - same])
      same++;
    const before = text.length - same;
    const after = now.length - same;
    const shift = after - before;
    parts = parts.flatMap(([from, to]) => [
      [from, Math.min(to, start)],
      [Math.max(from, before) + shift, to + shift],
    ]);
    // Some keyboards insert the clipboard as if it were typed; nobody types several lines at once.
    if (!typed || now.slice(start, after).trim().includes("\n")) parts.push([start, after]);
    parts = joined(parts);
    text = now;
  }

  area.addEventListener("input", (event) => follow(TYPED.test(event.inputType)));
  return {
    /** The parts, [start, end] in UTF-16 units. */
    parts() {
      follow(false);
      return parts;
    },
    /** The page itself has put a text there. */
    reset(pasted) {
      text = area.value;
      parts = pasted;
    },
  };
}

function joined(parts) {
  const found = [];
  for (const [from, to] of parts.filter((part) => part[0] < part[1]).sort((a, b) => a[0] - b[0])) {
    if (found.length && from <= found.at(-1)[1]) found.at(-1)[1] = Math.max(found.at(-1)[1], to);
    else found.push([from, to]);
  }
  return found.length > MOST_PARTS ? [[found[0][0], found.at(-1)[1]]] : found;
}
