// What talking on demand saves, and what learning cost: two charts over time.

import { curves } from "./curves.js";
import { byId, say, showIf } from "./elements.js";
import { count, decimal, plural, saving, shortCount } from "./format.js";

const BYTES = ["bytes", "kB", "MB", "GB", "TB"];

export function messagesSection() {
  const drawMessages = curves(byId("messages-plot"), {
    words: count,
    onRead: (words) => {
      say(byId("messages-reading"), words);
      const isLog = byId("messages-plot").dataset.scale === "logarithmic";
      say(byId("messages-scale"), isLog ? "Logarithmic scale." : "");
    },
  });
  const drawRegret = curves(byId("regret-plot"), {
    words: (value) => decimal(value, 1),
    onRead: (words) => say(byId("regret-reading"), words),
  });
  return ({ messages, series }) => {
    const { sentence, part, short } = saving(messages);
    say(byId("messages-note"), `${sentence}${part > 0 ? `: ${short} saved` : ""}.`);
    say(
      byId("messages-sums"),
      `In all ${plural(messages.packets, "packet")} (${bytes(messages.bytes)}) ` +
        `for ${plural(messages.observed, "observation")}, including repeats and acknowledgements.`,
    );
    const enough = series.at.length > 1;
    const compares = enough && series.immediate.at(-1) > 0;
    showIf(byId("messages-plot"), compares);
    showIf(byId("messages-reading"), compares);
    if (compares) {
      drawMessages(series.at, [
        { name: "immediate broadcast", short: "broadcast", values: series.immediate },
        { name: "shares on demand", short: "on demand", values: series.shares },
      ]);
    }
    showIf(byId("regret-section"), series.regret !== null);
    showIf(byId("regret-plot"), series.regret !== null && enough);
    if (series.regret !== null && enough) {
      drawRegret(series.at, [{ name: "regret", short: "regret", values: series.regret }]);
    }
  };
}

function bytes(value) {
  let scaled = value;
  let unit = 0;
  while (scaled >= 1000 && unit < BYTES.length - 1) {
    scaled /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? shortCount(scaled) : scaled.toFixed(scaled < 10 ? 1 : 0)}\u00a0${BYTES[unit]}`;
}
