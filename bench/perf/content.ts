// What every order of the bench says, the same for the system and for all that it is compared with.
export const DESCRIPTION = "Bench order: one pot of jasmine tea, two cups, to take away";
export const ATTACH = "table=12;waiter=7;campaign=autumn-tea-2026";
export const NOTIFY_URL = "https://shop.example/payments/notify";
export const OPENID = "oUpF8uMuAJO_M2pxb1Q9zNjWeS6o";
export const TOTAL = 1999;
export const CURRENCY = "CNY";
export const MERCHANTS = 50;

export function mchidOf(merchant: number): string {
  return `bench-${merchant}`;
}

/** JSON of a create. */
export function createBody(merchant: number, outTradeNo: string): string {
  return (
    `{"mchid":"${mchidOf(merchant)}","out_trade_no":"${outTradeNo}","description":"${DESCRIPTION}","attach":"${ATTACH}",` +
    `"notify_url":"${NOTIFY_URL}","payer":{"openid":"${OPENID}"},"amount":{"total":${TOTAL},"currency":"${CURRENCY}"}}`
  );
}

export function payBody(outPayNo: string): string {
  return `{"out_pay_no":"${outPayNo}","amount":{"total":${TOTAL},"currency":"${CURRENCY}"},"channel":"bank"}`;
}
