// The traffic over time, as columns that are wide enough to be seen. Pure: counts are added up, nothing is guessed.

/**
 * Neighbouring intervals are added up until there are at most `most` columns. The groups begin at the first interval,
 * so that columns do not wander when a new one comes.
 */
export function columns(series, most) {
  const intervals = Math.max(0, series.at.length - 1);
  let stride = 1;
  while (intervals / stride > most) stride *= 2;
  const found = [];
  for (let first = 1; first <= intervals; first += stride) {
    const last = Math.min(first + stride - 1, intervals);
    const counts = series.lines.map((line) => sum(line.counts, first, last));
    found.push({
      from: series.at[first - 1],
      to: series.at[last],
      counts,
      total: counts.reduce((one, other) => one + other, 0),
    });
  }
  return found;
}

function sum(counts, first, last) {
  let total = 0;
  for (let index = first; index <= last; index += 1) total += counts[index];
  return total;
}

/** For each line its lower and upper edge in each column, as shares of one; `null` where nobody observed anything. */
export function bands(found, lineCount) {
  const edges = Array.from({ length: lineCount }, () => []);
  for (const column of found) {
    let below = 0;
    for (let line = 0; line < lineCount; line += 1) {
      const above = below + column.counts[line];
      edges[line].push(column.total ? [below / column.total, above / column.total] : null);
      below = above;
    }
  }
  return edges;
}
