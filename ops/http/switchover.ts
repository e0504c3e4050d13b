import type { Knex } from "knex";
import { DomainError } from "../../core/errors.ts";
import { switchoverSchema } from "../../core/schemas/ops.ts";
import { requestIdFrom } from "../../runtime/send-problem.ts";
import { insertSwitchover } from "../db/insert-switchover.ts";
import { readTask } from "../db/read-task.ts";
import { actorOf, stripeParam } from "./headers.ts";
import type { OpsRoute } from "./ops-router.ts";
import { readJson } from "./read-json.ts";
import { oneStripe } from "./stripes.ts";

const TASK_ID = /^[0-9a-f-]{36}$/;

/**
 * `POST /stripes/{stripe}/switchover` gives 202 and a task; `GET /tasks/{id}` its state: WAITING, RUNNING, DONE, REFUSED
 * (a pre-check did not hold; nothing changed), UNDONE (a step failed; the old source leads), EXPIRED (no controller).
 */
export function switchoverRoutes(control: Knex): OpsRoute[] {
  return [
    {
      method: "post",
      path: "/stripes/:stripe/switchover",
      handle: async (req, res) => {
        const stripe = stripeParam(req);
        const { to } = await readJson(req, switchoverSchema);
        const { tripleId } = await oneStripe(control, stripe);
        const wish = { stripe, tripleId, to: to ?? null, actor: actorOf(req), requestId: requestIdFrom(res) };
        const task = await insertSwitchover(control, wish);
        res.status(202).setHeader("Location", `/ops/v1/tasks/${task}`);
        res.json({ id: task, kind: "switchover", state: "WAITING", url: `/ops/v1/tasks/${task}` });
      },
    },
    {
      method: "get",
      path: "/tasks/:id",
      handle: async (req, res) => {
        const id = String(req.params.id);
        const task = TASK_ID.test(id) ? await readTask(control, id) : undefined;
        if (task === undefined) throw new DomainError("NOT_FOUND", "there is no such task");
        res.json(task);
      },
    },
  ];
}
