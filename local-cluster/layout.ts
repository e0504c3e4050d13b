import { readFile } from "node:fs/promises";
import { z } from "zod";
import { type ClusterFolder, writeFileAtomically } from "./folder.ts";

/** Stripes of a cluster that nobody gave a number. */
const STRIPES_DEFAULT = 3;

const layoutSchema = z.object({ stripes: z.int().min(1) });

/**
 * How many stripes the folder's cluster has: as asked, else as it had, else three. Stripes are added by asking for more.
 * @throws Error when fewer are asked for than hold data
 */
export async function stripesOf(folder: ClusterFolder, asked: number | undefined): Promise<number> {
  const path = folder.path("layout.json");
  const text = await readFile(path, "utf8").catch(() => undefined);
  const had = text === undefined ? 0 : layoutSchema.parse(JSON.parse(text)).stripes;
  const stripes = asked ?? (had === 0 ? STRIPES_DEFAULT : had);
  if (stripes < had) {
    throw new Error(
      `${folder.dir} holds ${had} stripes, which hold orders: start it with --stripes ${had} or more, or use another --dir`,
    );
  }
  if (stripes !== had) await writeFileAtomically(path, `${JSON.stringify({ stripes })}\n`);
  return stripes;
}
