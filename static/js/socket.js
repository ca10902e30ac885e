// One websocket that comes back: backoff with jitter, and a check that it still lives.

const FIRST_DELAY = 500; // ms
const LONGEST_DELAY = 15_000;
const SILENCE = 10_000; // ms that an answer to `sync` may take
const GREETING = 2000; // ms after which a server that sent no snapshot by itself is asked
const NEW_SESSION = 3000; // ms after which a browser whose session ended is asked, once, for another
const FINAL = { 4401: "signed-out", 4404: "gone", 4429: "too-many" };
const TOO_LARGE = 1009;
const REFUSALS = 3; // handshakes in a row that fail before it is looked why

/**
 * `onFrame(frame)`, `onState("open" | "lost" | "blocked" | "signed-out" | "gone" | "too-many")`; `works()`
 * resolves to whether HTTP does, and where it does while no socket opens, those are blocked.
 * `onTooLarge()`: the server would not take a frame of that size.
 * `send(frame)` says whether the frame went out.
 */
export function connect(path, { onFrame, onState, onTooLarge, works }) {
  let socket = null;
  let attempts = 0;
  let refusals = 0; // handshakes that failed, in a row
  let state = "";
  let timer = 0;
  let watchdog = 0;
  let greeted = false; // whether the last socket got a frame: then its session held at first

  function enter(next) {
    if (next !== state) onState((state = next));
  }

  function open() {
    clearTimeout(timer);
    const own = new WebSocket(`${location.protocol.replace("http", "ws")}//${location.host}${path}`);
    socket = own;
    own.onopen = () => {
      refusals = -1; // what closes this one is another matter
      enter("open");
      watchdog = setTimeout(sync, GREETING);
    };
    own.onmessage = (event) => {
      attempts = 0;
      greeted = true;
      clearTimeout(watchdog);
      let frame;
      try {
        frame = JSON.parse(event.data);
      } catch {
        return;
      }
      onFrame(frame);
    };
    own.onclose = (event) => {
      if (own !== socket) return;
      socket = null;
      clearTimeout(watchdog);
      // A new password closes the socket a little before this browser gets its new session.
      const ended = event.code === 4401 && greeted;
      greeted = false;
      if (FINAL[event.code] && !ended) return enter(FINAL[event.code]);
      if (event.code === TOO_LARGE) onTooLarge();
      if (++refusals < REFUSALS) enter("lost");
      else works().then((ok) => socket?.readyState !== WebSocket.OPEN && enter(ok ? "blocked" : "lost"));
      const delay = ended ? NEW_SESSION : Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** attempts++);
      timer = setTimeout(open, delay * (0.5 + Math.random() / 2));
    };
  }

  function send(frame) {
    if (socket?.readyState !== WebSocket.OPEN) return false;
    socket.send(JSON.stringify(frame));
    return true;
  }

  function sync() {
    if (!send({ type: "sync" })) return;
    clearTimeout(watchdog);
    watchdog = setTimeout(() => socket?.close(), SILENCE);
  }

  /** After sleep or a network change: do not wait for the backoff, do not trust a silent socket. */
  function wake() {
    if (socket?.readyState === WebSocket.OPEN) sync();
    else if (!socket) open();
  }
  addEventListener("online", wake);
  document.addEventListener("visibilitychange", () => document.hidden || wake());

  open();
  return { send, sync };
}
