import type { AgentClient } from "../runtime/agent-client.ts";
import type { StripePlan } from "./plan.ts";

export function bringUp(_agents: readonly AgentClient[], stripe: StripePlan): Promise<void> {
  return Promise.reject(new Error(`stripe ${stripe.stripe} cannot be brought up yet`));
}
