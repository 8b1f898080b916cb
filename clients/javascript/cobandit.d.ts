/** A client for the HTTP sidecar of cobandit (`cobandit serve`). Fields are named as the sidecar's JSON names them. */

/** A request for a decision. */
export interface SelectRequest {
  /** Who the decision is for. The same subject gets the same arm again while it is on offer. */
  readonly subject?: string | null;
  /** Choose one of these arms only. */
  readonly among?: readonly string[] | null;
  /** Which bandit of a fleet. */
  readonly bandit?: string | null;
  /** A segment of the bandit, which learns separately. */
  readonly segment?: string;
}

/** One bandit of a fleet, at one member. */
export interface BanditStatistics {
  readonly name: string;
  readonly arms: readonly string[];
  readonly segments: number;
  readonly observations: number;
  readonly own_observations: number;
  /** The smallest and the largest reward. */
  readonly rewards: readonly [number, number];
  readonly window_s?: number | null;
  readonly half_life_s?: number | null;
  readonly control_arm?: string | null;
  readonly frozen?: readonly string[];
  readonly lift?: Lift | null;
  readonly guardrail?: GuardrailStatistics | null;
  /** Which arm leads in the segment about which most is known. */
  readonly verdict?: Verdict | null;
  readonly judged_segment?: string;
}

/** The arm to pull, and the id to reward it with. */
export interface SelectedArm {
  readonly id: string;
  readonly arm: string;
  /** The probability of this arm; null if the policy draws at random without giving it. */
  readonly propensity: number | null;
}

/** The reward of one decision of several, from 0 to 1. */
export interface RewardOfOne {
  readonly id: string;
  readonly reward: number;
}

/** What became of one reward of several. */
export interface CountedOne {
  readonly id: string;
  /** Whether this made it count: false if it was rewarded before, has expired, was passed on or was refused. */
  readonly counted: boolean;
  /** Whether the reward is being delivered to another member, which made the decision. Only that member can tell whether it counts. */
  readonly passed_on?: boolean;
  /** Whether the decision is too old, or its arm is gone. Unless the reward counted before, it never will. */
  readonly given_up?: boolean;
  /** Why it was refused, if it was. */
  readonly problem?: Problem | null;
}

/** Why a request was refused (RFC 9457). */
export interface Problem {
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly type?: string;
}

/** One arm, as the member sees it. */
export interface ArmStatistics {
  readonly arm: string;
  readonly observations: number;
  readonly own_observations: number;
  readonly mean: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly is_candidate: boolean;
  readonly is_frozen: boolean;
  readonly is_removed: boolean;
  readonly p_best?: number | null;
  readonly propensity?: number | null;
}

/** How much more the bandit brings than the hold-out. */
export interface Lift {
  readonly observations: number;
  readonly mean: number | null;
  readonly held_out: number;
  readonly held_out_mean: number | null;
  readonly lift: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly text: string;
}

/** How one arm does on the guardrail's metric. */
export interface ArmGuardrail {
  readonly arm: string;
  readonly reports: number;
  readonly mean: number;
  readonly is_violated: boolean;
}

/** A second metric that must stay below a limit. */
export interface GuardrailStatistics {
  readonly metric: string;
  readonly limit: number;
  readonly arms: readonly ArmGuardrail[];
}

/** Which arm leads, how sure that is, and what stopping now would cost. */
export interface Verdict {
  readonly leader: string;
  readonly p_best: number;
  readonly mean: number;
  readonly loss: number;
  readonly is_converged: boolean;
  readonly observations: number;
  readonly is_of_policy: boolean;
  readonly text: string;
}

/** One other member, as the member sees it. */
export interface PeerStatistics {
  readonly name: string;
  readonly is_present: boolean;
  readonly common_arms: number;
  readonly heard_s: number | null;
  readonly shares_sent: number;
  readonly shares_received: number;
  readonly repetitions: number;
  readonly held: number;
  readonly lacks: number;
  readonly incarnation?: number | null;
  readonly wire_version?: number;
  readonly role?: "member" | "relay" | "leaf";
  readonly observations?: number;
  readonly lacks_settings?: boolean;
}

/** Packets and bytes since the member started. */
export interface Communication {
  readonly shares?: number;
  readonly repetitions?: number;
  readonly acknowledgements?: number;
  readonly notices?: number;
  readonly letters?: number;
  readonly lost?: number;
  readonly bytes_sent?: number;
  readonly received?: number;
  readonly bytes_received?: number;
}

/** The state of one member at one moment. */
export interface Statistics {
  readonly name: string;
  readonly group: string;
  readonly at: number;
  readonly uptime_s: number;
  readonly incarnation: number;
  readonly policy: string;
  readonly decisions: number;
  readonly own_observations: number;
  readonly observations: number;
  readonly open_decisions: number;
  readonly arms: readonly ArmStatistics[];
  readonly control_arm: string | null;
  readonly peers: readonly PeerStatistics[];
  readonly communication: Communication;
  readonly refused: Readonly<Record<string, number>>;
  readonly quarantined: readonly string[];
  readonly troubles: readonly string[];
  readonly synced_batches: number;
  readonly observed?: number;
  readonly immediate?: number;
  readonly rewards_waiting?: number;
  readonly rewards_brought?: number;
  readonly rewards_given_up?: number;
  readonly rewards_handed_on?: number;
  readonly verdict?: Verdict | null;
  readonly lift?: Lift | null;
  readonly guardrail?: GuardrailStatistics | null;
  /** The named bandits, for a member of a fleet. */
  readonly bandits?: readonly BanditStatistics[];
  readonly role?: "member" | "relay" | "leaf";
  readonly homes?: readonly string[];
  readonly latest_setting?: number;
  readonly settings_from?: string | null;
  readonly is_superseded?: boolean;
  readonly certificate_s?: number | null;
  readonly trust_number?: number | null;
  readonly gone?: number;
  readonly gone_observations?: number;
  readonly gone_names?: readonly string[];
  readonly version?: string;
}

