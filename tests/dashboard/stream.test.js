import assert from "node:assert/strict";
import test from "node:test";

import { banner } from "../../src/cobandit/dashboard/page/connection.js";
import { EventReader } from "../../src/cobandit/dashboard/page/sse.js";
import { LEAST_SILENCE_MS, LONGEST_PAUSE_MS, Stream } from "../../src/cobandit/dashboard/page/stream.js";

test("events come out whole, however the text is cut", () => {
  const text = 'retry: 700\r\n: here\n\nevent: frame\ndata: {"a":1}\n\ndata: one\ndata: two\n\nevent: end\n\n';
  const expected = [
    { event: "frame", data: '{"a":1}' },
    { event: "message", data: "one\ntwo" },
    { event: "end", data: "" },
  ];
  for (let size = 1; size <= text.length; size += 1) {
    const reader = new EventReader();
    const events = [];
    for (let at = 0; at < text.length; at += size) events.push(...reader.read(text.slice(at, at + size)));
    assert.deepEqual(events, expected);
    assert.deepEqual([reader.retryMs, reader.held], [700, 0]);
  }
});

test("a field without a colon, a wrong retry and an event without data do nothing", () => {
  const reader = new EventReader();
  assert.deepEqual(reader.read("data\nretry: soon\n\nevent: frame\n\n"), [{ event: "message", data: "" }]);
  assert.equal(reader.retryMs, null);
});

/** A browser's outside with a clock that is moved by hand, and answers that are given by hand. */
class Outside {
  time = 0;
  timers = new Map();
  requests = [];

  now = () => this.time;

  setTimeout = (call, ms) => {
    const key = Symbol("timer");
    this.timers.set(key, { call, at: this.time + ms });
    return key;
  };

  clearTimeout = (key) => this.timers.delete(key);

  fetch = (address, { headers, signal }) =>
    new Promise((answer, refuse) => {
      signal.addEventListener("abort", () => refuse(new Error("aborted")));
      this.requests.push({ address, headers, answer, refuse, signal });
    });

  async pass(ms) {
    const end = this.time + ms;
    for (;;) {
      const due = [...this.timers].filter(([, { at }]) => at <= end).sort(([, one], [, other]) => one.at - other.at)[0];
      if (!due) break;
      this.timers.delete(due[0]);
      this.time = due[1].at;
      due[1].call();
      await settled();
    }
    this.time = end;
  }
}

/** Let everything happen that can happen now. */
async function settled() {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resume) => setImmediate(resume));
}

const FRAME = { version: 1, next_s: 1, has_ended: false };

function begin({ token = () => null, onFrame } = {}) {
  const outside = new Outside();
  const seen = { statuses: [], frames: [] };
  const stream = new Stream({
    address: "http://here/page/stream",
    onFrame: onFrame ?? ((frame) => seen.frames.push(frame)),
    onStatus: (status) => seen.statuses.push(status),
    token,
    outside,
  });
  stream.tryNow();
  const status = () => seen.statuses.at(-1);
  return { outside, stream, seen, status };
}

