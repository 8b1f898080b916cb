// Which arm has which key: a number and a colour, the same in table and chart for as long as the page is open.

export const KEY_COUNT = 7;
export const REST = 8; // the colour of all arms that have no key

export class Keys {
  #byArm = new Map();

  /** Give a key to each of these arms. An arm that has one keeps it; keys are taken over only when all are in use. */
  give(arms) {
    const wanted = new Set(arms);
    for (const arm of wanted) {
      if (this.#byArm.has(arm)) continue;
      const key = this.#free(wanted);
      if (key !== null) this.#byArm.set(arm, key);
    }
  }

  of(arm) {
    return this.#byArm.get(arm) ?? null;
  }

  #free(wanted) {
    const used = new Set(this.#byArm.values());
    for (let key = 1; key <= KEY_COUNT; key += 1) if (!used.has(key)) return key;
    for (const [arm, key] of this.#byArm) {
      if (wanted.has(arm)) continue;
      this.#byArm.delete(arm);
      return key;
    }
    return null;
  }
}
