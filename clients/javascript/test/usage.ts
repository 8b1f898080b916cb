/** What must compile. */

import { Tacit, TacitError, type ArmStatistics, type CountedOne, type SelectedArm } from "../tacit.js";

const tacit = new Tacit({ url: new URL("http://127.0.0.1:8700"), token: "from a file", timeoutMs: 1000 });

export async function serve(visitor: string): Promise<string> {
  const decision: SelectedArm = await tacit.select({ subject: visitor, among: ["red", "green"] });
  const likely: number = decision.propensity ?? 1;
  const counted: boolean = await tacit.update(decision, likely > 0.5 ? 1 : 0, { sync: true });
  await tacit.update(decision.id, 0.5);
  return counted ? decision.arm : "counted before";
}

export async function operate(signal: AbortSignal): Promise<void> {
  const results: readonly CountedOne[] = await tacit.updateMany([{ id: "d1.x", reward: 1 }], { signal });
  for (const result of results) console.log(result.problem?.detail ?? result.counted);
  const best: ArmStatistics | undefined = (await tacit.arms()).find((arm) => arm.mean !== null && arm.mean > 0.5);
  if (best !== undefined) await tacit.kill(best.arm);
  const control: string | null = await tacit.killSwitch();
  console.log(control, (await tacit.fleet()).members[0]?.peers[0]?.heard_s);
  try {
    await tacit.removeArm("red", { retries: 0 });
  } catch (error) {
    if (error instanceof TacitError && error.status === 409) console.log(error.detail);
  }
}
