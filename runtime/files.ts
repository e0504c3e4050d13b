import { readFile } from "node:fs/promises";

/** A file's text, or null when there is no such file. @throws Error when it is there and cannot be read */
export async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
