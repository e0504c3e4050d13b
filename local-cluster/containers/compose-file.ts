// docker-compose.yml from the specs. `npm run compose` writes it; a test looks that it is fresh.
import { clusterSpecs } from "./cluster-specs.ts";
import { type ContainerSpec, IMAGES, type Mount, NETWORKS } from "./spec.ts";
import { Anchored, type YamlMap, type YamlValue, yaml } from "./yaml.ts";

const HEAD = `# The whole cluster in containers: docker compose up --wait
# Written by \`npm run compose\` from local-cluster/containers/, where the reasons are; a test looks that it is fresh.
# How to run it, and the small one: docs/operating.md.
`;

/** What holds for every container. */
const common: YamlMap = {
  read_only: true,
  cap_drop: ["ALL"],
  security_opt: ["no-new-privileges:true"],
  // Rotated, so that no log fills a disk.
  logging: { driver: "json-file", options: { "max-size": "10m", "max-file": "5" } },
};

/** The content of docker-compose.yml. */
export function composeFile(): string {
  const specs = clusterSpecs();
  const volumes = specs.flatMap(({ mounts }) => mounts.map(({ source }) => source)).filter((name) => !isFile(name));
  const networks = Object.fromEntries(
    // Publishing a port needs a way out; services, databases and their agents have none.
    NETWORKS.map((name) => [name, name === "storage" || name === "inside" ? { internal: true } : {}]),
  );
  const document = {
    name: "striped-orders",
    "x-container": new Anchored("container", common),
    "x-own": new Anchored("own", { "<<": "*container", image: IMAGES.own, build: ".", tmpfs: ["/tmp"] }),
    services: Object.fromEntries(specs.map((spec) => [spec.name, service(spec)])),
    networks,
    volumes: Object.fromEntries([...new Set(volumes)].map((name) => [name, {}])),
  };
  return HEAD + yaml(document);
}

function service(spec: ContainerSpec): YamlValue {
  const { name, image, user, entrypoint, command, env, networks, healthCheck, capabilities, scale } = spec;
  return compact({
    ...(image === "own" ? { "<<": "*own" } : { "<<": "*container", image: IMAGES[image] }),
    hostname: spec.alike === true ? undefined : name,
    user,
    entrypoint,
    command,
    environment: env,
    labels: spec.told === undefined ? undefined : { "striped-orders.told": spec.told },
    networks: networks.length > 0 ? networks : undefined,
    network_mode: networks.length > 0 ? undefined : "none",
    ports: spec.publish,
    volumes: spec.mounts.map(mount),
    tmpfs: image === "own" ? undefined : spec.tmpfs,
    cap_add: capabilities,
    mem_limit: `${spec.memoryMb}m`,
    pids_limit: spec.pids,
    restart: spec.once === true ? "no" : "unless-stopped",
    stop_signal: spec.stopSignal,
    stop_grace_period: `${spec.stopGraceS ?? 15}s`,
    healthcheck:
      healthCheck === undefined
        ? undefined
        : {
            test: healthCheck.test,
            interval: `${healthCheck.intervalS}s`,
            timeout: "3s",
            retries: 3,
            start_period: `${healthCheck.startPeriodS}s`,
            start_interval: "1s",
          },
    depends_on:
      spec.after && Object.fromEntries(Object.entries(spec.after).map(([other, condition]) => [other, { condition }])),
    deploy: scale === undefined ? undefined : { replicas: scale },
    profiles: spec.profile === undefined ? undefined : [spec.profile],
  });
}

function mount({ source, target, readOnly, subpath, filled }: Mount): YamlValue {
  const options = compact({ nocopy: filled === true ? undefined : true, subpath });
  return compact({
    type: isFile(source) ? "bind" : "volume",
    source,
    target,
    read_only: readOnly,
    volume: isFile(source) || Object.keys(options).length === 0 ? undefined : options,
  });
}

function isFile(source: string): boolean {
  return source.startsWith("./");
}

function compact(map: Readonly<Record<string, YamlValue | undefined>>): { readonly [key: string]: YamlValue } {
  return Object.fromEntries(
    Object.entries(map).filter((entry): entry is [string, YamlValue] => entry[1] !== undefined),
  );
}
