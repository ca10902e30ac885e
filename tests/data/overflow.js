// What makes the page scroll sideways, or would be cut off at its edge.
() => {
  const width = document.documentElement.clientWidth;
  const found = [];
  const wide = (name, node) => {
    if (node && node.scrollWidth > node.clientWidth) {
      found.push(`${name} ${node.scrollWidth} > ${node.clientWidth}`);
    }
  };
  wide("page", document.documentElement);
  wide("transcript", document.querySelector("#scroller"));
  wide("sidebar", document.querySelector("#sidebar"));

  function contained(node) {
    for (let up = node.parentElement; up && up.id !== "scroller"; up = up.parentElement) {
      if (getComputedStyle(up).overflowX !== "visible") return true;
    }
    return false;
  }
  for (const node of document.querySelectorAll("#transcript *")) {
    const box = node.getBoundingClientRect();
    if (box.width && (box.right > width + 1 || box.left < -1) && !contained(node)) {
      const from = Math.round(box.left), to = Math.round(box.right);
      found.push(`${node.tagName}.${node.className} ${from}-${to}: ${node.textContent.slice(0, 60)}`);
    }
  }
  return found.slice(0, 20);
}
