// The fixture of the fault tests: a whole triple whose servers meet each other through links that can misbehave, made
// once for a file and healed after every test.
import { after, afterEach, before } from "node:test";
import { FailoverTriple } from "./failover-triple.ts";
import { ReplicationLinks } from "./replication-link.ts";

export const NAMES = ["s1a", "s1b", "s1c"] as const;

export interface LinkedTriple {
  readonly triple: FailoverTriple;
  readonly links: ReplicationLinks;
}

/** Starts both. Whoever calls this ends them: the triple first. */
export async function startLinkedTriple(
  options: Parameters<typeof FailoverTriple.whole>[0] = {},
): Promise<LinkedTriple> {
  const links = await ReplicationLinks.between(NAMES);
  try {
    return { links, triple: await FailoverTriple.whole({ ...options, configure: links.configure }) };
  } catch (error) {
    await links[Symbol.asyncDispose]();
    throw error;
  }
}

/** Registers the hooks of a test file. @param started told of both before the first test */
export function withLinkedTriple(started: (now: LinkedTriple) => void): void {
  let now: LinkedTriple | null = null;
  before(async () => {
    now = await startLinkedTriple();
    started(now);
  });
  after(async () => {
    await now?.triple[Symbol.asyncDispose]();
    await now?.links[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    now?.links.openAll();
    await now?.triple.heal();
    await now?.triple.untilWhole();
  });
}
