// Fetches pages and says what they are made of, by the browser's own parser: elements, attributes,
// what runs, where links lead. Two pages of one kind that show different texts have one shape.
async (addresses) => {
  const RENDERED = ".prose, .text, .summary-body, .rendered"; // Markdown may bring its own elements
  const shapes = [];
  for (const address of addresses) {
    const response = await fetch(address);
    const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
    const shape = new Set([`status ${response.status}`]);
    const links = [];
    for (const element of parsed.querySelectorAll("*")) {
      const rendered = element.closest(RENDERED);
      const tag = element.tagName;
      if (!rendered || ["SCRIPT", "STYLE", "FORM", "IFRAME", "IMG"].includes(tag)) shape.add(tag);
      for (const { name } of element.attributes) {
        if (!rendered || /^(on|style|src)/.test(name)) shape.add(`${tag} ${name}`);
      }
      if (tag === "SCRIPT") shape.add(`SCRIPT ${element.src || element.type || element.textContent}`);
      const url = element.getAttribute("href") ?? element.getAttribute("action");
      if (url == null) continue;
      const to = new URL(url, location);
      if (!["http:", "https:", "mailto:"].includes(to.protocol)) shape.add(`leads to ${to.protocol}`);
      if (to.origin === location.origin) links.push(to.pathname + to.search);
      else if (!rendered) shape.add(`leaves for ${to.origin}`);
    }
    shapes.push({ address, shape: [...shape], links });
  }
  return shapes;
}
