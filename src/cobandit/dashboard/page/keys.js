// Which arm has which key: a letter and a colour, the same in table and chart and in every browser. The server gives them.

export const REST = 8; // the colour of all arms that have no key

const BEFORE_A = 96;

/** A letter, because a number would look like a rank. */
export const letter = (key) => String.fromCharCode(BEFORE_A + key);

export class Keys {
  #byArm = new Map();

  /** Take over the keys of the lines of a frame. */
  take(lines) {
    this.#byArm = new Map(lines.filter((line) => !line.is_rest).map((line) => [line.arm, line.key]));
  }

  of(arm) {
    return this.#byArm.get(arm) ?? null;
  }
}
