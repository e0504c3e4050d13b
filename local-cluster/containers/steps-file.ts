// What the one-time steps and the demo are told of the cluster that they run in.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { FILES, SECRETS_DIR } from "./places.ts";

const count = z.int().min(1);

const stepsFileSchema = z.object({
  size: z.object({ stripes: count, proxies: count, checkers: count }),
  clusterId: z.string().min(1),
  passwords: z.object({ migrate: z.string(), app: z.string(), control: z.string(), viewer: z.string() }),
  /** Bearer token of the agents; for the demo. */
  token: z.string().optional(),
});
export type StepsFile = z.infer<typeof stepsFileSchema>;

/** @throws Error when the set-up has not written it */
export function readStepsFile(folder = SECRETS_DIR): StepsFile {
  return stepsFileSchema.parse(JSON.parse(readFileSync(join(folder, FILES.cluster), "utf8")));
}
