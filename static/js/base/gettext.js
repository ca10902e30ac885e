// The page's texts in the reader's language. What has no translation stands as it is written here.

const { texts = {}, plurals = "" } = JSON.parse(
  document.getElementById("script-texts")?.textContent ?? "{}",
);

const filled = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

/** `gettext("{name} attached", {name})`. Write the text out: `make messages` reads it from the source. */
export const gettext = (text, values = {}) => filled(texts[text] ?? text, values);

/** `ngettext("{count} result", "{count} results", count)`: the form that the language has for a number. */
export function ngettext(one, many, count, values = {}) {
  // Told of the first 200; above, the last two digits decide.
  const form = plurals[count < plurals.length ? count : 100 + (count % 100)];
  return filled(texts[one]?.[form] || (count === 1 ? one : many), { ...values, count });
}
