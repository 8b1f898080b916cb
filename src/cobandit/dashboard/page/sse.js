// Server-sent events out of pieces of text, as the HTML standard reads them. Pure: no network.

export class EventReader {
  #rest = "";
  #event = "";
  #lines = [];
  retryMs = null; // what the server asked for

  /** Take the next piece of text; return the events that are complete now, each with `event` and `data`. */
  read(text) {
    const events = [];
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) {
      const event = this.#line(line.endsWith("\r") ? line.slice(0, -1) : line);
      if (event) events.push(event);
    }
    return events;
  }

  /** How much is held of a line that is not complete. */
  get held() {
    return this.#rest.length;
  }

  #line(line) {
    if (line === "") return this.#complete();
    const colon = line.indexOf(":");
    if (colon === 0) return null; // a comment
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#event = value;
    if (field === "data") this.#lines.push(value);
    if (field === "retry" && /^\d+$/.test(value)) this.retryMs = Number(value);
    return null;
  }

  #complete() {
    const event = this.#event || "message";
    const lines = this.#lines;
    this.#event = "";
    this.#lines = [];
    // An event without data says nothing by the standard; our "end" may come bare.
    return lines.length || event === "end" ? { event, data: lines.join("\n") } : null;
  }
}
