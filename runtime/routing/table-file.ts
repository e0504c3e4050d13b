// The last good routing table on disk, so that a proxy starts while the control database is away.
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { readIfThere } from "../files.ts";
import { type RoutingTable, routingTableSchema } from "../../core/routing-table.ts";

/** A change of the file's form takes a new number; a file of another form is not read. */
const FILE_FORM = 1;

const fileSchema = z.strictObject({ form: z.literal(FILE_FORM), table: routingTableSchema });

/** Replaces the file atomically: after a crash it holds the old table or the new one. */
export async function saveTable(path: string, table: RoutingTable): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}.new`;
  try {
    const file = await open(temporary, "w", 0o600);
    try {
      await file.writeFile(JSON.stringify({ form: FILE_FORM, table }));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  const folder = await open(dirname(path), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The saved table, or null when there is none. @throws Error when the file cannot be read or is damaged */
export async function loadTable(path: string): Promise<RoutingTable | null> {
  const text = await readIfThere(path);
  return text === null ? null : fileSchema.parse(JSON.parse(text)).table;
}
