import { randomBytes } from "node:crypto";
import { z } from "zod";
import { readIfThere } from "../runtime/files.ts";
import { type ClusterFolder, writeFileAtomically } from "./folder.ts";

const ACCOUNTS = ["root", "agent", "watch", "replication", "clone", "app", "migrate", "viewer", "control"] as const;
export type AccountName = (typeof ACCOUNTS)[number];

const PASSWORD_BYTES = 18;

const secretsSchema = z.strictObject({
  /** Names this cluster's triples: data of another cluster is never taken for its own. */
  clusterId: z.string().regex(/^[0-9a-f]{8}$/),
  passwords: z.record(z.enum(ACCOUNTS), z.string().min(16)),
});
export type ClusterSecrets = z.infer<typeof secretsSchema>;

/** For what depends on everything but the secrets. */
export const NO_SECRETS: ClusterSecrets = {
  clusterId: "",
  passwords: Object.fromEntries(ACCOUNTS.map((name) => [name, ""])) as Record<AccountName, string>,
};

/**
 * The cluster's passwords: made at its first start, kept in a file that only its owner may read.
 * @throws Error when the file is damaged
 */
export async function loadOrMakeSecrets(folder: Pick<ClusterFolder, "dir" | "path">): Promise<ClusterSecrets> {
  const path = folder.path("secrets.json");
  // One that cannot be read is no missing one: new passwords would lock the databases for ever.
  const text = await readIfThere(path);
  if (text !== null) {
    const parsed = secretsSchema.safeParse(parseJson(text));
    if (parsed.success) return parsed.data;
    throw new Error(`${path} is damaged: restore it, or remove ${folder.dir} to begin with empty data`);
  }
  const password = (): string => randomBytes(PASSWORD_BYTES).toString("base64url");
  const secrets: ClusterSecrets = {
    clusterId: randomBytes(4).toString("hex"),
    passwords: Object.fromEntries(ACCOUNTS.map((name) => [name, password()])) as Record<AccountName, string>,
  };
  await writeFileAtomically(path, `${JSON.stringify(secrets, null, 2)}\n`, 0o600);
  return secrets;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
