// Makes what the containers of a cluster find as files: secrets at the first start, configuration at every start. Each
// kind of process has a folder of its own in one volume and is given that folder alone.
import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readIfThere } from "../../runtime/files.ts";
import { writeFileAtomically } from "../folder.ts";
import { pathExists } from "../install/run-command.ts";
import { loadOrMakeSecrets } from "../secrets.ts";
import { Refused } from "./environment.ts";
import { type ConfigFile, configFiles } from "./config-files.ts";
import { type ContainerSize, containerPlan } from "./plan.ts";
import { ALL_SECRETS_DIR, FILES, READERS } from "./places.ts";
import { readStepsFile } from "./steps-file.ts";

const TOKEN_BYTES = 24;

/**
 * Writes everything for a cluster of this size; run again it keeps the secrets and brings the rest up to date.
 * @throws Refused when the cluster has more stripes than that: their orders would be out of reach
 */
export async function setUpContainers(size: ContainerSize): Promise<void> {
  const own = join(ALL_SECRETS_DIR, "own");
  await mkdir(own, { recursive: true, mode: 0o700 });
  const folder = { dir: own, path: (...parts: string[]) => join(own, ...parts) };
  await throwIfSmaller(size.stripes);
  const secrets = await loadOrMakeSecrets(folder);
  const token = await loadOrMakeToken(folder.path(FILES.agentToken));
  const plan = containerPlan(size, secrets.clusterId);
  await Promise.all(configFiles(plan, size, secrets, token).map(put));
}

async function throwIfSmaller(stripes: number): Promise<void> {
  const folder = join(ALL_SECRETS_DIR, READERS.steps);
  if (!(await pathExists(join(folder, FILES.cluster)))) return;
  const before = readStepsFile(folder).size.stripes;
  if (stripes >= before) return;
  throw new Refused(
    `this cluster has ${before} stripes; with STRIPES=${stripes} orders would be out of reach. Start it as it was ` +
      "(without small.env), or a new one under another COMPOSE_PROJECT_NAME",
  );
}

async function loadOrMakeToken(path: string): Promise<string> {
  const found = await readIfThere(path);
  if (found !== null) return found;
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  await writeFileAtomically(path, token, 0o600);
  return token;
}

async function put({ reader, name, content, readable }: ConfigFile): Promise<void> {
  const folder = join(ALL_SECRETS_DIR, reader);
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
  const path = join(folder, name);
  const aside = `${path}.new`;
  await rm(aside, { force: true });
  await writeFile(aside, content, { mode: 0o600 });
  await chown(aside, readable.uid, readable.uid);
  await chmod(aside, readable.mode);
  await rename(aside, path);
}
