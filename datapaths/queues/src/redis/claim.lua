-- Takes over the entries of a group that are overdue, and puts those that were delivered too often among the dead letters.
-- KEYS: the topic, the topic of its dead letters
-- ARGV: group, consumer, the time after which an entry is overdue in ms, most entries, most deliveries, length of the dead letters
-- Returns the entries that were taken over, and how often each has been delivered by now.
local overdue = redis.call('XPENDING', KEYS[1], ARGV[1], 'IDLE', ARGV[3], '-', '+', ARGV[4])
local ids, deliveries = {}, {}
for _, entry in ipairs(overdue) do
    if entry[4] >= tonumber(ARGV[5]) then
        local found = redis.call('XRANGE', KEYS[1], entry[1], entry[1])
        if found[1] then
            redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[6], '*', unpack(found[1][2]))
        end
        redis.call('XACK', KEYS[1], ARGV[1], entry[1])
    else
        ids[#ids + 1] = entry[1]
        deliveries[entry[1]] = entry[4] + 1
    end
end
if #ids == 0 then
    return {}
end
local taken = {}
for _, entry in ipairs(redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], unpack(ids))) do
    -- Before 7.0, an entry that was trimmed is nothing.
    if entry then
        taken[#taken + 1] = {entry[1], entry[2], deliveries[entry[1]]}
    end
end
return taken
