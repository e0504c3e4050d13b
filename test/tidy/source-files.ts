import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface SourceFile {
  /** Path from the root, with forward slashes. */
  readonly path: string;
  /** First folder of the path; empty for a file in the root. */
  readonly part: string;
  readonly text: string;
  /** Paths from the root of the project files it imports. */
  readonly imports: readonly string[];
}

const IMPORT = /(?:^|\n)\s*(?:import|export)\s[^;]*?from\s+"(\.[^"]+)"|\bimport\(\s*"(\.[^"]+)"\s*\)/g;

function importsOf(path: string, text: string): string[] {
  return [...text.matchAll(IMPORT)].map((m) => relative(ROOT, resolve(ROOT, dirname(path), m[1] ?? m[2] ?? "")));
}

/** Every TypeScript file of the project. */
export function sourceFiles(): SourceFile[] {
  return readdirSync(ROOT, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !/(^|\/)(node_modules|\.local-cluster[^/]*|\.git)(\/|$)/.test(path))
    .sort()
    .map((path) => {
      const text = readFileSync(join(ROOT, path), "utf8");
      return { path, part: path.includes("/") ? (path.split("/")[0] ?? "") : "", text, imports: importsOf(path, text) };
    });
}
