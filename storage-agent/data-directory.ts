// What an agent does to its mysqld's data directory, of void data only.
import { constants } from "node:fs";
import { cp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** In a data directory: whoever starts mysqld next puts pristine data in the place of all that is there. */
export const PRISTINE_WANTED = "pristine-data-wanted";

/** A clone must get a server_uuid of its own: its next GTIDs must not repeat discarded ones. Of effect at the next start. */
export async function forgetServerUuid(dataDir: string): Promise<void> {
  await rm(join(dataDir, "auto.cnf"), { force: true });
}

/** Asks whoever starts mysqld next for pristine data. */
export async function requestPristineData(dataDir: string): Promise<void> {
  await writeFile(join(dataDir, PRISTINE_WANTED), "", { flush: true });
}

/** True for a directory that is missing, empty, or whose filling was asked for or broken off. */
export async function wantsPristineData(dataDir: string): Promise<boolean> {
  try {
    const names = await readdir(dataDir);
    return names.length === 0 || names.includes(PRISTINE_WANTED);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return true;
    throw error;
  }
}

/**
 * Puts a copy of `templateDir` in the place of all that is in `dataDir`, which stays the directory that it is: it may be
 * a mount. What was broken off is begun again by `wantsPristineData`.
 */
export async function fillDataDirectory(dataDir: string, templateDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  await requestPristineData(dataDir);
  for (const name of await readdir(dataDir)) {
    if (name !== PRISTINE_WANTED) await rm(join(dataDir, name), { recursive: true });
  }
  await cp(templateDir, dataDir, { recursive: true, mode: constants.COPYFILE_FICLONE });
  await forgetServerUuid(dataDir);
  await rm(join(dataDir, PRISTINE_WANTED));
}
