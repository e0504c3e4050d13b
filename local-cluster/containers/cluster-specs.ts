import { NO_SECRETS } from "../secrets.ts";
import { configFiles, digestOf } from "./config-files.ts";
import { READERS } from "./places.ts";
import { COMPOSE_STRIPES, containerPlan } from "./plan.ts";
import {
  checkerSpecs,
  containerSettings,
  demoSpec,
  entrySpec,
  opsSpec,
  proxySpecs,
  serviceSpec,
  setUpSpec,
  stepSpec,
  stripeHaproxySpec,
} from "./service-specs.ts";
import { type ContainerSpec, DONE, HEALTHY } from "./spec.ts";
import { controlSpec, serverSpecs, templateSpec } from "./storage-specs.ts";

/** Every container of the cluster, those first that others wait for. What is secret is not in them, nor in the plan. */
export function clusterSpecs(stripes = COMPOSE_STRIPES): readonly ContainerSpec[] {
  const size = { stripes, proxies: 2, checkers: 2 };
  const plan = containerPlan(size, "");
  const settings = containerSettings(plan);
  const files = configFiles(plan, size, NO_SECRETS, "");
  const told = (reader: string): string => digestOf(files, reader);
  const haproxies = plan.stripes.map((stripe) => stripeHaproxySpec(stripe, told(stripe.haproxyName)));
  const waitForSources = Object.fromEntries(
    [...plan.checkers.map(({ name }) => name), ...haproxies.map(({ name }) => name)].map((name) => [name, HEALTHY]),
  );
  return [
    setUpSpec(),
    templateSpec(),
    controlSpec(),
    ...plan.stripes.flatMap((stripe) =>
      stripe.servers.flatMap((server) => serverSpecs(stripe, server, told(server.name))),
    ),
    stepSpec("control-schema", { "set-up": DONE, template: DONE, control: HEALTHY }),
    ...checkerSpecs(settings, told(READERS.checker)),
    ...haproxies,
    stepSpec("stripes", waitForSources),
    ...plan.stripes.map((stripe) => serviceSpec(settings, stripe)),
    ...proxySpecs(settings),
    opsSpec(settings),
    entrySpec(told(READERS.entry)),
    demoSpec(),
  ];
}
