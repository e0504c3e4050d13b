// Named fault points, for tests only: they exist in a process that was started with FAULT_POINTS=1 and nowhere else.
import { z } from "zod";
import { sleep } from "../runtime/clock.ts";

export const RESOLVER_STEPS = ["1", "2", "3", "4a"] as const;
export type ResolverStep = (typeof RESOLVER_STEPS)[number];

const RULES_MAX = 64;
const DELAY_MAX_MS = 60_000;

export const faultRuleSchema = z.strictObject({
  /**
   * `create.before-begin`, `import.before-begin`, `resolver.before-step-N`, `resolver.after-step-N`, or
   * `answer.OPERATION` (after the operation has committed).
   */
  point: z
    .string()
    .regex(/^(create|import)\.before-begin$|^resolver\.(before|after)-step-(1|2|3|4a)$|^answer\.[a-z-]+$/),
  /** `delay`: goes on later; `kill`: the run ends there as if its process had died; `drop`: the answer is not sent. */
  action: z.enum(["delay", "kill", "drop"]),
  ms: z.int().min(0).max(DELAY_MAX_MS).default(0),
  times: z.int().min(1).max(1_000_000).default(1),
  /** Only for subjects (a body, a path, a merchant number) that contain this. */
  match: z.string().max(200).default(""),
});
export type FaultRule = z.infer<typeof faultRuleSchema>;

/** Ends a run at a fault point. */
export class Killed extends Error {
  override readonly name = "Killed";
}

interface Armed {
  readonly rule: FaultRule;
  left: number;
  readonly released: AbortController;
}

export class Faults {
  readonly enabled: boolean;
  #armed: Armed[] = [];

  constructor(enabled: boolean) {
    this.enabled = enabled;
  }

  /** @throws RangeError when too many are armed */
  arm(rule: FaultRule): void {
    if (this.#armed.length >= RULES_MAX) throw new RangeError("too many fault points are armed");
    this.#armed.push({ rule, left: rule.times, released: new AbortController() });
  }

  /** Forgets all rules; what is delayed goes on at once. */
  clear(): void {
    for (const { released } of this.#armed) released.abort();
    this.#armed = [];
  }

  /** Passes a point. @returns whether the answer is to be dropped @throws Killed */
  async at(point: string, subject: string): Promise<boolean> {
    if (!this.enabled) return false;
    const armed = this.#armed.find(
      ({ rule, left }) => left > 0 && rule.point === point && subject.includes(rule.match),
    );
    if (armed === undefined) return false;
    armed.left -= 1;
    switch (armed.rule.action) {
      case "delay":
        await sleep(armed.rule.ms, armed.released.signal);
        return false;
      case "kill":
        throw new Killed(point);
      case "drop":
        return true;
      default:
        return armed.rule.action satisfies never;
    }
  }
}
