/**
 * A client for the HTTP sidecar of cobandit (`cobandit serve`). One module without dependencies, for Node 18 and later, browsers
 * and Deno. What each method does is said in cobandit.d.ts; what the sidecar does, in its /openapi.json.
 */

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

/** What went wrong, in words for whoever must act. */
export class CobanditError extends Error {
  constructor(detail, { status = null, cause } = {}) {
    super(status === null ? detail : `${status}: ${detail}`, cause === undefined ? undefined : { cause });
    this.name = "CobanditError";
    this.status = status;
    this.detail = detail;
  }
}

/** One sidecar. */
export class Cobandit {
  #url;
  #token;
  #timeoutMs;
  #retries;
  #fetch;

  constructor({ url = "http://127.0.0.1:8700", token, timeoutMs = 5000, retries = 6, fetch = globalThis.fetch } = {}) {
    if (typeof token !== "string" || token.trim() === "") {
      throw new TypeError("pass the sidecar's token: the first line of `cobandit serve` says where it is");
    }
    this.#url = addressOf(url);
    this.#token = token.trim();
    this.#timeoutMs = timeoutMs;
    this.#retries = retries;
    this.#fetch = (...given) => fetch(...given);
  }

  select(wanted = {}, options) {
    const { subject = null, among = null, ...unknown } = Object(wanted);
    if (typeof wanted !== "object" || Object.keys(unknown).length) {
      throw new TypeError("select takes an object with subject and among, both of which may be left out");
    }
    return this.#call("POST", "/v1/select", { subject, among }, { ...options, mayRepeat: false });
  }

  async selectMany(requests, options) {
    const answer = await this.#call("POST", "/v1/select-many", { requests }, { ...options, mayRepeat: false });
    return answer.decisions;
  }

  async update(decision, reward, { sync = false, ...options } = {}) {
    const answer = await this.#call("POST", "/v1/update", { id: idOf(decision), reward, sync }, options);
    return answer.counted || answer.passed_on === true;
  }

  async updateMany(updates, { sync = false, ...options } = {}) {
    return (await this.#call("POST", "/v1/update-many", { updates, sync }, options)).results;
  }

  async report(decision, metric, value, options) {
    return (await this.#call("POST", "/v1/report", { id: idOf(decision), metric, value }, options)).counted;
  }

  async withdraw(decision, options) {
    return (await this.#call("POST", "/v1/withdraw", { id: idOf(decision) }, options)).withdrawn;
  }

  async arms(options) {
    return (await this.#call("GET", "/v1/arms", undefined, options)).arms;
  }

  addArm(arm, options) {
    return this.#call("POST", "/v1/arms", { arm }, options);
  }

  async removeArm(arm, options) {
    return this.#call("DELETE", `/v1/arms/${pathOf(arm)}`, undefined, options);
  }

  async freezeArm(arm, options) {
    return this.#call("PUT", `/v1/arms/${pathOf(arm)}/freeze`, undefined, options);
  }

  async unfreezeArm(arm, options) {
    return this.#call("DELETE", `/v1/arms/${pathOf(arm)}/freeze`, undefined, options);
  }

  async killSwitch(options) {
    return (await this.#call("GET", "/v1/kill-switch", undefined, options)).control_arm;
  }

  async kill(controlArm, options) {
    await this.#call("PUT", "/v1/kill-switch", { control_arm: controlArm }, options);
  }

  lift(options) {
    return this.#call("DELETE", "/v1/kill-switch", undefined, options);
  }

  statistics(options) {
    return this.#call("GET", "/v1/statistics", undefined, options);
  }

  fleet(options) {
    return this.#call("GET", "/v1/fleet", undefined, options);
  }

  async isReady(options) {
    try {
      await this.#call("GET", "/readyz", undefined, { ...options, retries: 0 });
      return true;
    } catch (error) {
      if (error instanceof CobanditError) return false;
      throw error;
    }
  }

  /**
   * Ask, and ask again where that is safe. A select that is refused with 503 was not made; what else may be carried out
   * after a 503 does no harm a second time. Whether a request whose answer was lost was carried out nobody knows: a
   * reward counts once all the same, but another select would be another decision.
   */
  async #call(method, path, body, { signal, timeoutMs = this.#timeoutMs, retries = this.#retries, mayRepeat = true } = {}) {
    for (let attempt = 0; ; attempt += 1) {
      let pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt) * (0.5 + 0.5 * Math.random());
      try {
        return await this.#once(method, path, body, signal, timeoutMs);
      } catch (error) {
        if (!(error instanceof CobanditError)) throw error; // the caller's signal
        const isSafe = error.status === null ? mayRepeat || wasNeverSent(error) : error.status === 503;
        if (!isSafe || attempt >= retries) throw error;
        pauseMs = Math.max(pauseMs, Math.min(LONGEST_PAUSE_MS, 1000 * (error.retryAfterS ?? 0)));
      }
      await pause(pauseMs, signal);
    }
  }

  async #once(method, path, body, signal, timeoutMs) {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), timeoutMs);
    const passOn = () => stop.abort(signal.reason);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", passOn, { once: true });
    try {
      const answer = await this.#fetch(this.#url + path, {
        method,
        headers: {
          Authorization: `Bearer ${this.#token}`,
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: stop.signal,
        redirect: "error",
        cache: "no-store",
      });
      const text = await answer.text();
      if (!answer.ok) throw refusal(answer, text);
      return text === "" ? undefined : JSON.parse(text);
    } catch (error) {
      if (error instanceof CobanditError) throw error;
      signal?.throwIfAborted();
      const what = stop.signal.aborted ? `no answer within ${timeoutMs} ms` : `no answer: ${error?.cause?.message ?? error}`;
      throw new CobanditError(`${what} from ${this.#url}: see that the sidecar runs there`, { cause: error });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", passOn);
    }
  }
}

function refusal(answer, text) {
  let detail = answer.statusText || "refused";
  try {
    detail = JSON.parse(text).detail ?? detail;
  } catch {
    // whatever is between here and the sidecar speaks otherwise
  }
  const error = new CobanditError(detail, { status: answer.status });
  error.retryAfterS = Number(answer.headers.get("Retry-After")) || null;
  return error;
}

/** Node says so; browsers do not tell, so there it counts as sent. */
function wasNeverSent(error) {
  const cause = error.cause?.cause ?? error.cause;
  const codes = [cause?.code, ...(cause?.errors ?? []).map((one) => one.code)];
  return codes.includes("ECONNREFUSED");
}

function addressOf(url) {
  const address = String(url);
  try {
    if (/^https?:$/.test(new URL(address).protocol)) return address.replace(/\/+$/, "");
  } catch {
    // said below
  }
  throw new TypeError(`"${address}" is not the address of a sidecar, which looks like http://127.0.0.1:8700`);
}

function idOf(decision) {
  const id = typeof decision === "string" ? decision : decision?.id;
  if (typeof id !== "string") throw new TypeError("pass a decision, or its id");
  return id;
}

function pathOf(arm) {
  if (arm === "." || arm === "..") throw new CobanditError(`a path cannot name the arm "${arm}": rename it`);
  return encodeURIComponent(arm);
}

function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const passOn = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", passOn);
      resolve();
    }, ms);
    signal?.addEventListener("abort", passOn, { once: true });
  });
}
