// One websocket that comes back: backoff with jitter, and a check that it still lives.

const FIRST_DELAY = 500; // ms
const LONGEST_DELAY = 15_000;
const SILENCE = 10_000; // ms that an answer to `sync` may take
const GREETING = 2000; // ms after which a server that sent no snapshot by itself is asked
const NEW_SESSION = 3000; // ms after which a browser whose session ended is asked, once, for another
const FINAL = { 4401: "signed-out", 4404: "gone", 4429: "too-many" };
const TOO_LARGE = 1009;
const REFUSALS = 3; // handshakes in a row that fail before it is looked why

export class Socket {
  #socket = null;
  #attempts = 0;
  #refusals = 0; // handshakes that failed, in a row
  #state = "";
  #timer = 0;
  #greeting = 0; // timer
  #watchdog = 0; // timer; 0 where nothing was asked
  #held = null; // a frame that waits for a socket
  #greeted = false; // whether the last socket got a frame: then its session held at first

  /**
   * `onFrame(frame)`, `onState("open" | "lost" | "blocked" | "signed-out" | "gone" | "too-many")`; `works()`
   * resolves to whether HTTP does, and where it does while no socket opens, those are blocked.
   * `onTooLarge()`: the server would not take a frame of that size.
   */
  constructor(path, { onFrame, onState, onTooLarge, works, signal }) {
    Object.assign(this, { path, onFrame, onState, onTooLarge, works, signal });
    addEventListener("online", () => this.#wake(), { signal });
    document.addEventListener("visibilitychange", () => document.hidden || this.#wake(), {
      signal,
    });
    signal.addEventListener("abort", () => this.#leave());
    this.#open();
  }

  /** Another chat is shown: nothing is told any more. */
  #leave() {
    clearTimeout(this.#timer);
    this.#stopWaiting();
    const socket = this.#socket;
    this.#socket = null;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  /** Whether a frame went out. */
  send(frame) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  /** As `send`, but while a socket opens the frame waits for it, or for the one after it. */
  sendOnceOpen(frame) {
    if (this.#socket?.readyState !== WebSocket.CONNECTING) return this.send(frame);
    this.#held = frame;
    return true;
  }

  /** Ask for a snapshot; a server that does not answer is left. */
  sync() {
    // Whoever asks again and again waits no longer.
    if (this.send({ type: "sync" }))
      this.#watchdog ||= setTimeout(() => this.#socket?.close(), SILENCE);
  }

  #stopWaiting() {
    clearTimeout(this.#greeting);
    clearTimeout(this.#watchdog);
    this.#watchdog = 0;
  }

  #enter(state) {
    if (state === this.#state || this.signal.aborted) return;
    this.#state = state;
    this.onState(state);
  }

  #open() {
    clearTimeout(this.#timer);
    const socket = new WebSocket(
      `${location.protocol.replace("http", "ws")}//${location.host}${this.path}`,
    );
    this.#socket = socket;
    socket.onopen = () => this.#opened();
    socket.onmessage = ({ data }) => this.#received(data);
    socket.onclose = ({ code }) => socket === this.#socket && this.#closed(code);
  }

  #opened() {
    this.#refusals = -1; // what closes this one is another matter
    this.#enter("open");
    if (this.#held) this.send(this.#held);
    this.#held = null;
    this.#greeting = setTimeout(() => this.sync(), GREETING);
  }

  #received(data) {
    this.#attempts = 0;
    this.#greeted = true;
    this.#stopWaiting();
    let frame;
    try {
      frame = JSON.parse(data);
    } catch {
      return;
    }
    this.onFrame(frame);
  }

  #closed(code) {
    this.#socket = null;
    this.#stopWaiting();
    // A new password closes the socket a little before this browser gets its new session.
    const ended = code === 4401 && this.#greeted;
    this.#greeted = false;
    if (FINAL[code] && !ended) return this.#enter(FINAL[code]);
    if (code === TOO_LARGE) this.onTooLarge();
    this.#refusals += 1;
    if (this.#refusals < REFUSALS) this.#enter("lost");
    else this.#explain();
    const delay = ended ? NEW_SESSION : Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** this.#attempts);
    if (!ended) this.#attempts += 1;
    this.#timer = setTimeout(() => this.#open(), delay * (0.5 + Math.random() / 2));
  }

  /** Whether the server is away, or only its sockets are. */
  async #explain() {
    const ok = await this.works();
    if (this.#socket?.readyState !== WebSocket.OPEN) this.#enter(ok ? "blocked" : "lost");
  }

  /** After sleep or a network change: do not wait for the backoff, do not trust a silent socket. */
  #wake() {
    if (this.#socket?.readyState === WebSocket.OPEN) this.sync();
    else if (!this.#socket) this.#open();
  }
}
