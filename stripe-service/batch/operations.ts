// The operations that share transactions, and what each is answered.
import type { RefundResult } from "../../core/order-states.ts";
import type { CreateRefund, PayOrder } from "../../core/schemas/orders.ts";
import type { WireProbe, WireProbeOrder } from "../../core/schemas/wire-verdicts.ts";
import type { CreateInput, CreateResult } from "../orders/create-order.ts";
import type { RefundAnswer } from "../orders/create-refund.ts";
import type { OrderAnswer } from "../orders/pay-order.ts";
import type { Outcome } from "../orders/tx.ts";

export interface CreateOperation {
  readonly kind: "create";
  readonly input: CreateInput;
}

export interface PayOperation {
  readonly kind: "pay";
  readonly transactionId: string;
  readonly pay: PayOrder;
}

export interface CloseOperation {
  readonly kind: "close";
  readonly transactionId: string;
}

export interface RefundOperation {
  readonly kind: "refund";
  readonly transactionId: string;
  /** Used only when the refund is new. */
  readonly refundId: string;
  readonly refund: CreateRefund;
}

export interface RefundResultOperation {
  readonly kind: "refund-result";
  readonly refundId: string;
  readonly status: RefundResult;
}

/** A health checker's order, kept apart from merchants' in a table of its own, but written and committed with theirs. */
export interface ProbeCreateOperation {
  readonly kind: "probe-create";
  readonly probe: WireProbe;
}

export interface ProbeCloseOperation {
  readonly kind: "probe-close";
  readonly probeId: string;
}

export type ProbeOperation = ProbeCreateOperation | ProbeCloseOperation;
export type OrderOperation = PayOperation | CloseOperation | RefundOperation | RefundResultOperation;
export type Operation = CreateOperation | OrderOperation | ProbeOperation;

export type AnswerOf<O extends Operation> = O extends CreateOperation
  ? CreateResult
  : O extends ProbeOperation
    ? WireProbeOrder
    : O extends PayOperation | CloseOperation
      ? OrderAnswer
      : RefundAnswer;

export type AnyAnswer = CreateResult | OrderAnswer | RefundAnswer | WireProbeOrder;

/** What one operation of a transaction came to. */
export type Result =
  | {
      readonly kind: "answer";
      readonly outcome: Outcome<AnyAnswer>;
      /** The answer rests on something that this transaction writes, so that it is true only once that is committed. */
      readonly pending: boolean;
    }
  /** Somebody else holds the row: to be run alone, waiting for it. */
  | { readonly kind: "held" };

export function isProbe(op: Operation | undefined): op is ProbeOperation {
  return op?.kind === "probe-create" || op?.kind === "probe-close";
}
