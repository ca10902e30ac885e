// The page of a conversation that is to be printed.

import { $, $$, make } from "./base/dom.js";
import { formatDay, localiseTimes } from "./base/moments.js";

localiseTimes();
// The server names the days of its own zone.
for (const heading of $$(".day")) heading.remove();
let last = "";
for (const article of $$("#transcript > article")) {
  const time = $(".actions time", article);
  const day = time ? formatDay(new Date(time.dateTime)) : last;
  if (day !== last) article.before(make("h2", { className: "day" }, day));
  last = day;
}
// A link tells its address on paper, but not twice.
for (const link of $$(".body a[href]"))
  link.classList.toggle("bare", link.textContent.trim() === link.getAttribute("href"));
$("#print").addEventListener("click", () => print());
