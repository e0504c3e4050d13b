// Whether containers can be had here, and the cluster of docker-compose.yml under a project name of the test's own.
import { type ChildProcessWithoutNullStreams, execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv, promisify } from "node:util";
import assert from "node:assert/strict";
import { Deadline, sleep } from "../../../runtime/clock.ts";
import { createBody, type OrdersApi } from "../../support/orders-api.ts";

// The helper container that cleans up after killed tests is one image more to fetch; tests take down what they start.
process.env.TESTCONTAINERS_RYUK_DISABLED ??= "true";
const { DockerComposeEnvironment, getContainerRuntimeClient, ImageName } = await import("testcontainers");

export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

const run = promisify(execFile);
const COMMAND_MAX_MS = 240_000;
const FAILOVER_MAX_MS = 20_000;
const POLL_MS = 200;
export const BUILD_MAX_MS = 600_000;
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const NO_ENGINE = /Could not find a working container runtime strategy/;
const IMAGES = ["mysql:9.7", "haproxy:lts", "node:24-slim"];

/**
 * Why containers cannot be had here, in one line; false when they can. Only these two reasons excuse a test: an engine
 * that does not answer and an image that is nowhere to be had. @throws Error when our own image cannot be built
 */
export async function containersAreMissing(): Promise<string | false> {
  let client: Awaited<ReturnType<typeof getContainerRuntimeClient>>;
  try {
    client = await getContainerRuntimeClient();
  } catch (error) {
    if (NO_ENGINE.test((error as Error).message)) return "no container engine answers";
    throw error;
  }
  for (const image of IMAGES) {
    const name = ImageName.fromString(image);
    if (await client.image.exists(name)) continue;
    try {
      await client.image.pull(name);
    } catch (error) {
      return `the image ${image} cannot be had: ${lastLine((error as Error).message)}`;
    }
  }
  await docker(["compose", "build", "--quiet", "set-up"], {}, BUILD_MAX_MS);
  return false;
}

function lastLine(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.at(-1)?.trim() ?? text;
}

/** Runs the engine's command line in the project's folder. @throws Error with what it said */
export async function docker(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  timeoutMs = COMMAND_MAX_MS,
): Promise<string> {
  const options = { cwd: ROOT, env: { ...process.env, ...env }, timeout: timeoutMs, maxBuffer: OUTPUT_BYTES_MAX };
  const { stdout } = await run("docker", [...args], options);
  return stdout;
}

/** What a program wrote, and how it ended. */
export async function outputOf(
  child: ChildProcessWithoutNullStreams,
): Promise<{ readonly code: number; readonly output: string }> {
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  return { code: code ?? 1, output };
}

interface Triple {
  readonly source: string;
  readonly ack_set: readonly string[];
  readonly recoveries: readonly {
    readonly kind: string;
    readonly victim: string | null;
    readonly outcome: string | null;
  }[];
}

export type ComposeSettings = Readonly<Record<string, string>>;

/** The settings of an env file, as `--env-file` reads them. */
export function settingsOf(envFile: string): ComposeSettings {
  return parseEnv(readFileSync(join(ROOT, envFile), "utf8")) as ComposeSettings;
}

/** A compose cluster under a name of its own. */
export class ComposeCluster implements AsyncDisposable {
  readonly project: string;
  readonly url: string;
  readonly opsUrl: string;
  readonly env: Readonly<Record<string, string>>;

  private constructor(project: string, port: number, env: Readonly<Record<string, string>>) {
    this.project = project;
    this.url = `http://127.0.0.1:${port}`;
    this.opsUrl = `http://127.0.0.1:${port + 1}`;
    this.env = env;
  }

  /** Starts it on empty volumes and resolves when everything is healthy. @param port and the next are published */
  static async start(project: string, port: number, settings: ComposeSettings): Promise<ComposeCluster> {
    const ports = { PORT: String(port), OPS_PORT: String(port + 1) };
    const env = { COMPOSE_PROJECT_NAME: project, ...ports, ...settings };
    const cluster = new ComposeCluster(project, port, env);
    await cluster[Symbol.asyncDispose](); // what a killed test has left
    await new DockerComposeEnvironment(ROOT, "docker-compose.yml")
      .withProjectName(project)
      .withEnvironment({ ...(process.env as Record<string, string>), ...env })
      .withClientOptions({ commandOptions: ["--wait"] })
      .up();
    return cluster;
  }

  compose(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    return docker(["compose", ...args], { ...this.env, ...env });
  }

  /** `up --wait` again, perhaps with other settings. */
  async up(env: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.compose(["up", "--wait"], env);
  }

  container(service: string, instance = 1): string {
    return `${this.project}-${service}-${instance}`;
  }

  /** As the control database has it. */
  async triple(stripe: number): Promise<Triple> {
    const answer = await fetch(`${this.opsUrl}/ops/v1/stripes/${stripe}`, { signal: AbortSignal.timeout(5_000) });
    return ((await answer.json()) as { triple: Triple }).triple;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.compose(["--profile", "demo", "down", "--volumes", "--remove-orphans", "--timeout", "20"]);
  }
}

/** Creates one order, however often it must be asked. @returns its number */
export async function untilCreated(api: OrdersApi): Promise<string> {
  const deadline = new Deadline(FAILOVER_MAX_MS);
  const body = createBody();
  for (;;) {
    const answer = await api.post<{ transaction_id: string }>("/v1/orders", body).catch(() => null);
    if (answer !== null && answer.status < 300) return answer.body.transaction_id;
    assert.ok(!deadline.passed, `no order is taken: ${JSON.stringify(answer?.body)}`);
    await sleep(POLL_MS);
  }
}
