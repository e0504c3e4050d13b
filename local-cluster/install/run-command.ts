import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { childEnv, readEnv } from "../../runtime/env.ts";

const OUTPUT_MAX_BYTES = 16 * 1024 * 1024;
const ERROR_TAIL_CHARS = 2_000;

export interface CommandOptions {
  readonly timeoutMs: number;
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/**
 * Runs a program to its end and returns its standard output.
 * @throws Error with the command, how it ended and the tail of what it said
 */
export function runCommand(argv: readonly string[], options: CommandOptions): Promise<string> {
  const [file, ...args] = argv;
  if (file === undefined) throw new Error("no program given");
  return new Promise((resolve, reject) => {
    const settings = {
      timeout: options.timeoutMs,
      killSignal: "SIGKILL" as const,
      maxBuffer: OUTPUT_MAX_BYTES,
      env: childEnv({ LC_ALL: "C", ...options.env }),
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    };
    execFile(file, args, settings, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const said = `${stdout}\n${stderr}`.trim().slice(-ERROR_TAIL_CHARS);
      const how = error.killed
        ? `did not end within ${options.timeoutMs} ms`
        : `failed (${error.code ?? error.message})`;
      reject(new Error(`${argv.join(" ")} ${how}${said === "" ? "" : `:\n${said}`}`, { cause: error }));
    });
  });
}

/** The full path of a program on PATH or in the extra folders given, or undefined. */
export async function findProgram(name: string, extraFolders: readonly string[] = []): Promise<string | undefined> {
  const folders = [...(readEnv("PATH") ?? "").split(delimiter), ...extraFolders];
  for (const folder of folders) {
    if (folder === "") continue;
    const path = join(folder, name);
    if (await isExecutable(path)) return path;
  }
  return undefined;
}

/** Whether there is anything by that name. */
export function pathExists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Whether this user may run the file. */
export function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
