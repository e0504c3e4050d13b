// The clusters that a bench starts end with it, also when it is ended from outside.
import { type Cluster, type ClusterOptions, startCluster } from "../local-cluster/cluster.ts";

const INTERRUPTED = 130;
const started = new Set<Promise<Cluster>>();
const interrupted = new AbortController();

/** An ephemeral cluster, as `startCluster` makes it. */
export function startBenchCluster(options: ClusterOptions): Promise<Cluster> {
  const cluster = startCluster({ ephemeral: true, signal: interrupted.signal, ...options });
  started.add(cluster);
  return cluster;
}

/** From now on SIGINT and SIGTERM stop what runs or is starting, and then this process. */
export function stopClustersOnSignals(): void {
  const stop = async (): Promise<void> => {
    interrupted.abort();
    await Promise.allSettled([...started].map(async (cluster) => (await cluster)[Symbol.asyncDispose]()));
    process.exit(INTERRUPTED);
  };
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => void stop());
}
