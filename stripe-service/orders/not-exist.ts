import { DomainError } from "../../core/errors.ts";

export function orderNotExist(): DomainError {
  return new DomainError("ORDER_NOT_EXIST", "there is no such order");
}

export function refundNotExist(): DomainError {
  return new DomainError("REFUND_NOT_EXIST", "there is no such refund");
}
