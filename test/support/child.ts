import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { childEnv } from "../../runtime/env.ts";

export interface Child extends AsyncDisposable {
  readonly process: ChildProcess;
  /** What it has written so far. */
  output(): string;
  /** Resolves with its exit code. */
  readonly exited: Promise<number | null>;
}

/** Runs an entry with this Node. Dispose ends it. */
export function startChild(entry: string, env: Readonly<Record<string, string>>): Child {
  const child = spawn(process.execPath, [entry], { env: childEnv(env), stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += String(data)));
  const exited = once(child, "close").then(([code]) => code as number | null);
  return {
    process: child,
    output: () => output,
    exited,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await exited;
    },
  };
}
