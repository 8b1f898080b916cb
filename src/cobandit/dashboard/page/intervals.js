// The traffic over time, as columns that are wide enough to be seen. Pure: counts are added up, nothing is guessed.

/**
 * Neighbouring intervals are added up until there are about `most` columns at most. The groups begin at the first
 * interval, so that columns do not wander when a new one comes. Intervals in which nobody observed anything are not
 * added to others: they stay gaps.
 */
export function columns(series, most) {
  const intervals = Math.max(0, series.at.length - 1);
  let stride = 1;
  while (intervals / stride > most) stride *= 2;
  const found = [];
  for (let index = 1; index <= intervals; index += 1) {
    const counts = series.lines.map((line) => line.counts[index]);
    const total = counts.reduce((one, other) => one + other, 0);
    const before = found.at(-1);
    if (before && (index - 1) % stride !== 0 && before.total > 0 === total > 0) {
      before.to = series.at[index];
      before.total += total;
      before.counts = before.counts.map((value, line) => value + counts[line]);
    } else {
      found.push({ from: series.at[index - 1], to: series.at[index], counts, total });
    }
  }
  return found;
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
