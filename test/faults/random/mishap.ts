import type { Random } from "../../../local-cluster/demo/random.ts";
import type { FaultStand } from "./stand.ts";

/** What a mishap has in its hands. */
export interface Scene {
  readonly stand: FaultStand;
  readonly random: Random;
  readonly forMs: number;
  /** The storm is over. */
  readonly end: AbortSignal;
  /** Tells what was done, for the report of a round that breaks. */
  readonly tell: (what: string) => void;
}

export interface Mishap {
  readonly name: string;
  /** How often it is drawn, against the others. */
  readonly weight: number;
  /** Whether a change of source, or the same one leading again, may follow. */
  readonly moves: boolean;
  /** Must be the only one of its round: a person is needed, or a second fault may cost a write by design. */
  readonly alone?: boolean;
  strike(scene: Scene): Promise<void>;
}
