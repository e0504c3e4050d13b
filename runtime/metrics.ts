import { collectDefaultMetrics, Registry } from "prom-client";

/** A fresh registry with Node's default metrics, every series labelled with the process's name. */
export function createMetrics(process_: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ process: process_ });
  collectDefaultMetrics({ register: registry });
  return registry;
}
