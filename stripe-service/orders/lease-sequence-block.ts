import type { WireSequenceBlock } from "../../core/schemas/wire.ts";
import { type SequenceName, takeSequenceBlock } from "../db/sequences.ts";
import { done, type Outcome, refused, type Tx, writesRefused } from "./tx.ts";

/** Leases the next `size` numbers of a sequence, for ever. */
export async function leaseSequenceBlock(
  tx: Tx,
  name: SequenceName,
  size: number,
): Promise<Outcome<WireSequenceBlock>> {
  const fenced = writesRefused(tx);
  if (fenced !== undefined) return refused(fenced);
  const first = await takeSequenceBlock(tx.db, name, size);
  await tx.journal({ type: "SEQUENCE_LEASED", data: { sequence: name, first, size } });
  return done({ first, size });
}
