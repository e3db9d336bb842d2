# redis-py with its defaults. `foreign.rs` says what the programs here do.
import sys

import redis

url, guarded, wrong = sys.argv[1:]


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"redis-py: {what}: {str(found)[:200]!r} in place of {str(expected)[:200]!r}")


def refusal(call):
    try:
        return f"no error but {call()}"
    except redis.RedisError as error:
        return str(error)


store = redis.Redis.from_url(url)
expect("INFO", store.info()["redis_mode"], "standalone")
expect("SET", store.set("name", "value"), True)
expect("GET", store.get("name"), b"value")
expect("GET of nothing", store.get("nothing"), None)
expect("EXISTS", store.exists("name", "nothing", "name"), 2)
expect("MGET", store.mget("name", "nothing"), [b"value", None])
expect("INCR", [store.incr("count"), store.incr("count")], [1, 2])
expect("SET with a lifetime", store.set("limited", "value", ex=1000), True)
expect("TTL", 990 <= store.ttl("limited") <= 1000, True)
expect("EXPIRE", store.expire("name", 0), True)
expect("GET behind EXPIRE", store.get("name"), None)
expect("DEL", store.delete("count", "limited", "nothing"), 2)

pipeline = store.pipeline(transaction=False)
for _ in range(100_000):
    pipeline.incr("pipelined")
expect("pipeline", pipeline.execute(), list(range(1, 100_001)))
large = bytes(range(256)) * (16 << 12)
expect("SET of 16 MiB", store.set("large", large), True)
expect("GET of 16 MiB", store.get("large") == large, True)
unknown = refusal(lambda: store.execute_command("NOTHING", "a", "b c"))
expect("unknown command", unknown, "unknown command 'NOTHING', with args beginning with: 'a' 'b c' ")

print("restart", flush=True)
sys.stdin.readline()
expect("GET after a restart", store.get("large"), None)

expect("login", redis.Redis.from_url(guarded).set("name", "value"), True)
refused = refusal(redis.Redis.from_url(wrong).ping)
expect("login with a wrong password", refused, "invalid username-password pair or user is disabled.")
print("ok")
