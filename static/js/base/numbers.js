// Numbers as a reader sees them.

import { gettext } from "./gettext.js";

/** 161k, 9.2k, 812: as the server writes them. */
export function tokens(count) {
  if (count < 1000) return String(count);
  if (count < 9950) return (count / 1000).toFixed(1).replace(/\.0$/, "") + "k";
  if (count < 999500) return Math.round(count / 1000) + "k";
  return (count / 1e6).toFixed(1).replace(/\.0$/, "") + "M";
}

/** Dollars: cents from a dollar on, four places below; null is not known. */
export const money = (value) =>
  value == null ? gettext("unknown") : `$${value.toFixed(value >= 1 ? 2 : 4)}`;
