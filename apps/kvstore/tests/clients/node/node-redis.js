// node-redis with its defaults. `foreign.rs` says what the programs here do.
const { createClient, RESP_TYPES } = require("redis");
const { url, guarded, wrong, expect, refusal, restart, run, numbers, large, unknown, wrongPassword } = require("./steps");

run(async () => {
  // Without a listener, a lost connection ends the program.
  const store = await createClient({ url }).on("error", () => {}).connect();
  expect("INFO", (await store.info()).includes("redis_mode:standalone\r\n"), true);
  expect("SET", await store.set("name", "value"), "OK");
  expect("GET", await store.get("name"), "value");
  expect("GET of nothing", await store.get("nothing"), null);
  expect("EXISTS", await store.exists(["name", "nothing", "name"]), 2);
  expect("MGET", await store.mGet(["name", "nothing"]), ["value", null]);
  expect("INCR", [await store.incr("count"), await store.incr("count")], [1, 2]);
  const lifetime = { expiration: { type: "EX", value: 1000 } };
  expect("SET with a lifetime", await store.set("limited", "value", lifetime), "OK");
  const left = await store.ttl("limited");
  expect("TTL", left >= 990 && left <= 1000, true);
  expect("EXPIRE", await store.expire("name", 0), 1);
  expect("GET behind EXPIRE", await store.get("name"), null);
  expect("DEL", await store.del(["count", "limited", "nothing"]), 2);

  const pipeline = store.multi();
  numbers.forEach(() => pipeline.incr("pipelined"));
  expect("pipeline", await pipeline.execAsPipeline(), numbers);
  expect("SET of 16 MiB", await store.set("large", large), "OK");
  const found = await store.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }).get("large");
  expect("GET of 16 MiB", large.equals(found), true);
  expect("unknown command", await refusal(store.sendCommand(["NOTHING", "a", "b c"])), unknown);

  await restart();
  expect("GET after a restart", await store.get("large"), null);

  const known = await createClient({ url: guarded }).on("error", () => {}).connect();
  expect("login", await known.set("name", "value"), "OK");
  const refused = await new Promise((done) => {
    createClient({ url: wrong }).on("error", (error) => done(error.message)).connect();
  });
  expect("login with a wrong password", refused, wrongPassword);
});
