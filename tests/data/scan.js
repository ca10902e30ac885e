// What must not be below `root`: rules of their own, which share nothing with the sanitiser's
// lists. Elements and attributes that messages need are named; everything else is a finding.
(root) => {
  const TEXT = "A BLOCKQUOTE BR BUTTON CODE DEL DIV EM H3 H4 H5 H6 HR INPUT LABEL LI OL P PRE S SPAN STRONG SUP";
  const TABLES = "TABLE TBODY TD TH THEAD TR UL";
  const OURS = "ARTICLE DETAILS SUMMARY FOOTER I TIME SECTION SVG RECT PATH"; // of the templates
  // Formulas: MathML without what acts or links (maction, semantics' annotations).
  const FORMULAS =
    "MATH MERROR MFRAC MI MMULTISCRIPTS MN MO MOVER MPADDED MPHANTOM MPRESCRIPTS MROOT MROW MSPACE " +
    "MSQRT MSTYLE MSUB MSUBSUP MSUP MTABLE MTD MTEXT MTR MUNDER MUNDEROVER";
  const elements = new Set(`${TEXT} ${TABLES} ${OURS} ${FORMULAS}`.split(" "));
  const attributes = new Set(
    ("class href rel target type checked disabled start id aria-label aria-hidden title datetime " +
      "data-message-id data-number data-position data-role data-status data-action " +
      "data-compaction-id data-after data-url data-code data-form data-call data-label " +
      "data-summarised data-model data-chapter data-until role open tabindex dir aria-pressed aria-expanded").split(" "),
  );
  const drawing = new Set("viewbox x y width height rx d".split(" "));
  const formula =
    /^(accent|columnalign|columnlines|depth|display|displaystyle|fence|form|height|largeop|linethickness|lspace|mathcolor|mathbackground|mathsize|mathvariant|maxsize|minsize|movablelimits|notation|rowlines|rowspacing|columnspacing|rspace|scriptlevel|separator|stretchy|symmetric|voffset|width|xmlns)$/;
  const found = [];

  function checkLink(element, value) {
    if (/^#(message-\d+|fn(ref)?-[0-9a-f]{8}-\d+)$/.test(value)) return;
    let scheme = "none";
    try {
      scheme = new URL(value, "broken:").protocol;
    } catch {}
    if (!["http:", "https:", "mailto:"].includes(scheme)) found.push(`href ${value}`);
    if (!/\bnoopener\b/.test(element.rel)) found.push(`rel: ${value}`);
  }

  function check(element) {
    const tag = element.tagName.toUpperCase();
    const html = element.outerHTML.slice(0, 120);
    if (!elements.has(tag)) found.push(`element ${tag}: ${html}`);
    if (tag === "BUTTON" && element.getAttribute("type") !== "button") found.push(`button: ${html}`);
    if (tag === "INPUT" && !(element.type === "checkbox" && element.disabled)) {
      found.push(`input: ${html}`);
    }
    for (const { name, value } of element.attributes) {
      const drawn = element.closest("svg") && drawing.has(name.toLowerCase());
      const typeset = element.closest("math") && formula.test(name);
      if (!attributes.has(name) && !drawn && !typeset) found.push(`attribute ${name}: ${html}`);
      if (name === "id" && !/^((message|compaction)-\d+|fn(ref)?-[0-9a-f]{8}-\d+)$/.test(value)) found.push(`id: ${html}`);
      if (name === "dir" && !["auto", "ltr"].includes(value)) found.push(`dir: ${html}`);
      if (name === "href") checkLink(element, value);
    }
    if (tag === "TEMPLATE") walk(element.content);
  }

  function walk(node) {
    for (const element of node.querySelectorAll("*")) check(element);
  }

  walk(root);
  return found;
}
