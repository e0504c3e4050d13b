// What the system is compared with: what a team writes first. Express, knex, a pool of mysql2, one transaction a request.
import express from "express";
import knexFactory from "knex";
import { stripeNo } from "../../core/ids.ts";
import { requestHash } from "../../core/order-content.ts";
import { mintTransactionId } from "../../core/order-number.ts";
import { bucketOf } from "../../core/placement.ts";
import { createOrderSchema } from "../../core/schemas/orders.ts";
import { wallNowMs } from "../../runtime/clock.ts";
import type { MysqlTarget } from "../../runtime/mysql.ts";
import { plainCreate } from "./db/plain-create.ts";

const STRIPE = 9002;

process.once("message", ({ target, pool }: { target: MysqlTarget; pool: number }) => {
  const knex = knexFactory({
    client: "mysql2",
    connection: { ...target, timezone: "Z" },
    pool: { min: pool, max: pool },
  });
  let sequence = 0;
  const app = express();
  app.use(express.json());
  app.post("/v1/orders", async (req, res) => {
    const parsed = createOrderSchema.safeParse(req.body);
    if (!parsed.success) return void res.status(400).json({ error: parsed.error.issues });
    const order = parsed.data;
    sequence += 1;
    const id = mintTransactionId(stripeNo(STRIPE), wallNowMs(), sequence);
    const bucket = bucketOf({ mchid: order.mchid, outTradeNo: order.out_trade_no });
    res.status(201).json(await plainCreate(knex, id, bucket, requestHash(order), order));
  });
  const server = app.listen(0, "127.0.0.1", () => {
    const address = server.address();
    process.send?.({ port: typeof address === "object" ? address?.port : 0 });
  });
});
process.on("disconnect", () => process.exit(0));
