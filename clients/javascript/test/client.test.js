/** The client against a real sidecar, which this file starts; and against servers that misbehave on purpose. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";

import { Cobandit, CobanditError } from "../cobandit.js";

const python = process.env.COBANDIT_PYTHON ?? "python3";
let folder, sidecar, url, token, cobandit;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "cobandit-"));
  const lines = [
    'group = "homepage"',
    'name = "web-1"',
    'url = "udp://127.0.0.1:0"',
    'arms = ["red", "green", "a/b ☃"]',
    'state = "web-1.db"',
    'secret = "a secret for this test, and no other"',
    'listen = "127.0.0.1:0"',
  ];
  await writeFile(join(folder, "web-1.toml"), lines.join("\n"));
  const { COBANDIT_TOKEN: _, ...environment } = process.env;
  sidecar = spawn(python, ["-m", "cobandit", "serve", join(folder, "web-1.toml")], {
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said = await new Promise((resolve, reject) => {
    createInterface({ input: sidecar.stdout }).once("line", resolve);
    sidecar.once("error", reject);
    sidecar.once("exit", () => reject(new Error("the sidecar did not start")));
  });
  url = /ready at (http:\/\/[^ ]+):/.exec(said)[1];
  token = await readFile(join(folder, "web-1.db.token"), "utf8");
  cobandit = new Cobandit({ url, token });
});

after(async () => {
  sidecar.removeAllListeners("exit");
  const ended = new Promise((resolve) => sidecar.once("exit", resolve));
  sidecar.kill("SIGTERM");
  assert.equal(await ended, 0);
  await rm(folder, { recursive: true });
});

test("a decision is rewarded once, by itself or by its id", async () => {
  const decision = await cobandit.select({ subject: "visitor-17" });
  assert.deepEqual(Object.keys(decision).sort(), ["arm", "id", "propensity"]);
  assert.deepEqual(await cobandit.select({ subject: "visitor-17", among: [decision.arm] }).then((one) => one.arm), decision.arm);
  assert.equal(await cobandit.update(decision, 1, { sync: true }), true);
  assert.equal(await cobandit.update(decision.id, 1), false);
});

test("batches are made and rewarded", async () => {
  const decisions = await cobandit.selectMany([{ among: ["red"] }, { among: ["green"] }]);
  assert.deepEqual(decisions.map((one) => one.arm), ["red", "green"]);
  const results = await cobandit.updateMany([{ id: decisions[0].id, reward: 0.5 }, { id: "d1.AAAA", reward: 1 }]);
  assert.deepEqual(results.map((one) => [one.counted, one.problem?.status]), [[true, undefined], [false, 404]]);
  assert.equal(await cobandit.withdraw(decisions[1]), true);
  assert.equal(await cobandit.withdraw(decisions[1]), false);
});

test("arms and the kill switch are operated, whatever an arm is called", async () => {
  await cobandit.freezeArm("a/b ☃");
  const frozen = async () => (await cobandit.arms()).filter((arm) => arm.is_frozen).map((arm) => arm.arm);
  assert.deepEqual(await frozen(), ["a/b ☃"]);
  await cobandit.unfreezeArm("a/b ☃");
  assert.deepEqual(await frozen(), []);
  assert.equal((await cobandit.addArm("violet")).arm, "violet");
  assert.equal(await cobandit.removeArm("violet"), undefined);
  assert.equal(await cobandit.removeArm("violet"), undefined); // as after a lost answer
  await assert.rejects(() => cobandit.removeArm("indigo"), { status: 404 });
  await cobandit.kill("green");
  assert.equal(await cobandit.killSwitch(), "green");
  assert.equal((await cobandit.select()).arm, "green");
  await cobandit.lift();
  assert.equal(await cobandit.killSwitch(), null);
  await assert.rejects(() => cobandit.removeArm(".."), { name: "CobanditError", status: null });
});

test("statistics and the fleet are told", async () => {
  const statistics = await cobandit.statistics();
  assert.equal(statistics.name, "web-1");
  assert.deepEqual((await cobandit.fleet()).members.map((one) => one.name), ["web-1"]);
  assert.equal(await cobandit.isReady(), true);
});

test("a refusal is an error with its status and its words", async () => {
  await assert.rejects(
    () => cobandit.select({ among: ["nothing"] }),
    (error) => {
      assert.ok(error instanceof CobanditError);
      assert.equal(error.status, 409);
      assert.match(error.detail, /^none of the arms to choose from \(nothing\) is on offer now/);
      assert.equal(error.message, `409: ${error.detail}`);
      return true;
    },
  );
  await assert.rejects(() => new Cobandit({ url, token: "wrong" }).arms(), { status: 401 });
  assert.throws(() => new Cobandit({ url }), TypeError);
});

/** Serve what this function answers, and count what came. */
async function misbehaving(answer, use) {
  const seen = [];
  const server = createServer((request, response) => {
    seen.push(request.url);
    request.resume();
    answer(response, seen.length, request);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await use(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  return seen.length;
}

const counted = (response) => response.end('{"counted": true}');

test("an update is repeated after a lost answer, a select is not", async () => {
  const loseFirst = (response, number, request) => (number === 1 ? request.socket.destroy() : counted(response));
  const times = await misbehaving(loseFirst, async (where) => {
    assert.equal(await new Cobandit({ url: where, token }).update("d1.x", 1), true);
  });
  assert.equal(times, 2);
  const once = await misbehaving(loseFirst, async (where) => {
    await assert.rejects(() => new Cobandit({ url: where, token }).select(), { name: "CobanditError", status: null });
  });
  assert.equal(once, 1);
});

test("a reward for another member's decision is taken, and passed on", async () => {
  const passedOn = (response) => response.end('{"counted": false, "passed_on": true}');
  await misbehaving(passedOn, async (where) => {
    assert.equal(await new Cobandit({ url: where, token }).update("d1.x", 1), true);
  });
});

test("a 503 does no harm, so everything is repeated after it", async () => {
  const busyFirst = (response, number) => {
    if (number > 1) return response.end('{"id": "d1.x", "arm": "red", "propensity": 1}');
    return response.writeHead(503, { "Retry-After": "0" }).end('{"detail": "later"}');
  };
  const times = await misbehaving(busyFirst, async (where) => {
    assert.equal((await new Cobandit({ url: where, token }).select()).arm, "red");
  });
  assert.equal(times, 2);
});

test("other refusals are not repeated, and attempts end", async () => {
  const refuse = (status) => (response) => response.writeHead(status).end("not JSON");
  const once = await misbehaving(refuse(500), async (where) => {
    await assert.rejects(() => new Cobandit({ url: where, token }).update("d1.x", 1), { status: 500 });
  });
  assert.equal(once, 1);
  const thrice = await misbehaving(refuse(503), async (where) => {
    await assert.rejects(() => new Cobandit({ url: where, token, retries: 2 }).update("d1.x", 1), { status: 503 });
  });
  assert.equal(thrice, 3);
});

test("a select is repeated if nobody listened", async () => {
  let attempts = 0;
  let nobody;
  await misbehaving(() => {}, async (where) => {
    nobody = where; // until it is closed
  });
  const nobodyFirst = (...given) => {
    attempts += 1;
    if (attempts === 1) return fetch(nobody, given[1]);
    return fetch(...given);
  };
  const decision = await new Cobandit({ url, token, fetch: nobodyFirst }).select();
  assert.ok(decision.id.startsWith("d1."));
  assert.equal(attempts, 2);
});

test("an answer that does not come is not waited for, and a signal ends a call", async () => {
  const never = () => {};
  await misbehaving(never, async (where) => {
    const client = new Cobandit({ url: where, token, timeoutMs: 50, retries: 0 });
    await assert.rejects(() => client.update("d1.x", 1), { name: "CobanditError", status: null, detail: /no answer within 50 ms/ });
    const stop = new AbortController();
    const call = client.statistics({ signal: stop.signal, timeoutMs: 60_000 });
    stop.abort(new Error("enough"));
    await assert.rejects(call, { message: "enough" });
    await assert.rejects(() => client.statistics({ signal: AbortSignal.abort(new Error("before")) }), { message: "before" });
  });
});

test("what cannot be meant is said at once, before anything is sent", async () => {
  const fetch = () => assert.fail("nothing is to be sent");
  for (const url of ["127.0.0.1:8700", "ftp://127.0.0.1", ""]) {
    assert.throws(() => new Cobandit({ url, token: "a token of some length", fetch }), /is not the address of a sidecar/);
  }
  const cobandit = new Cobandit({ token: "a token of some length", fetch });
  for (const wanted of ["visitor-17", { user: "x" }, 7]) assert.throws(() => cobandit.select(wanted), /select takes an object/);
  for (const decision of [undefined, null, {}, 3]) await assert.rejects(cobandit.update(decision, 1), /pass a decision, or its id/);
});
