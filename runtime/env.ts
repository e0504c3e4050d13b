// The only module that reads process.env. A process's config is made in three steps: read strings here, validate with
// the process's own zod schema (see each config.ts), freeze.
import { readFileSync } from "node:fs";
import type { z } from "zod";

/** Oldest Node.js major that runs this project (TypeScript is run without a build step). */
const MIN_NODE_MAJOR = 24;

/** Exits with a clear message when Node.js is too old. Entries call it before anything else. */
export function requireNode(): void {
  const major = Number(process.versions.node.split(".")[0]);
  if (major >= MIN_NODE_MAJOR) return;
  process.stderr.write(
    `Node.js ${MIN_NODE_MAJOR} or newer is needed, this is ${process.versions.node}. ` +
      "Use `npm run …`, which brings its own on Linux, or install a newer Node.js.\n",
  );
  process.exit(1);
}

/**
 * One environment variable, or undefined when unset or empty. With `<name>_FILE` set it is the content of that file,
 * without the end of its last line: how containers are given secrets.
 * @throws Error when that file cannot be read
 */
export function readEnv(name: string): string | undefined {
  const file = process.env[`${name}_FILE`];
  const value =
    file === undefined || file === "" ? process.env[name] : readFileSync(file, "utf8").replace(/\r?\n$/, "");
  return value === undefined || value === "" ? undefined : value;
}

/** The environment handed to child processes, with `extra` on top. */
export function childEnv(extra: Record<string, string>): NodeJS.ProcessEnv {
  return { ...process.env, ...extra };
}

/**
 * Reads and validates the variables that `schema` names.
 * @param schema a zod object whose keys are variable names; values arrive as strings or undefined
 * @throws Error naming every bad variable and what is wrong with it
 */
export function loadConfig<S extends z.ZodObject>(schema: S): Readonly<z.infer<S>> {
  const raw = Object.fromEntries(Object.keys(schema.shape).map((name) => [name, readEnv(name)]));
  const parsed = schema.safeParse(raw);
  if (!parsed.success) {
    const issues = parsed.error.issues.map((i) => `  ${i.path.join(".") || "(config)"}: ${i.message}`).join("\n");
    throw new Error(`bad configuration in the environment:\n${issues}`);
  }
  return Object.freeze(parsed.data) as Readonly<z.infer<S>>;
}
