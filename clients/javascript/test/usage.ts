/** What must compile. */

import { Cobandit, CobanditError, type ArmStatistics, type CountedOne, type SelectedArm } from "../cobandit.js";

const cobandit = new Cobandit({ url: new URL("http://127.0.0.1:8700"), token: "from a file", timeoutMs: 1000 });

export async function serve(visitor: string): Promise<string> {
  const decision: SelectedArm = await cobandit.select({ subject: visitor, among: ["red", "green"] });
  const likely: number = decision.propensity ?? 1;
  const counted: boolean = await cobandit.update(decision, likely > 0.5 ? 1 : 0, { sync: true });
  await cobandit.update(decision.id, 0.5);
  return counted ? decision.arm : "counted before";
}

export async function operate(signal: AbortSignal): Promise<void> {
  const results: readonly CountedOne[] = await cobandit.updateMany([{ id: "d1.x", reward: 1 }], { signal });
  for (const result of results) console.log(result.problem?.detail ?? result.counted);
  const best: ArmStatistics | undefined = (await cobandit.arms()).find((arm) => arm.mean !== null && arm.mean > 0.5);
  if (best !== undefined) await cobandit.kill(best.arm);
  const control: string | null = await cobandit.killSwitch();
  console.log(control, (await cobandit.fleet()).members[0]?.peers[0]?.heard_s);
  try {
    await cobandit.removeArm("red", { retries: 0 });
  } catch (error) {
    if (error instanceof CobanditError && error.status === 409) console.log(error.detail);
  }
}
