// A container of the cluster, in words that both the compose file and the tests' own containers are made from.

export type ImageName = "mysql" | "haproxy" | "own";

/** Official images under their official names, and the project's own. */
export const IMAGES: Readonly<Record<ImageName, string>> = {
  mysql: "mysql:9.7",
  haproxy: "haproxy:lts",
  own: "striped-orders:local",
};

/** The merchants' side, the operators', the processes' own, and the databases'. */
export const NETWORKS = ["merchants", "operators", "inside", "storage"] as const;
export type NetworkName = (typeof NETWORKS)[number];

export interface Mount {
  /** A named volume, or with `./` a file of the project. */
  readonly source: string;
  readonly target: string;
  readonly readOnly?: boolean;
  /** Folder of the volume. */
  readonly subpath?: string;
  /** The image's files are copied into an empty volume, and with them the folder's owner. */
  readonly filled?: boolean;
}

export interface HealthCheck {
  readonly test: readonly string[];
  /** While starting it is asked every second; then so often. */
  readonly intervalS: number;
  readonly startPeriodS: number;
}

export type Condition = "service_started" | "service_healthy" | "service_completed_successfully";
export const STARTED: Condition = "service_started";
export const HEALTHY: Condition = "service_healthy";
export const DONE: Condition = "service_completed_successfully";

export interface ContainerSpec {
  /** Also its host name. */
  readonly name: string;
  readonly image: ImageName;
  readonly user?: string;
  readonly entrypoint?: readonly string[];
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly networks: readonly NetworkName[];
  readonly mounts: readonly Mount[];
  readonly tmpfs?: readonly string[];
  readonly memoryMb: number;
  readonly pids: number;
  readonly capabilities?: readonly string[];
  readonly healthCheck?: HealthCheck;
  /** Runs once to its end; else it is started again whenever it ends. */
  readonly once?: boolean;
  readonly stopGraceS?: number;
  readonly stopSignal?: string;
  /** Stands for the files that it reads at its start: when they change, the container is made anew. */
  readonly told?: string;
  readonly after?: Readonly<Record<string, Condition>>;
  /** Host address, host port, container port. */
  readonly publish?: readonly string[];
  /** How many of it; a compose expression. */
  readonly scale?: string;
  /** There may be several at a time, with one name between them. */
  readonly alike?: boolean;
  /** Started only when it is asked for by this name. */
  readonly profile?: string;
}
