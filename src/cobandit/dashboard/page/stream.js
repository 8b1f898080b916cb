// The connection to the server: it reads frames, notices when they stop, and comes back by itself.
//
// It knows nothing of the document. What it reports is a status:
//   connection  live | connecting | token | disconnected | ended | error
//   reason      why: see the table below; null while all is well
//   detail      what the server said about it, or null
//   lastFrame   when the last frame came, in milliseconds, or null
//   retryAt     when it is tried again, in milliseconds; null: now, or never (`retries` tells which)
//   retries     whether it is tried again at all
// `fetch` and not `EventSource`, because a bearer token may have to be sent.

import { EventReader } from "./sse.js";

export const FRAME_VERSION = 1;
export const LONGEST_PAUSE_MS = 10_000;
export const LEAST_SILENCE_MS = 10_000;
export const FRAMES_MISSED = 3; // so many in a row, and the stream counts as silent
export const MOST_HELD = 32 * 1024 * 1024; // characters of one line
const FIRST_PAUSE_MS = 1_000;

/** What follows from each reason. */
const OUTCOMES = {
  unreachable: { connection: "disconnected", retries: true }, // nobody answers
  closed: { connection: "disconnected", retries: true }, // it broke off
  silent: { connection: "disconnected", retries: true },
  busy: { connection: "disconnected", retries: true }, // 503
  stopping: { connection: "disconnected", retries: true }, // it said that it stops
  token: { connection: "token", retries: false },
  ended: { connection: "ended", retries: false },
  answer: { connection: "error", retries: true }, // another status than expected
  content: { connection: "error", retries: true }, // not what it should be
  version: { connection: "error", retries: false },
};

class Failure extends Error {
  constructor(reason, detail = null, waitMs = 0) {
    super(reason);
    Object.assign(this, { reason, detail, waitMs });
  }
}

