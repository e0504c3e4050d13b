/** What the bench holds the system to, and what it hopes for. */
export interface Target {
  readonly name: string;
  readonly says: string;
  /** `least`: the figure must reach it; `most`: must not exceed it. */
  readonly bound: "least" | "most";
  readonly must: number;
  readonly aim: number;
}

export const TARGETS: readonly Target[] = [
  { name: "creates_to_raw_single", says: "creates ÷ raw single-row commits", bound: "least", must: 4, aim: 8 },
  { name: "creates_to_plain", says: "creates ÷ a plain service", bound: "least", must: 5, aim: 10 },
  { name: "pays_to_five_trip", says: "pays ÷ five-statement pays", bound: "least", must: 4, aim: 8 },
  { name: "create_p99_ms", says: "p99 of creates, 128 in flight, ms", bound: "most", must: 50, aim: 25 },
  {
    name: "single_create_p50_to_raw_commit_p50",
    says: "one create ÷ one raw commit, p50",
    bound: "most",
    must: 2.5,
    aim: 1.6,
  },
  {
    name: "cpu_us_per_order",
    says: "processor time an order, µs",
    bound: "most",
    must: 250,
    aim: 150,
  },
  { name: "queries_to_point_select", says: "queries ÷ driver's point selects", bound: "least", must: 0.4, aim: 0.7 },
  { name: "stripes_2_to_1", says: "2 stripes ÷ 1, acks 20 ms away", bound: "least", must: 1.9, aim: 1.97 },
  { name: "stripes_4_to_1", says: "4 stripes ÷ 1, acks 20 ms away", bound: "least", must: 3.5, aim: 3.8 },
  {
    name: "create_p99_rebuild_to_before",
    says: "p99 of creates while a replica is cloned ÷ before",
    bound: "most",
    must: 2,
    aim: 1.2,
  },
  { name: "creates_grown_to_small", says: "creates, grown stripe ÷ small one", bound: "least", must: 0.8, aim: 0.95 },
  {
    name: "soak_proxy_mb_per_min",
    says: "soak: the proxy's memory, MiB more a minute",
    bound: "most",
    must: 1,
    aim: 0.2,
  },
  {
    name: "soak_service_mb_per_min",
    says: "soak: the service's memory, MiB more a minute",
    bound: "most",
    must: 1,
    aim: 0.2,
  },
  { name: "catch_up_ms", says: "replicas' catch-up after 10 s of full load, ms", bound: "most", must: 300, aim: 100 },
  { name: "triple_rss_mb", says: "memory of a triple, MiB", bound: "most", must: 1_100, aim: 1_000 },
];

export function meets({ bound, must }: Pick<Target, "bound" | "must">, value: number): boolean {
  return bound === "least" ? value >= must : value <= must;
}
