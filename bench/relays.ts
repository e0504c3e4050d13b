import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { RelayOrder } from "./delay-relay.ts";

/** Slow links in front of servers. */
export class Relays {
  #child: ChildProcess | undefined;

  /** Whatever is said to a server through its link arrives `delayMs` later. @returns the link's port by server name */
  async start(order: RelayOrder): Promise<Readonly<Record<string, number>>> {
    const child = fork(fileURLToPath(new URL("delay-relay.ts", import.meta.url)));
    this.#child = child;
    child.send(order);
    const [ports] = (await once(child, "message")) as [Record<string, number>];
    return ports;
  }

  stop(): void {
    this.#child?.disconnect();
  }
}
