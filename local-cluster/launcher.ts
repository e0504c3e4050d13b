// The launcher as a person meets it: progress, the closing summary, Ctrl-C.
import { monotonicMs } from "../runtime/clock.ts";
import { type Cluster, type ClusterOptions, startCluster } from "./cluster.ts";
import { coloursFor, summary } from "./summary.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const MS_PER_S = 1_000;

/** Runs a cluster in the foreground until a signal comes. Sets the exit code; never throws for what a user can cause. */
export async function runLauncher(options: ClusterOptions): Promise<void> {
  const out = process.stdout;
  const colours = coloursFor(out);
  const beganMs = monotonicMs();
  const tell = (text: string): void => {
    const elapsed = ((monotonicMs() - beganMs) / MS_PER_S).toFixed(1).padStart(6);
    out.write(`${colours.dim}[${elapsed} s]${colours.reset} ${text}\n`);
  };
  const stop = new AbortController();
  const signalled = (): void => {
    if (!stop.signal.aborted) tell("stopping");
    stop.abort();
  };
  for (const signal of SIGNALS) process.on(signal, signalled);
  // Whoever read the output may be gone (a closed terminal, `| head`): the cluster is stopped in order all the same.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", signalled);
  // A fault of our own must not leave processes behind either.
  const faulty = (error: unknown): void => {
    process.stderr.write(`\n${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = 1;
    signalled();
  };
  process.on("uncaughtException", faulty);
  try {
    const cluster = await startCluster({ ...options, tell, signal: stop.signal });
    tell("ready");
    out.write(`\n${summary(cluster.info(), cluster.dir, options.ephemeral === true, colours)}\n`);
    await untilStopped(cluster, stop.signal);
    tell("stopped");
  } catch (error) {
    if (stop.signal.aborted) tell("stopped while starting");
    else process.stderr.write(`\n${(error as Error).message}\n`);
    process.exitCode = 1;
  } finally {
    process.off("uncaughtException", faulty);
    for (const signal of SIGNALS) process.off(signal, signalled);
  }
}

async function untilStopped(cluster: Cluster, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await cluster[Symbol.asyncDispose]();
}
