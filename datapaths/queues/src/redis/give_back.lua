-- Makes entries overdue, if nobody has taken them over since.
-- KEYS: the topic
-- ARGV: group, consumer, the time after which an entry is overdue in ms, the number of deliveries that don't count, then for each entry its id and how often it had been delivered
for i = 5, #ARGV, 2 do
    local entry = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1)[1]
    if entry and entry[4] == tonumber(ARGV[i + 1]) then
        redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'IDLE', ARGV[3], 'RETRYCOUNT', entry[4] - tonumber(ARGV[4]), 'JUSTID')
    end
end
