// One websocket that comes back: backoff with jitter, and a check that it still lives.

const FIRST_DELAY = 500; // ms
const LONGEST_DELAY = 15_000;
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
   * `onFrame(frame)`, `onState("open" | "lost" | "silent" | "offline" | "blocked" | "signed-out" | "gone" | "too-many")`;
   * `works()` resolves to whether HTTP does, and where it does while no socket opens, those are blocked.
   * `isOffline()` resolves to whether there is no network. `onTooLarge()`: the server would not take a frame of that
   * size. `patience()`: ms that an answer may take.
   */
  constructor(path, { onFrame, onState, onTooLarge, works, isOffline, patience, signal }) {
    Object.assign(this, { path, onFrame, onState, onTooLarge, works, isOffline, patience, signal });
    addEventListener("online", () => this.#wake({ anew: true }), { signal });
    addEventListener("offline", () => this.#askNetwork(), { signal });
    document.addEventListener("signed-in", () => this.#wake(), { signal });
    document.addEventListener("visibilitychange", () => document.hidden || this.#wake(), {
      signal,
    });
    signal.addEventListener("abort", () => this.#leave());
    this.#open();
  }

  /** Nothing is told any more of the socket that there is. */
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
  sync = () => this.#ask({ type: "sync" });

  /** Ask for a sign of life only. */
  ping = () => this.#ask({ type: "ping" });

  #ask(frame) {
    if (this.send(frame)) this.#expectAnswer();
  }

  /** Whoever asks again and again waits no longer. */
  #expectAnswer() {
    this.#watchdog ||= setTimeout(() => this.#replace(), this.patience());
  }

  /**
   * The connection has died without a word, or never came. A browser would first wait a minute for the other end to
   * say goodbye.
   */
  #replace() {
    const wasOpen = this.#socket?.readyState === WebSocket.OPEN;
    this.#leave();
    if (wasOpen) {
      this.#enter("silent");
      return this.#open();
    }
    this.#failed("silent");
    this.#openLater();
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
    socket.onclose = ({ code }) => this.#closed(code);
    this.#expectAnswer();
  }

  #openLater() {
    const delay = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** this.#attempts);
    this.#attempts += 1;
    this.#openAfter(delay);
  }

  #openAfter(delay) {
    this.#timer = setTimeout(() => this.#open(), delay * (0.5 + Math.random() / 2));
  }

  #opened() {
    this.#stopWaiting();
    this.#refusals = -1; // what closes this one is another matter
    this.#enter("open");
    if (this.#held) this.send(this.#held);
    this.#held = null;
    this.#greeting = setTimeout(this.sync, GREETING);
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
    this.#failed(navigator.onLine ? "lost" : "offline");
    if (ended) this.#openAfter(NEW_SESSION);
    else this.#openLater();
  }

  /** One more that did not open, or does not live. */
  #failed(state) {
    this.#refusals += 1;
    if (this.#refusals < REFUSALS) this.#enter(state);
    else this.#explain();
  }

  /** Whether the server is away, or only its sockets are. */
  async #explain() {
    const ok = await this.works();
    if (this.#socket?.readyState === WebSocket.OPEN) return;
    this.#enter(ok ? "blocked" : navigator.onLine ? "lost" : "offline");
  }

  /** The browser says that there is no network; a server on this machine needs none. */
  async #askNetwork() {
    if (!(await this.isOffline()) || this.signal.aborted) return;
    this.#leave();
    this.#enter("offline");
    this.#openLater(); // no browser has to tell of the way back
  }

  /** After sleep or a network change: do not wait for the backoff, do not trust a silent socket. */
  #wake({ anew = false } = {}) {
    if (this.#socket?.readyState === WebSocket.OPEN) return this.sync();
    if (this.#socket && !anew) return;
    this.#leave(); // on another network one that has begun to open may never do so
    this.#attempts = 0;
    this.#open();
  }
}
