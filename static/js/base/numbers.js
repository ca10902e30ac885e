// Numbers as a reader sees them.

/** 161k, 9.2k, 812: as the server writes them. */
export function tokens(count) {
  if (count < 1000) return String(count);
  if (count < 9950) return (count / 1000).toFixed(1).replace(/\.0$/, "") + "k";
  if (count < 999500) return Math.round(count / 1000) + "k";
  return (count / 1e6).toFixed(1).replace(/\.0$/, "") + "M";
}
