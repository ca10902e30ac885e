// Dates and times in the reader's zone, in the one form that the server writes too: chat/html/moments.py.

const [pattern, ...months] = document.querySelector("meta[name=dates]").content.split("|");
// The server tells models the reader's time: chat/protocol/zone.py.
document.cookie = `everlong_zone=${Intl.DateTimeFormat().resolvedOptions().timeZone};path=/;samesite=lax`;
const padded = (number) => String(number).padStart(2, "0");

/** 25 Nov 2026 */
export const formatDay = (date) =>
  pattern
    .replace("{day}", date.getDate())
    .replace("{month}", months[date.getMonth()])
    .replace("{year}", date.getFullYear());

const formatHour = (date) => `${padded(date.getHours())}:${padded(date.getMinutes())}`;
const formatMoment = (date) => `${formatDay(date)}, ${formatHour(date)}`;
const FORMS = { hour: formatHour, day: formatDay, moment: formatMoment };

function formatDays(began, ended) {
  const [first, last] = [formatDay(began), formatDay(ended)];
  return first === last ? first : `${first} – ${last}`;
}

/** Show times in the reader's zone. */
export function localiseTimes(root = document) {
  for (const node of root.querySelectorAll("time[datetime]:not([title])")) {
    const date = new Date(node.dateTime);
    if (Number.isNaN(date.getTime())) continue;
    const { until, form } = node.dataset;
    node.textContent = until ? formatDays(date, new Date(until)) : FORMS[form](date);
    node.title = until ? node.textContent : formatMoment(date);
  }
}