/** Answer the last request with a stream, and return how to write into it. */
async function serve(outside) {
  let writer;
  const body = new ReadableStream({ start: (controller) => (writer = controller) });
  outside.requests.at(-1).answer(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  await settled();
  const encoder = new TextEncoder();
  const write = async (text) => {
    writer.enqueue(encoder.encode(text));
    await settled();
  };
  return {
    write,
    frame: (frame) => write(`event: frame\ndata: ${JSON.stringify({ ...FRAME, ...frame })}\n\n`),
    close: async () => {
      writer.close();
      await settled();
    },
  };
}

async function refuse(outside, status, problem = null, headers = {}) {
  const type = problem ? "application/problem+json" : "text/plain";
  const body = problem ? JSON.stringify(problem) : "no";
  outside.requests.at(-1).answer(new Response(body, { status, headers: { "content-type": type, ...headers } }));
  await settled();
}

test("it is connecting until the first frame, and live from then on", async () => {
  const { outside, seen, status } = begin();
  assert.equal(status().connection, "connecting");
  const server = await serve(outside);
  assert.equal(status().connection, "connecting");
  outside.time = 5000;
  await server.frame({ group: "g" });
  assert.deepEqual(seen.frames, [{ ...FRAME, group: "g" }]);
  assert.deepEqual(status(), {
    ...{ connection: "live", reason: null, detail: null, lastFrame: 5000, retryAt: null, retries: true },
  });
});

test("the token is sent as a bearer token, and nothing is sent without one", async () => {
  assert.deepEqual(begin().outside.requests[0].headers, { Accept: "text/event-stream" });
  const { outside } = begin({ token: () => "secret" });
  assert.equal(outside.requests[0].headers.Authorization, "Bearer secret");
});

test("a missing token is asked for, a wrong one is called wrong, and nothing is tried until there is another", async () => {
  let token = null;
  const { outside, stream, status } = begin({ token: () => token });
  await refuse(outside, 401);
  assert.deepEqual([status().connection, status().detail, status().retries], ["token", null, false]);
  await outside.pass(60_000);
  assert.equal(outside.requests.length, 1);
  token = "wrong";
  stream.restart();
  await refuse(outside, 401);
  assert.deepEqual([status().connection, status().detail], ["token", "wrong"]);
});

test("a token that cannot stand in a header is called wrong without asking", async () => {
  for (const token of ["se…cret", "two words", "line\n"]) {
    const { outside, status } = begin({ token: () => token });
    await settled();
    assert.deepEqual([status().connection, status().detail, outside.requests.length], ["token", "wrong", 0]);
  }
});

test("pauses grow up to ten seconds, and begin anew after a frame", async () => {
  const { outside, status } = begin();
  const pauses = [];
  for (let attempt = 0; attempt < 6; attempt += 1) {
    outside.requests.at(-1).refuse(new TypeError("no network"));
    await settled();
    assert.deepEqual([status().connection, status().reason], ["disconnected", "unreachable"]);
    pauses.push(status().retryAt - outside.time);
    await outside.pass(pauses.at(-1));
  }
  assert.deepEqual(pauses, [1000, 2000, 4000, 8000, LONGEST_PAUSE_MS, LONGEST_PAUSE_MS]);
  const server = await serve(outside);
  await server.write("retry: 300\n\n");
  await server.frame({});
  await server.close();
  assert.deepEqual(
    [status().connection, status().reason, status().retryAt - outside.time],
    ["disconnected", "closed", 300],
  );
});

test("while it tries again after a cut it stays not connected, and says since when", async () => {
  const { outside, status, seen } = begin();
  const server = await serve(outside);
  await server.frame({});
  await server.close();
  await outside.pass(1000);
  assert.equal(outside.requests.length, 2);
  assert.deepEqual([status().connection, status().retryAt, status().lastFrame], ["disconnected", null, 0]);
  assert.ok(!seen.statuses.slice(2).some(({ connection }) => connection === "connecting"));
  await (await serve(outside)).frame({});
  assert.equal(status().connection, "live");
});

test("it can be told to try at once, and does not try twice", async () => {
  const { outside, stream } = begin();
  stream.tryNow();
  assert.equal(outside.requests.length, 1);
  outside.requests[0].refuse(new TypeError("no network"));
  await settled();
  stream.tryNow();
  assert.equal(outside.requests.length, 2);
  outside.requests[1].refuse(new TypeError("no network"));
  await settled();
  await outside.pass(1999);
  assert.equal(outside.requests.length, 2);
});

test("silence is a cut after ten seconds, or three frames if those are longer; any sign of life counts", async () => {
  for (const [next_s, patience] of [
    [1, LEAST_SILENCE_MS],
    [5, 15_000],
  ]) {
    const { outside, status } = begin();
    const server = await serve(outside);
    await server.frame({ next_s });
    await server.write(": still here\n\n");
    await outside.pass(patience - 1);
    await server.write(": still here\n\n");
    await outside.pass(patience - 1);
    assert.equal(status().connection, "live");
    await outside.pass(1);
    assert.deepEqual([status().connection, status().reason], ["disconnected", "silent"]);
    assert.ok(outside.requests[0].signal.aborted);
  }
});

test("a server that accepts and says nothing is not waited for for ever", async () => {
  const { outside, status } = begin();
  await outside.pass(LEAST_SILENCE_MS);
  assert.deepEqual([status().connection, status().reason], ["disconnected", "silent"]);
});

test("a full server is asked again when it said, with what it said", async () => {
  const { outside, status } = begin();
  await refuse(outside, 503, { title: "Too many viewers", detail: "16 look already." }, { "retry-after": "5" });
  assert.deepEqual(status(), {
    ...{ connection: "disconnected", reason: "busy", detail: "Too many viewers: 16 look already." },
    ...{ lastFrame: null, retryAt: 5000, retries: true },
  });
});

test("another answer is an error with what the server says", async () => {
  const { outside, status } = begin();
  await refuse(outside, 500, { title: "Broken", detail: "See the log." });
  assert.deepEqual(
    [status().connection, status().reason, status().detail],
    ["error", "answer", "Broken: See the log."],
  );
  await outside.pass(1000);
  await refuse(outside, 404);
  assert.deepEqual([status().connection, status().detail], ["error", "status 404"]);
});

test("what is not a frame is an error, and is asked for again", async () => {
  for (const text of ["event: frame\ndata: {no\n\n", "event: frame\ndata: 7\n\n", "event: frame\ndata: null\n\n"]) {
    const { outside, status } = begin();
    await (await serve(outside)).write(text);
    assert.deepEqual([status().connection, status().reason, status().retries], ["error", "content", true]);
  }
  const { outside, status } = begin();
  outside.requests[0].answer(new Response("<html>", { headers: { "content-type": "text/html" } }));
  await settled();
  assert.deepEqual([status().connection, status().reason], ["error", "content"]);
});

test("a frame that cannot be drawn is an error and not silence", async () => {
  const { outside, status } = begin({
    onFrame: () => {
      throw new TypeError("arms is undefined");
    },
  });
  await (await serve(outside)).frame({});
  assert.deepEqual([status().connection, status().detail], ["error", "TypeError: arms is undefined"]);
});

test("a frame of another version asks for a reload, and nothing is tried again", async () => {
  const { outside, status, seen } = begin();
  await (await serve(outside)).frame({ version: 2 });
  assert.deepEqual([status().connection, status().reason, status().retries], ["error", "version", false]);
  assert.deepEqual(seen.frames, []);
  await outside.pass(60_000);
  assert.equal(outside.requests.length, 1);
});

test("a demonstration that is over is over, and a server that stops is waited for", async () => {
  const over = begin();
  const server = await serve(over.outside);
  await server.frame({ has_ended: true });
  assert.deepEqual([over.status().connection, over.status().retries], ["ended", false]);
  await over.outside.pass(60_000);
  assert.equal(over.outside.requests.length, 1);

  const stops = begin();
  const other = await serve(stops.outside);
  await other.frame({});
  await other.write("event: end\n\n");
  assert.deepEqual([stops.status().connection, stops.status().reason], ["disconnected", "stopping"]);
  await stops.outside.pass(1000);
  assert.equal(stops.outside.requests.length, 2);
});

test("what an attempt says that was given up is not heard", async () => {
  const { outside, stream, seen, status } = begin();
  const old = await serve(outside);
  stream.restart();
  await old.frame({ group: "old" }).catch(() => {});
  assert.deepEqual(seen.frames, []);
  await (await serve(outside)).frame({ group: "new" });
  assert.deepEqual([seen.frames.length, seen.frames[0].group, status().connection], [1, "new", "live"]);
});

const STATUS = { connection: "live", reason: null, detail: null, lastFrame: null, retryAt: null, retries: true };
const at = new Date(2026, 10, 16, 14, 5, 12).getTime();
const words = (status, now = at) => {
  const said = banner({ ...STATUS, ...status }, now);
  return said && `${said.title} ${said.text} [${said.button}]`.replaceAll("\u00a0", " ");
};

test("the banner says since when, what is shown and what is done", () => {
  assert.equal(words({ connection: "live" }), null);
  assert.equal(words({ connection: "connecting" }), null);
  assert.equal(
    words({ connection: "disconnected", reason: "closed", lastFrame: at, retryAt: at + 3100 }),
    "Disconnected since 14:05:12. The server closed the connection. The numbers below are from then. Trying again in 4 s. [Try now]",
  );
  assert.equal(
    words({ connection: "disconnected", reason: "busy", detail: "Full.", retryAt: null }),
    "Disconnected. The server says: “Full”. Trying now. [Try now]",
  );
  assert.equal(
    words({ connection: "error", reason: "answer", detail: "status 500", retryAt: at - 1 }),
    "The server reports an error. The server says: “status 500”. Trying now. [Try now]",
  );
  assert.equal(
    words({ connection: "error", reason: "version", retries: false }),
    "This page is older than the server. Reload it. [Reload]",
  );
  assert.equal(
    words({ connection: "ended", reason: "ended", retries: false }),
    "This demonstration is over. The numbers below are the last ones. [Try again]",
  );
});
