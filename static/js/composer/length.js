// How long a message may be.

import { gettext } from "../base/gettext.js";

/** Why a text cannot be sent: longer than a message may be, as the server counts (in characters, not UTF-16 units). */
export function tooLong(text, most) {
  const count = text.length > most ? [...text.trim()].length : 0;
  if (count <= most) return "";
  const number = (value) => value.toLocaleString(document.documentElement.lang);
  return gettext(
    "The message has {count} characters; the limit is {most}. Attach it as a file, or send it in parts.",
    { count: number(count), most: number(most) },
  );
}
