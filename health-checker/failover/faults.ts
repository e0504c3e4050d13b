// Named fault points for tests: before and after every compare-and-set and every command. Nothing here acts unless the
// process was started with FAULT_POINTS=1.

export type FaultMode = "crash" | "hold" | "fail" | "off";

/** What a fault point in mode `fail` throws, as if the step's answer had been lost. */
export class FaultInjected extends Error {
  override readonly name = "FaultInjected";
}

export class FaultPoints {
  readonly enabled: boolean;
  readonly #armed = new Map<string, Exclude<FaultMode, "off">>();
  readonly #held = new Map<string, (() => void)[]>();
  readonly #reached = new Map<string, number>();

  constructor(enabled: boolean) {
    this.enabled = enabled;
  }

  /** Arms `point`, such as `cas.PROMOTE:before` or `revoke@s1b:after`; `off` lets what is held go on. */
  arm(point: string, mode: FaultMode): void {
    if (mode !== "off") {
      this.#reached.delete(point); // counted from here
      this.#armed.set(point, mode);
      return;
    }
    this.#armed.delete(point);
    for (const go of this.#held.get(point) ?? []) go();
    this.#held.delete(point);
  }

  /** How often each point was passed or held; for tests that wait for one. */
  reached(): Record<string, number> {
    return Object.fromEntries(this.#reached);
  }

  /** Passes, waits until the point is switched off, throws, or ends the process as kill -9 would. */
  async at(step: string, server: string | null, place: "before" | "after"): Promise<void> {
    if (!this.enabled) return;
    const points = [`${step}:${place}`, ...(server === null ? [] : [`${step}@${server}:${place}`])];
    for (const point of points) {
      this.#reached.set(point, (this.#reached.get(point) ?? 0) + 1);
      const mode = this.#armed.get(point);
      if (mode === "crash") process.kill(process.pid, "SIGKILL");
      if (mode === "fail") throw new FaultInjected(point);
      if (mode === undefined) continue;
      await new Promise<void>((resolve) => {
        this.#held.set(point, [...(this.#held.get(point) ?? []), resolve]);
      });
    }
  }
}
