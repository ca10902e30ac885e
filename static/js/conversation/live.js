// The answer that is being written, as data. Pure: no DOM here.
//
// live = { turnId, messageId, seq, through, html: [finished blocks], text: live tail from `through` }

/** From a snapshot's `turn`, or null when nothing is written yet. */
export function fromSnapshot(turn) {
  if (!turn || turn.kind !== "answer") return null;
  return {
    turnId: turn.turn_id,
    messageId: turn.message_id,
    number: turn.number,
    seq: turn.seq ?? 0,
    through: turn.through ?? 0,
    html: turn.html ? [turn.html] : [],
    text: turn.text ?? "",
  };
}

/**
 * Apply `turn.delta` or `turn.block`. Returns { live, change } where change is "none" (a
 * repetition), "gap" (something was lost: ask for a snapshot), "text" or "block".
 */
export function apply(live, frame) {
  const sameTurn = live?.turnId === frame.turn_id;
  if (sameTurn && frame.seq <= live.seq) return { live, change: "none" };
  if (!sameTurn || live.messageId !== frame.message_id) {
    // A new message may begin here; anything else means that its beginning was lost.
    if (frame.type !== "turn.delta" || frame.offset !== 0) return { live, change: "gap" };
    live = {
      turnId: frame.turn_id,
      messageId: frame.message_id,
      seq: frame.seq - 1,
      through: 0,
      html: [],
      text: "",
    };
  }
  if (frame.seq !== live.seq + 1) return { live, change: "gap" };
  if (frame.type === "turn.delta") {
    if (frame.offset !== live.through + live.text.length) return { live, change: "gap" };
    return { live: { ...live, seq: frame.seq, text: live.text + frame.text }, change: "text" };
  }
  const finished = frame.through - live.through;
  if (finished < 0 || finished > live.text.length) return { live, change: "gap" };
  return {
    live: {
      ...live,
      seq: frame.seq,
      through: frame.through,
      html: [...live.html, frame.html],
      text: live.text.slice(finished),
    },
    change: "block",
  };
}
