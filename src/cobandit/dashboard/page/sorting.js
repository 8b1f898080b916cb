// In which order arms and members are listed. Pure, and the same input gives the same order.

// Numbers in names count as numbers: edge-2 comes before edge-10.
const names = new Intl.Collator("en", { numeric: true });
const byName = (one, other) => names.compare(one, other) || (one < other ? -1 : one > other ? 1 : 0);
const lastIfNull = (value) => (value === null ? -Infinity : value);
const falling = (one, other) => (one === other ? 0 : other - one);

export const ARM_ORDERS = {
  share: (one, other) => falling(one.share, other.share) || byName(one.arm, other.arm),
  mean: (one, other) => falling(lastIfNull(one.mean), lastIfNull(other.mean)) || byName(one.arm, other.arm),
  name: (one, other) => byName(one.arm, other.arm),
};

export function sortedArms(arms, order) {
  return [...arms].sort(ARM_ORDERS[order] ?? ARM_ORDERS.share);
}

const MEMBER_RANKS = ["superseded", "silent", "here", "not asked", "left"];

function rank(member) {
  const place = MEMBER_RANKS.indexOf(member.state);
  if (place === -1) return 0;
  return member.troubles.length && place > 1 ? 1.5 : place;
}

/** Who needs somebody to look comes first, who has left comes last; otherwise by name. */
export function sortedMembers(members) {
  return [...members].sort((one, other) => rank(one) - rank(other) || byName(one.name, other.name));
}
