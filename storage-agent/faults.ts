// Named fault points for tests: a command crashes the process or is held at a place. Nothing here acts unless the
// process was started with FAULT_POINTS=1.
import type { FaultPlace, FaultRequest } from "../core/agent-wire.ts";

export class Faults {
  readonly enabled: boolean;
  readonly #armed = new Map<string, "crash" | "hold">();
  readonly #held = new Map<string, (() => void)[]>();

  constructor(enabled: boolean) {
    this.enabled = enabled;
  }

  arm({ command, place, mode }: FaultRequest): void {
    const key = `${command}:${place}`;
    if (mode !== "off") {
      this.#armed.set(key, mode);
      return;
    }
    this.#armed.delete(key);
    for (const go of this.#held.get(key) ?? []) go();
    this.#held.delete(key);
  }

  /** Passes, waits until the point is switched off, or ends the process as kill -9 would. */
  async at(command: string, place: FaultPlace): Promise<void> {
    const key = `${command}:${place}`;
    const mode = this.#armed.get(key);
    if (mode === undefined) return;
    if (mode === "crash") process.kill(process.pid, "SIGKILL");
    await new Promise<void>((resolve) => {
      this.#held.set(key, [...(this.#held.get(key) ?? []), resolve]);
    });
  }
}
