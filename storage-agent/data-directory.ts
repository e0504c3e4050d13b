// What an agent does to its mysqld's data directory, of void data only.
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** In a data directory: whoever starts mysqld next puts pristine data in the place of all that is there. */
export const PRISTINE_WANTED = "pristine-data-wanted";

/** A clone must get a server_uuid of its own: its next GTIDs must not repeat discarded ones. Of effect at the next start. */
export async function forgetServerUuid(dataDir: string): Promise<void> {
  await rm(join(dataDir, "auto.cnf"), { force: true });
}

/** Asks the container of a mysqld that does not start for pristine data. */
export async function requestPristineData(dataDir: string): Promise<void> {
  await writeFile(join(dataDir, PRISTINE_WANTED), "");
}
