-- The counters of limits in Redis: ARGV[1] says what to do with all of them in one step.
--
--   reserve   every limit is counted, or none: {1, 0, 0, SHADOW, HOLD..., NOW, EPOCH, LOST} or {0, INDEX, RETRY_MS, SHADOW, NOW, EPOCH, LOST}.
--             A HOLD is "WHERE VALUE", the value with this call. {2, 0, 0, '', NOW, EPOCH, LOST}: the gate has to bring marks
--   undo      takes holds back from the windows that they went into
--   read      the values that count now
--   renew     calls in flight go on to count
--   join      a gate tells what it knows of the epoch, and is waited for from now on: {RUN, EPOCH, LOST, EVICTS, ID, NOW, UNMARKED}
--   leave     it is not waited for any more
--
-- KEYS: one per limit; its kind and window are part of it. ARGV[2]: names this reservation. ARGV[3]: how long calls in
-- flight count without being renewed. Then one text per limit: kind, window_ms, max, refill, amount, fingerprint, shadow
-- (reserve, read) or hold (undo), a hash of the client that it is counted for, or "-", and its mark, with blanks between them.
--
-- A mark is a bound that the gates keep in PostgreSQL: calls that pass are covered by it. "-": this gate keeps none. "?": it may have one, and brings it
-- where a window may be under-counted. Then it is "START:USED", or "!" where it does not cover the window. EPOCH:restored has the counters that go on
-- from their marks since the last loss. A hold from before a loss is not taken back: its mark may not be there.
--
--   f {s: start, v: used}   s {SLOT: used}   b {s: time of v, v: used, r: rest}   i {FINGERPRINT: "first:used"}
--   c sorted set, NAME:N by when it ends
--
-- EPOCH:o:CLIENT has the counters that this client made and when they are over: sessions and arguments are part of keys, so a
-- client could fill the server. It gets no more than COUNTERS.
--
-- The last key and text of reserve, and the only ones of join, are the epoch: a number that each reservation raises. Of undo they are the epoch and
-- the loss that the reservation was told, or "-". The text is
-- "KNOWN OWNER RUN ID MARKS": the highest number that this gate was ever told, the gate, the server that it takes this one for, and the name
-- that the epoch got when it was made. An epoch of another name was made anew, so that all before it is lost: the gate has to join again.
-- MARKS is 1 where the gate keeps marks; `unmarked` is when one that does not joined last.
-- A server that has a smaller number lost writes (a failover, a restart without its file). Then every window that was open at
-- that time may be under-counted, and is refused until it is over: {n: the number, lost: when that was noticed, run: the server
-- that counted last, since: another one counts since then, and waits, id: its name, evicted: keys that the server had evicted at the last join}.
-- Evicted keys may have been counters, so they count as lost writes. EVICTS: the server's policy, where it may evict; or empty.
--
-- A server that finds another's name in `run` took over, or was restarted. Which gate knows the highest number it cannot know, so
-- it counts nothing until all gates that its predecessor knew (EPOCH:gates) have joined (none is left in EPOCH:missing). Where
-- one does not come, writes may be lost.
--
-- The rules are those of meter.c. The clock is the server's. Numbers of Lua hold 53 bits and amounts have 63, so they
-- are kept as two halves.
local SLOTS, RECENT, MICRO, BASE, EXACT = 32, 8, 1000000, 1000000000, 9007199254740992
local SETTLE, SETTLE_MAX = 1000, 30000
local COUNTERS, COUNTER_CALL, COUNTER_MAX = 16384, 600000, 604800000
local WEEK, MONDAY = 604800000, 259200000
local ZERO = {h = 0, l = 0}

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local op, name, lease = ARGV[1], ARGV[2], tonumber(ARGV[3])

local function big(text)
  if not text then return ZERO end
  return {h = tonumber(string.sub(text, 1, -10)) or 0, l = tonumber(string.sub(text, -9)) or 0}
end
local function big_of(number) local h = math.floor(number / BASE) return {h = h, l = number - h * BASE} end
local function show(n)
  if n.h == 0 then return string.format('%d', n.l) end
  return string.format('%.0f%09d', n.h, n.l)