export class Stream {
  #address;
  #onFrame;
  #onStatus;
  #token;
  #outside;
  #attempt = null; // the AbortController of the attempt that runs
  #retryTimer = null;
  #silenceTimer = null;
  #pauses = 0; // since the last frame
  #firstPauseMs = FIRST_PAUSE_MS;
  #frame = null;
  #status = {
    connection: "connecting",
    reason: null,
    detail: null,
    lastFrame: null,
    retryAt: null,
    retries: true,
  };

  /** `outside` has `fetch`, `now`, `setTimeout` and `clearTimeout`, as a browser does. */
  constructor({ address, onFrame, onStatus, token, outside }) {
    this.#address = address;
    this.#onFrame = onFrame;
    this.#onStatus = onStatus;
    this.#token = token;
    this.#outside = outside;
  }

  /** Connect now, unless it is connected or trying. */
  async tryNow() {
    if (this.#attempt) return;
    this.#outside.clearTimeout(this.#retryTimer);
    const attempt = (this.#attempt = new AbortController());
    // While it was cut off it stays so until a frame comes: a page that flickers between two states tells nothing.
    const begins = ["token", "ended"].includes(this.#status.connection) || this.#frame === null;
    this.#report({ retryAt: null, retries: true, ...(begins ? { connection: "connecting", reason: null } : {}) });
    let failure;
    try {
      failure = await this.#read(attempt);
    } catch (error) {
      failure = error instanceof Failure ? error : new Failure("unreachable");
    }
    if (this.#attempt === attempt) this.#failed(failure);
  }

  /** Begin anew, though it may be trying or connected: another token is there. */
  restart() {
    this.#stop();
    return this.tryNow();
  }

  async #read(attempt) {
    this.#expectSomething(attempt);
    const held = this.#token();
    // Such a token cannot stand in a header, so it is not the server's; to ask would look as if nobody were there.
    if (held && !/^[\x21-\x7e]+$/.test(held)) throw new Failure("token", "wrong");
    const response = await this.#outside.fetch(this.#address, {
      headers: { Accept: "text/event-stream", ...(held ? { Authorization: `Bearer ${held}` } : {}) },
      cache: "no-store",
      signal: attempt.signal,
    });
    if (this.#attempt !== attempt) return null;
    await judge(response, held);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const events = new EventReader();
    for (;;) {
      const { value, done } = await reader.read().catch(() => ({ done: true }));
      if (this.#attempt !== attempt) return null;
      if (done) return new Failure("closed");
      this.#expectSomething(attempt);
      for (const event of events.read(value)) {
        if (event.event === "frame") this.#take(event.data);
        if (this.#frame?.has_ended) return new Failure("ended");
        if (event.event === "end") return new Failure("stopping");
      }
      if (events.held > MOST_HELD) throw new Failure("content");
      this.#firstPauseMs = events.retryMs ?? this.#firstPauseMs;
    }
  }

  #take(text) {
    const frame = parsed(text);
    this.#frame = frame;
    this.#pauses = 0;
    const live = { connection: "live", reason: null, detail: null, retryAt: null, retries: true };
    this.#status = { ...this.#status, ...live, lastFrame: this.#outside.now() };
    try {
      this.#onFrame(frame);
    } catch (error) {
      throw new Failure("content", `${error}`);
    }
    this.#report({});
  }

  /** Start counting the silence again. */
  #expectSomething(attempt) {
    this.#outside.clearTimeout(this.#silenceTimer);
    const patienceMs = Math.max(FRAMES_MISSED * (this.#frame?.next_s ?? 0) * 1000, LEAST_SILENCE_MS);
    this.#silenceTimer = this.#outside.setTimeout(() => {
      if (this.#attempt === attempt) this.#failed(new Failure("silent"));
    }, patienceMs);
  }

  #failed({ reason, detail, waitMs }) {
    this.#stop();
    const outcome = OUTCOMES[reason];
    let retryAt = null;
    if (outcome.retries) {
      const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(waitMs, this.#firstPauseMs * 2 ** this.#pauses));
      this.#pauses += 1;
      retryAt = this.#outside.now() + pauseMs;
      this.#retryTimer = this.#outside.setTimeout(() => this.tryNow(), pauseMs);
    }
    this.#report({ ...outcome, reason, detail, retryAt });
  }

  #stop() {
    this.#outside.clearTimeout(this.#retryTimer);
    this.#outside.clearTimeout(this.#silenceTimer);
    const attempt = this.#attempt;
    this.#attempt = null;
    attempt?.abort();
  }

  #report(change) {
    this.#status = { ...this.#status, ...change };
    this.#onStatus({ ...this.#status });
  }
}

/** Raise unless the server answered with a stream. */
async function judge(response, held) {
  const type = response.headers.get("content-type") ?? "";
  if (response.ok && type.startsWith("text/event-stream") && response.body) return;
  const detail = await problem(response, type);
  if (response.status === 401 || response.status === 403) throw new Failure("token", held ? "wrong" : null);
  if (response.status === 503) {
    throw new Failure("busy", detail, 1000 * Number(response.headers.get("retry-after") ?? 0) || 0);
  }
  if (response.ok) throw new Failure("content");
  throw new Failure("answer", detail ?? `status ${response.status}`);
}

const LONGEST_DETAIL = 500;

/** What the server says about it, if it says it as problem+json. */
async function problem(response, type) {
  if (!/json/.test(type)) return null;
  try {
    const { title, detail } = await response.json();
    const said = [title, detail].filter((part) => typeof part === "string" && part);
    return said.length ? said.join(": ").slice(0, LONGEST_DETAIL) : null;
  } catch {
    return null;
  }
}

function parsed(text) {
  let frame;
  try {
    frame = JSON.parse(text);
  } catch {
    throw new Failure("content");
  }
  if (!Number.isInteger(frame?.version)) throw new Failure("content");
  if (frame.version !== FRAME_VERSION) throw new Failure("version");
  return frame;
}
