// ioredis with its defaults. `foreign.rs` says what the programs here do.
const { Redis } = require("ioredis");
const { url, guarded, wrong, expect, refusal, restart, run, numbers, large, unknown, wrongPassword } = require("./steps");

run(async () => {
  // Without a listener, each attempt to connect again is a line in the log.
  const store = new Redis(url).on("error", () => {});
  expect("INFO", (await store.info()).includes("redis_mode:standalone\r\n"), true);
  expect("SET", await store.set("name", "value"), "OK");
  expect("GET", await store.get("name"), "value");
  expect("GET of nothing", await store.get("nothing"), null);
  expect("EXISTS", await store.exists("name", "nothing", "name"), 2);
  expect("MGET", await store.mget("name", "nothing"), ["value", null]);
  expect("INCR", [await store.incr("count"), await store.incr("count")], [1, 2]);
  expect("SET with a lifetime", await store.set("limited", "value", "EX", 1000), "OK");
  const left = await store.ttl("limited");
  expect("TTL", left >= 990 && left <= 1000, true);
  expect("EXPIRE", await store.expire("name", 0), 1);
  expect("GET behind EXPIRE", await store.get("name"), null);
  expect("DEL", await store.del("count", "limited", "nothing"), 2);

  const pipeline = store.pipeline();
  numbers.forEach(() => pipeline.incr("pipelined"));
  const replies = await pipeline.exec();
  expect("pipeline", replies.map(([error, reply]) => error ?? reply), numbers);
  expect("SET of 16 MiB", await store.set("large", large), "OK");
  expect("GET of 16 MiB", large.equals(await store.getBuffer("large")), true);
  expect("unknown command", await refusal(store.call("NOTHING", "a", "b c")), unknown);

  await restart();
  expect("GET after a restart", await store.get("large"), null);

  expect("login", await new Redis(guarded).set("name", "value"), "OK");
  const refused = await new Promise((done) => new Redis(wrong).once("error", (error) => done(error.message)));
  expect("login with a wrong password", refused, wrongPassword);
});
