// One order with what belongs to it, as a batch holds it in its locks, and one step of it. Steps are pure: an operation
// and the database's instant go in, an answer, the aggregate as it then is and what must be written come out. So the
// rules of an order exist once, whatever number of operations shares a transaction.
import type { NewEvent } from "../db/insert-events.ts";
import type { OrderRow, PaymentRow, RefundRow } from "../db/tables.ts";
import type { ChangedRefund, NewExcess, NewPayment } from "../db/write-sets.ts";
import { type Outcome, refused } from "./tx.ts";
import type { DomainError } from "../../core/errors.ts";

export interface Aggregate {
  readonly order: OrderRow;
  /** The order's payment; undefined also when nobody needed it (`knows` in batch/load-aggregates.ts). */
  readonly payment: PaymentRow | undefined;
  /** Excess payments by `out_pay_no`, of the numbers that operations of the batch name. */
  readonly excess: ReadonlyMap<string, PaymentRow>;
  /** Refunds by `refund_id`, of those that operations of the batch name by either number. */
  readonly refunds: ReadonlyMap<string, RefundRow>;
}

/** Rows to write beside the order's own. */
export interface StepWrites {
  readonly events: readonly NewEvent[];
  readonly payment?: NewPayment;
  readonly excess?: NewExcess;
  readonly newRefund?: RefundRow;
  readonly changedRefund?: ChangedRefund;
}

export interface Step<T> {
  readonly outcome: Outcome<T>;
  readonly after: Aggregate;
  /** Undefined: nothing is written, and `after` is what came in. */
  readonly writes?: StepWrites;
}

export function refusal<T>(state: Aggregate, error: DomainError): Step<T> {
  return { outcome: refused(error), after: state };
}

/** The refund that the merchant's number names. */
export function refundByNo(state: Aggregate, outRefundNo: string): RefundRow | undefined {
  for (const refund of state.refunds.values()) if (refund.out_refund_no === outRefundNo) return refund;
  return undefined;
}

export function withRefund(state: Aggregate, order: OrderRow, refund: RefundRow): Aggregate {
  return { ...state, order, refunds: new Map(state.refunds).set(refund.refund_id, refund) };
}
