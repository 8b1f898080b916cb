// What is said about the connection: the words for each status, the banner, and the form for a token.

import { byId, mark, say, showIf } from "./elements.js";
import { clock } from "./format.js";
import { setPill } from "./signs.js";
import { CONNECTIONS } from "./words.js";

const WHY = {
  unreachable: "The server does not answer.",
  closed: "The server closed the connection.",
  silent: "The server has sent nothing for too long.",
  busy: "The server accepts no more viewers right now.",
  stopping: "The server is shutting down.",
};

/** The banner's words: what is the matter, what is on the page, what is done about it. `null`: no banner. Pure. */
export function banner(status, now) {
  const since = status.lastFrame === null ? null : clock(status.lastFrame / 1000);
  const old = since ? ` The numbers below are from ${since}.` : "";
  const again = retrying(status, now);
  switch (status.connection) {
    case "live":
    case "connecting":
      return null;
    case "token":
      return null; // the form says it
    case "ended":
      return {
        tone: "",
        title: "This demonstration is over.",
        text: "The numbers below are the last ones.",
        button: "Try again",
      };
    case "disconnected":
      return {
        tone: "bad",
        title: since ? `Disconnected since ${since}.` : "Disconnected.",
        text: [said(status.detail) || WHY[status.reason], since ? "The numbers below are from then." : "", again]
          .filter(Boolean)
          .join(" "),
        button: "Try now",
      };
    default:
      return status.reason === "version"
        ? { tone: "bad", title: "This page is older than the server.", text: `Reload it.${old}`, button: "Reload" }
        : {
            tone: "bad",
            title:
              status.reason === "answer"
                ? "The server reports an error."
                : "The server sent something this page does not understand.",
            text: `${said(status.detail)}${old} ${again}`.trim(),
            button: "Try now",
          };
  }
}

const said = (detail) => (detail ? `The server says: “${detail.replace(/\.$/, "")}”.` : "");

function retrying(status, now) {
  if (!status.retries) return "";
  if (status.retryAt === null) return "Trying now.";
  const left = Math.ceil(Math.max(0, status.retryAt - now) / 1000);
  return left > 0 ? `Trying again in ${left}\u00a0s.` : "Trying now.";
}

/** Draws a status, and counts down. `act(what)` is called with `retry`, `reload` or `token`. */
export function connectionView(act) {
  let status = null;
  let timer = null;
  let announced = null;

  byId("banner-button").addEventListener("click", () => act(status.reason === "version" ? "reload" : "retry"));
  byId("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const value = byId("token").value.trim();
    if (value) act("token", value);
  });

  function draw() {
    clearTimeout(timer);
    const { connection } = status;
    const look = CONNECTIONS[connection];
    mark(document.body, "data-connection", connection);
    mark(document.body, "data-reason", status.reason);
    setPill(byId("live"), look, look.word);
    drawToken();
    const words = banner(status, Date.now());
    showIf(byId("banner"), words);
    if (words) {
      mark(byId("banner"), "class", `banner ${words.tone}`.trim());
      say(byId("banner-title"), words.title);
      say(byId("banner-text"), words.text);
      say(byId("banner-button"), words.button);
    }
    // Said once, and not again with every second that is counted down.
    if (announced !== null && announced !== connection) say(byId("said"), words?.title ?? look.word);
    announced = connection;
    if (status.retryAt !== null) timer = setTimeout(draw, 500);
  }

  function drawToken() {
    const needed = status.connection === "token";
    const appears = needed && byId("token-card").hidden;
    showIf(byId("token-card"), needed);
    if (!needed) return;
    say(byId("token-why"), status.detail === "wrong" ? "That token was not accepted. Check it and try again." : "");
    mark(byId("token"), "aria-invalid", status.detail === "wrong" ? "true" : null);
    if (appears) byId("token").value = "";
    if (appears) byId("token").focus();
  }

  return (now) => {
    status = now;
    draw();
  };
}