/** One arm, as the group sees it. */
export interface FleetArm {
  readonly arm: string;
  readonly observations: number;
  readonly share: number;
  readonly mean: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly frozen_at: number;
  readonly offered_at: number;
  readonly p_best?: number | null;
}

/** Every member of the group that answered, and what they know together. */
export interface FleetView {
  readonly group: string;
  readonly arms: readonly FleetArm[];
  readonly members: readonly Statistics[];
  readonly silent: readonly string[];
  readonly verdict?: Verdict | null;
  readonly lift?: Lift | null;
  readonly guardrail?: GuardrailStatistics | null;
  readonly bandits?: readonly BanditStatistics[];
}

/** How to ask. */
export interface CallOptions {
  /** Ends the call early; it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** How long one attempt may take. */
  readonly timeoutMs?: number;
  /** How often to retry, where that is safe. */
  readonly retries?: number;
}

/** How to reward. */
export interface UpdateOptions extends CallOptions {
  /** Whether to answer only when the reward is on the sidecar's disk. */
  readonly sync?: boolean;
}

/** How to reach a sidecar. */
export interface CobanditOptions {
  /** Its address; http://127.0.0.1:8700 by default. */
  readonly url?: string | URL;
  /** Its token; the first line of `cobandit serve` says where it is. */
  readonly token: string;
  /** How long one attempt may take; 5000 by default. */
  readonly timeoutMs?: number;
  /** How often to retry, where that is safe; 6 by default, with pauses of three to six seconds in total. */
  readonly retries?: number;
  /** Another `fetch`, for tests or proxies. */
  readonly fetch?: typeof globalThis.fetch;
}

/** What went wrong, in words for the person who has to act. */
export class CobanditError extends Error {
  constructor(detail: string, options?: { status?: number | null; cause?: unknown });
  /** The status of the answer; null if there was none. */
  readonly status: number | null;
  /** What is wrong, and who has to act. */
  readonly detail: string;
}

/**
 * One sidecar.
 *
 * Everything but `select` and `selectMany` may be repeated, and is, after a lost answer or a 503. Those two are only
 * repeated if they cannot have been carried out: after a 503, or if nobody listened.
 */
export class Cobandit {
  constructor(options: CobanditOptions);
  /** Decide which arm to pull. */
  select(wanted?: SelectRequest, options?: CallOptions): Promise<SelectedArm>;
  /** Decide several times at once: all are made, or none. At most 1000. */
  selectMany(requests: readonly SelectRequest[], options?: CallOptions): Promise<readonly SelectedArm[]>;
  /**
   * Reward a decision, from 0 to 1. Returns whether it was taken: false if it was rewarded before or has expired, or if an
   * attempt whose answer was lost did it. Of another member's decision always true: it is passed on, and only that member
   * can tell whether it counts.
   */
  update(decision: SelectedArm | string, reward: number, options?: UpdateOptions): Promise<boolean>;
  /** Reward several decisions, each handled separately. At most 1000. */
  updateMany(updates: readonly RewardOfOne[], options?: UpdateOptions): Promise<readonly CountedOne[]>;
  /**
   * Take back a decision that was never carried out. Returns whether it was still open: false also if an attempt whose
   * answer was lost did it.
   */
  withdraw(decision: SelectedArm | string, options?: CallOptions): Promise<boolean>;
  /** Reports a value of the guardrail's metric, before the reward; whether it counts. */
  report(decision: SelectedArm | string, metric: string, value: number, options?: CallOptions): Promise<boolean>;
  /** The arms, as this member sees them. */
  arms(options?: CallOptions): Promise<readonly ArmStatistics[]>;
  /** Offer an arm at this member. */
  addArm(arm: string, options?: CallOptions): Promise<ArmStatistics>;
  /** Stop offering an arm at this member. Harmless if it is already removed. */
  removeArm(arm: string, options?: CallOptions): Promise<void>;
  /** Freeze an arm: no traffic, at every member. */
  freezeArm(arm: string, options?: CallOptions): Promise<void>;
  /** Let the policy choose an arm again, at every member. */
  unfreezeArm(arm: string, options?: CallOptions): Promise<void>;
  /** The only arm that is pulled, if the kill switch is on. */
  killSwitch(options?: CallOptions): Promise<string | null>;
  /** Turn the kill switch on, at every member. */
  kill(controlArm: string, options?: CallOptions): Promise<void>;
  /** Turn the kill switch off, at every member. */
  lift(options?: CallOptions): Promise<void>;
  /** The state of this member. */
  statistics(options?: CallOptions): Promise<Statistics>;
  /** The state of every member of the group; takes up to two seconds. */
  fleet(options?: CallOptions): Promise<FleetView>;
  /** Whether the sidecar accepts decisions and rewards now. */
  isReady(options?: CallOptions): Promise<boolean>;
}