end
local function less(a, b) return a.h < b.h or (a.h == b.h and a.l < b.l) end
local function add(a, b)
  local l = a.l + b.l
  local carry = l >= BASE and 1 or 0
  return {h = a.h + b.h + carry, l = l - carry * BASE}
end
local function sub(a, b) -- not below zero
  if less(a, b) then return ZERO end
  local l = a.l - b.l
  local carry = l < 0 and 1 or 0
  return {h = a.h - b.h - carry, l = l + carry * BASE}
end
local function rounded(n) return n.h * BASE + n.l end

local function slot_ms(window) return math.floor((window + SLOTS - 2) / (SLOTS - 1)) end
local function pairs_of(flat)
  local map = {}
  for i = 1, #flat, 2 do map[flat[i]] = flat[i + 1] end
  return map
end

-- What Redis has of a counter, brought up to now. A limit that comes twice finds what the first one left.
local loaded = {}
local load_kind = {
  f = function(o, key, l)
    local r = redis.call('HMGET', key, 's', 'v')
    local start = now - (now + (l.window == WEEK and MONDAY or 0)) % l.window
    o.s, o.v, o.new = tonumber(r[1] or '0'), big(r[2]), not r[1]
    if o.s < start then o.s, o.v = start, ZERO end
  end,
  s = function(o, key, l)
    local slot = slot_ms(l.window)
    o.s, o.v, o.slots, o.gone = math.floor(now / slot), ZERO, {}, {}
    for at, used in pairs(pairs_of(redis.call('HGETALL', key))) do
      local index = tonumber(at)
      if index > o.s then o.s = index end -- the clock stepped back
      o.slots[index] = big(used)
    end
    o.new = next(o.slots) == nil
    for index, used in pairs(o.slots) do
      if index + SLOTS <= o.s then o.gone[#o.gone + 1] = string.format('%.0f', index) else o.v = add(o.v, used) end
    end
  end,
  b = function(o, key, l)
    local r = redis.call('HMGET', key, 's', 'v', 'r')
    o.s, o.v, o.r, o.new = tonumber(r[1] or '0'), big(r[2]), tonumber(r[3] or '0'), not r[1]
    if now <= o.s then return end
    if l.refill > 0 then
      local flowed = (now - o.s) * l.refill + o.r
      local back = math.floor(flowed / l.window)
      if flowed < EXACT then
        if back * l.window > flowed then back = back - 1 end
        o.r = flowed - back * l.window
      else -- rounded: rather too little than too much
        back, o.r = math.floor(back * (1 - 1e-15)), 0
      end
      if back >= rounded(o.v) then o.v, o.r = ZERO, 0 else o.v = sub(o.v, big_of(back)) end
    end
    o.s = now
  end,
  c = function(o, key, l)
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    o.v = big_of(redis.call('ZCARD', key) * MICRO)
    o.new = rounded(o.v) == 0
  end,
  i = function(o, key, l)
    o.seen = {}
    for print, entry in pairs(pairs_of(redis.call('HGETALL', key))) do
      local first, used = string.match(entry, '^(%d+):(%d+)$')
      o.seen[print] = {first = tonumber(first), used = big(used)}
    end
    o.new = next(o.seen) == nil
  end,
}

local function load(key, l)
  local o = loaded[key]
  if not o then
    o = {kind = l.kind, window = l.window, refill = l.refill, dirty = false}
    load_kind[l.kind](o, key, l)
    loaded[key] = o
  end
  return o
end

local function value_of(o, l)
  if o.kind ~= 'i' then return o.v end
  local seen = o.seen[l.print]
  if not seen or (now >= seen.first and now - seen.first >= l.window) then return ZERO end
  return seen.used
end

local function retry_of(o, l, value)
  if less(l.max, l.amount) then return 0 end
  if o.kind == 'f' then return o.s + l.window - now end
  if o.kind == 'i' then return o.seen[l.print] and o.seen[l.print].first + l.window - now or 0 end
  local over = rounded(sub(add(value, l.amount), l.max))
  if o.kind == 'b' then return l.refill > 0 and math.ceil(over * l.window / l.refill) or 0 end
  if o.kind == 's' then
    local slot, freed = slot_ms(l.window), 0
    for index = o.s - SLOTS + 1, o.s do
      freed = freed + rounded(o.slots[index] or ZERO)
      if freed >= over then return (index + SLOTS) * slot - now end
    end
  end
  return 0
end

-- Counts it; returns what undo needs.
local count_kind = {
  f = function(o, l) o.v = add(o.v, l.amount) return o.s end,
  s = function(o, l)
    o.slots[o.s] = add(o.slots[o.s] or ZERO, l.amount)
    o.v = add(o.v, l.amount)
    return o.s
  end,
  b = function(o, l) o.v = add(o.v, l.amount) return o.s end,
  c = function(o, l)
    o.v = add(o.v, l.amount)
    o.take = (o.take or 0) + rounded(l.amount) / MICRO
    return 0
  end,
  i = function(o, l)
    local seen = o.seen[l.print]
    if not seen or (now >= seen.first and now - seen.first >= l.window) then
      seen = {first = now, used = ZERO}
      o.seen[l.print] = seen
    end
    seen.used = add(seen.used, l.amount)
    return now
  end,
}

local save_kind = {
  f = function(o, key)
    redis.call('HSET', key, 's', string.format('%.0f', o.s), 'v', show(o.v))
    redis.call('PEXPIRE', key, o.s + o.window - now + 1000)
  end,
  s = function(o, key)
    if #o.gone > 0 then redis.call('HDEL', key, unpack(o.gone)) end
    redis.call('HSET', key, string.format('%.0f', o.s), show(o.slots[o.s]))
    redis.call('PEXPIRE', key, o.window * 2)
  end,
  b = function(o, key)
    redis.call('HSET', key, 's', string.format('%.0f', o.s), 'v', show(o.v), 'r', string.format('%.0f', o.r))
    if o.refill > 0 then
      redis.call('PEXPIRE', key, string.format('%.0f', math.min(math.ceil(rounded(o.v) * o.window / o.refill) + 1000, EXACT)))
    end
  end,
  c = function(o, key)
    for n = 1, o.take do redis.call('ZADD', key, now + lease, name .. ':' .. n) end
    redis.call('PEXPIRE', key, lease * 2)
  end,
  i = function(o, key)
    local order = {}
    for print, seen in pairs(o.seen) do order[#order + 1] = {print = print, seen = seen} end
    table.sort(order, function(a, b) return a.seen.first > b.seen.first end)
    redis.call('DEL', key)
    for n = 1, math.min(#order, RECENT) do
      redis.call('HSET', key, order[n].print, string.format('%.0f:%s', order[n].seen.first, show(order[n].seen.used)))
    end
    redis.call('PEXPIRE', key, o.window)
  end,
}

local undo_kind = {
  f = function(key, l)
    local r = redis.call('HMGET', key, 's', 'v')
    if r[1] == l.last then redis.call('HSET', key, 'v', show(sub(big(r[2]), l.amount))) end
  end,
  s = function(key, l)
    local used = redis.call('HGET', key, l.last)
    if used then redis.call('HSET', key, l.last, show(sub(big(used), l.amount))) end
  end,
  b = function(key, l)
    local used = redis.call('HGET', key, 'v')
    if used then redis.call('HSET', key, 'v', show(sub(big(used), l.amount))) end
  end,
  c = function(key, l)
    for n = 1, rounded(l.amount) / MICRO do redis.call('ZREM', key, name .. ':' .. n) end
  end,
  i = function(key, l)
    local entry = redis.call('HGET', key, l.print)
    local first, used = string.match(entry or '', '^(%d+):(%d+)$')
    if first and tonumber(first) <= tonumber(l.last) then
      redis.call('HSET', key, l.print, first .. ':' .. show(sub(big(used), l.amount)))
    end
  end,
}

local function limit_at(i)
  local kind, window, max, refill, amount, print, last, client, mark = string.match(ARGV[3 + i], '^(%a) (%d+) (%d+) (%d+) (%d+) (%x+) (%d+) (%S+) (%S+)$')
  return {kind = kind, window = tonumber(window), max = big(max), refill = tonumber(refill), amount = big(amount), print = print, last = last,
    client = client, mark = mark}
end

if op == 'undo' then
  local same = ARGV[#ARGV] == '-' or ARGV[#ARGV] == (redis.call('HGET', KEYS[#KEYS], 'lost') or '0')
  for i = 1, #KEYS - 1 do
    local l = limit_at(i)
    if same or (l.kind ~= 'f' and l.kind ~= 's') then undo_kind[l.kind](KEYS[i], l) end
  end
  return 1
end

if op == 'renew' then
  for i, key in ipairs(KEYS) do
    for n = 1, rounded(limit_at(i).amount) / MICRO do redis.call('ZADD', key, now + lease, name .. ':' .. n) end
    redis.call('PEXPIRE', key, lease * 2)
  end
  return 1
end

if op == 'read' then
  local values = {}
  for i, key in ipairs(KEYS) do
    local l = limit_at(i)
    values[i] = show(value_of(load(key, l), l))
  end
  return values
end

local epoch_key = KEYS[#KEYS]
local gates, missing, restored = epoch_key .. ':gates', epoch_key .. ':missing', epoch_key .. ':restored'
local known, owner, run, id, marks = string.match(ARGV[#ARGV], '^(%d+) (%S+) (%S+) (%S+) (%d)$')
known = tonumber(known)

if op == 'leave' then
  redis.call('ZREM', gates, owner)
  redis.call('ZREM', missing, owner)
  return 1
end

local function text_of(number) return string.format('%.0f', number) end
local function info(section, pattern)
  local text = redis.pcall('INFO', section)
  return type(text) == 'string' and string.match(text, pattern) or nil
end
local function evicted() return info('stats', 'evicted_keys:(%d+)') or '0' end
if run == '-' then run = info('server', 'run_id:(%x+)') or 'unknown' end
local epoch = redis.call('HMGET', epoch_key, 'n', 'lost', 'run', 'since', 'id')
local number, lost, since = tonumber(epoch[1] or '0'), tonumber(epoch[2] or '0'), tonumber(epoch[4] or '0')
local name_of_epoch = epoch[5] or owner .. text_of(now)
local anew = id ~= '-' and id ~= name_of_epoch
if not epoch[5] then redis.call('HSET', epoch_key, 'id', name_of_epoch) end
local function lose()
  lost = now
  redis.call('HSET', epoch_key, 'lost', text_of(lost))
  redis.call('DEL', restored)
end
if number < known or anew then
  number = math.max(number, known)
  redis.call('HSET', epoch_key, 'n', text_of(number))
  lose()
end
if epoch[3] ~= run then
  redis.call('HSET', epoch_key, 'run', run, 'evicted', evicted())
  if epoch[3] then
    since = now
    redis.call('HSET', epoch_key, 'since', text_of(since))
    redis.call('ZREMRANGEBYSCORE', gates, '-inf', text_of(now - lease))
    redis.call('ZUNIONSTORE', missing, 1, gates)
  end
end
if since > 0 then
  redis.call('ZREM', missing, owner)
  local left = redis.call('ZCARD', missing)
  if (left == 0 and now - since >= SETTLE) or now - since >= SETTLE_MAX then
    if left > 0 then
      lose()
      redis.call('DEL', missing)
    end
    since = 0
    redis.call('HDEL', epoch_key, 'since')
  end
end

if op == 'join' then
  redis.call('ZADD', gates, now, owner)
  redis.call('PEXPIRE', gates, lease * 2)
  local before, gone = redis.call('HGET', epoch_key, 'evicted'), evicted()
  if before and tonumber(gone) > tonumber(before) then lose() end
  if before ~= gone then redis.call('HSET', epoch_key, 'evicted', gone) end
  local policy = info('memory', 'maxmemory_policy:(%S+)') or 'noeviction'
  if policy == 'noeviction' or (info('memory', 'maxmemory:(%d+)') or '0') == '0' then policy = '' end
  if marks == '0' then redis.call('HSET', epoch_key, 'unmarked', text_of(now)) end
  return {run, number, lost, policy, name_of_epoch, now, tonumber(redis.call('HGET', epoch_key, 'unmarked') or '0')}
end
if anew then return redis.error_reply('REJOIN the number of reservations was made anew') end
if since > 0 then return redis.error_reply('SETTLING another server counts now, and waits until all gates have told what they know') end

-- How long this limit may still be under-counted. Identical calls are not looked at: that limit stops short loops, no more.
local UNLIMITED = 9223372036
local function window_doubt_ms(o, l)
  if l.kind == 'f' then return o.s <= lost and o.s + l.window - now or 0 end
  return lost + l.window + slot_ms(l.window) - now
end
local function doubt_ms(o, l)
  if lost == 0 or l.max.h >= UNLIMITED or l.kind == 'i' or o.restored then return 0 end
  if l.kind == 'f' or l.kind == 's' then return window_doubt_ms(o, l) end
  if l.kind == 'c' then return lost + lease - now end
  return l.refill > 0 and lost + math.ceil(rounded(l.max) * l.window / l.refill) - now or EXACT
end

-- Goes on from the mark: nothing more was counted before the loss, and nothing since.
local restore_kind = {
  f = function(o, key, start, used)
    if start == o.s and less(o.v, used) then o.v = used end
    save_kind.f(o, key)
  end,
  s = function(o, key, start, used)
    o.s, o.v, o.slots, o.gone = math.max(o.s, start), ZERO, {}, {}
    redis.call('DEL', key)
    if start + SLOTS <= o.s then return end
    o.slots[start], o.v = used, used
    redis.call('HSET', key, text_of(start), show(used))
    redis.call('PEXPIRE', key, o.window * 2)
  end,
}

-- False: the gate has to bring the mark.
local function restore(key, l)
  local o = load(key, l)
  local doubt = window_doubt_ms(o, l)
  if doubt <= 0 or o.restored then return true end
  o.restored = redis.call('ZSCORE', restored, key)
  if o.restored or l.mark == '!' then return true end
  local start, used = string.match(l.mark, '^(%d+):(%d+)$')
  if not start then return false end
  restore_kind[l.kind](o, key, tonumber(start), big(used))
  o.restored = true
  redis.call('ZREMRANGEBYSCORE', restored, '-inf', now)
  redis.call('ZADD', restored, now + doubt, key)
  redis.call('PEXPIRE', restored, math.max(doubt, COUNTER_MAX))
  return true
end

for i = 1, lost > 0 and #KEYS - 1 or 0 do
  local l = limit_at(i)
  if l.mark ~= '-' and (l.kind == 'f' or l.kind == 's') and not restore(KEYS[i], l) then return {2, 0, 0, '', now, number, lost} end
end

-- Whether the client of a new counter may have one more; one that exists is never asked about.
local made = {}
local function may_make(key, o, l)
  if not o.new or o.client or l.client == '-' then return true end
  local set = epoch_key .. ':o:' .. l.client
  if not made[set] then
    redis.call('ZREMRANGEBYSCORE', set, '-inf', now)
    made[set] = {count = redis.call('ZCARD', set), keys = {}}
  end
  if made[set].count >= COUNTERS then return false end
  made[set].count = made[set].count + 1
  made[set].keys[key] = now + math.min(l.window > 0 and l.window or COUNTER_CALL, COUNTER_MAX)
  o.client = l.client
  return true
end

local shadow, holds = '', {}
for i = 1, #KEYS - 1 do
  local key, l = KEYS[i], limit_at(i)
  local o = load(key, l)
  local value, doubt = value_of(o, l), doubt_ms(o, l)
  if doubt > 0 and l.last ~= '1' then return {0, i - 1, math.min(doubt, EXACT), shadow, now, number, lost} end
  local room = may_make(key, o, l)
  if room and not less(l.max, add(value, l.amount)) then
    holds[i] = text_of(count_kind[l.kind](o, l)) .. ' ' .. show(value_of(o, l))
    o.dirty = o.dirty or less(ZERO, l.amount)
    shadow = shadow .. '0'
  elseif l.last == '1' then
    holds[i] = ''
    shadow = shadow .. '1'
  else
    return {0, i - 1, room and retry_of(o, l, value) or l.window, shadow, now, number, lost}
  end
end
for key, o in pairs(loaded) do
  if o.dirty then save_kind[o.kind](o, key) end
end
for set, of in pairs(made) do
  for key, ends in pairs(of.keys) do
    if loaded[key].dirty then redis.call('ZADD', set, ends, key) end
  end
  redis.call('PEXPIRE', set, COUNTER_MAX)
end
number = number + 1
redis.call('HSET', epoch_key, 'n', string.format('%.0f', number))
holds[#holds + 1], holds[#holds + 2], holds[#holds + 3] = now, number, lost
return {1, 0, 0, shadow, unpack(holds)}
