-- One transaction on the entries of one connection, or the renewal of one entry. Redis runs a script without
-- interruption, so everything here happens at one moment, on the server's clock.
--
-- KEYS[1]  the hash of all entries: field '#' is the revision, '@' the latest time of a change; of each entry 'v' .. key is the version, 'd' .. key the
--          value, and 't' .. key, if it has a time to live, when it expires in milliseconds since the epoch.
-- ARGV     channel for changes; most entries; how long an untouched hash is kept, in milliseconds;
--          number of conditions, and key and version of each;
--          then the writes: 'put' key value ttl (empty for none), 'del' key, or alone 'renew' key ttl.
-- Returns  whether it was applied, the revision, and key, version and value of every entry, if it was no renewal.

local hash, channel, most, retention = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function text(number) return string.format('%.0f', number) end

-- An entry takes two fields or three. Far too many are not even counted: the server does nothing else meanwhile.
local length = redis.call('HLEN', hash)
if length > 2 * most + 2 then
  local count = 0
  if length > 3 * most + 2 then
    count = length
  else
    for _, field in ipairs(redis.call('HKEYS', hash)) do
      if field:sub(1, 1) == 'v' then count = count + 1 end
    end
  end
  if count > most then return redis.error_reply('EXHAUSTED the connection has too many entries') end
end

-- Revisions of a hash that is not there go on from the clock, so that none is ever used twice, not even by a server that
-- lost its memory.
local revision = clock[1] * 1000000 + clock[2]
local latest = 0
local versions, values, deadlines = {}, {}, {}
local of = { v = versions, d = values, t = deadlines }
local fields = redis.call('HGETALL', hash)
for at = 1, #fields, 2 do
  local kind, key = fields[at]:sub(1, 1), fields[at]:sub(2)
  if kind == '#' then
    -- A value that this script has not written is put right by the next change.
    revision = tonumber(fields[at + 1]) or revision
  elseif kind == '@' then
    latest = tonumber(fields[at + 1]) or 0
  elseif of[kind] then
    of[kind][key] = fields[at + 1]
  end
end

local function remove(key)
  redis.call('HDEL', hash, 'v' .. key, 'd' .. key, 't' .. key)
  versions[key], values[key], deadlines[key] = nil, nil, nil
end

local changed = false

-- A participant whose version or deadline is no number has not written it: it joins again.
for key, version in pairs(versions) do
  if not tonumber(version) then
    remove(key)
    changed = true
  end
end

-- A clock that was set back would let entries live longer by as much, and with them participants that are gone.
if now < latest then
  for key, deadline in pairs(deadlines) do
    deadlines[key] = text((tonumber(deadline) or 0) - (latest - now))
    redis.call('HSET', hash, 't' .. key, deadlines[key])
  end
  redis.call('HSET', hash, '@', text(now))
end

for key, deadline in pairs(deadlines) do
  if (tonumber(deadline) or 0) <= now then
    remove(key)
    changed = true
  end
end

local at = 5
local applied = 1
for _ = 1, tonumber(ARGV[4]) do
  if (versions[ARGV[at]] or '0') ~= ARGV[at + 1] then applied = 0 end
  at = at + 2
end

local renewal = ARGV[at] == 'renew'
if renewal then
  local key, ttl = ARGV[at + 1], ARGV[at + 2]
  if deadlines[key] then
    redis.call('HSET', hash, 't' .. key, text(now + ttl), '@', text(now))
    redis.call('PEXPIRE', hash, retention)
  else
    applied = 0
  end
elseif applied == 1 and at <= #ARGV then
  changed = true
  while at <= #ARGV do
    local operation, key = ARGV[at], ARGV[at + 1]
    if operation == 'put' then
      local value, ttl = ARGV[at + 2], ARGV[at + 3]
      versions[key], values[key] = text(revision + 1), value
      -- As few commands as can be: they are most of what a transaction costs the server.
      if ttl ~= '' then
        redis.call('HSET', hash, 'v' .. key, versions[key], 'd' .. key, value, 't' .. key, text(now + ttl))
      else
        if deadlines[key] then redis.call('HDEL', hash, 't' .. key) end
        redis.call('HSET', hash, 'v' .. key, versions[key], 'd' .. key, value)
      end
      at = at + 4
    else
      remove(key)
      at = at + 2
    end
  end
  redis.call('PEXPIRE', hash, retention)
end

if changed then
  revision = revision + 1
  if next(versions) then
    redis.call('HSET', hash, '#', text(revision), '@', text(now))
  else
    redis.call('DEL', hash)
  end
  redis.call('PUBLISH', channel, text(revision))
end

local entries = {}
if not renewal then
  for key, version in pairs(versions) do
    entries[#entries + 1] = key
    entries[#entries + 1] = version
    entries[#entries + 1] = values[key] or ''
  end
end
return { applied, text(revision), entries }
