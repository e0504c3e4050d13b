-- The baselines: single-row and many-row inserts of orders, and pay as five statements. One event is one transaction.
-- Options: --mode=single|batch|pay  --rows=N (batch)  --tag=T (digits, new for each run)  --first=N (pay)
sysbench.cmdline.options = {
  mode = {"single, batch or pay", "single"},
  rows = {"rows of one insert (batch)", 50},
  tag = {"digits that tell runs apart", "0"},
  first = {"first order to pay", 0},
  description = {"", ""}, attach = {"", ""}, notify = {"", ""}, openid = {"", ""}
}

local HEAD = "INSERT INTO orders (transaction_id, mchid, out_trade_no, description, attach, payer_openid, notify_url, " ..
  "total, currency, trade_state, create_time, time_expire, time_expire_given, version) VALUES "

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
  count = 0
  tail = string.format("'%s', '%s', '%s', '%s', 1999, 'CNY', 'NOTPAY', '2026-11-29 12:00:00.123', " ..
    "'2099-11-29 14:00:00.123', 0, 1)", sysbench.opt.description, sysbench.opt.attach, sysbench.opt.openid, sysbench.opt.notify)
end

function thread_done()
  con:disconnect()
end

local function row()
  count = count + 1
  -- 28 digits, ascending within a thread
  local id = string.format("1090%08d%04d%012d", tonumber(sysbench.opt.tag), sysbench.tid, count)
  return string.format("('%s', 'bench-%d', 'r-%s', ", id, count % 50, id) .. tail
end

local function pay()
  local n = sysbench.opt.first + sysbench.tid + count * sysbench.opt.threads
  count = count + 1
  local id = string.format("1091%024d", n)
  con:query("BEGIN")
  con:query("SELECT trade_state, total, currency, time_expire, version FROM orders WHERE transaction_id = '" .. id .. "' FOR UPDATE")
  con:query("UPDATE orders SET trade_state = 'SUCCESS', success_time = UTC_TIMESTAMP(3), out_pay_no = 'p-" .. n ..
    "', version = version + 1 WHERE transaction_id = '" .. id .. "'")
  con:query("INSERT INTO order_events (transaction_id, mchid, out_trade_no, event_type, version, create_time, data) VALUES ('" ..
    id .. "', 'bench-1', 'r-" .. id .. "', 'ORDER_PAID', 2, UTC_TIMESTAMP(3), " ..
    "'{\"out_pay_no\":\"p-" .. n .. "\",\"total\":1999,\"currency\":\"CNY\",\"channel\":\"bank\"}')")
  con:query("COMMIT")
end

function event()
  if sysbench.opt.mode == "pay" then return pay() end
  local n = sysbench.opt.mode == "batch" and sysbench.opt.rows or 1
  local rows = {}
  for i = 1, n do rows[i] = row() end
  con:query(HEAD .. table.concat(rows, ", "))
end
