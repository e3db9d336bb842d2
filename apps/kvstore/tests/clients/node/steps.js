// What the programs of both clients have in common.
const client = require("path").basename(process.argv[1], ".js");
const [url, guarded, wrong] = process.argv.slice(2);

function expect(what, found, expected) {
  const [short, wanted] = [found, expected].map((it) => String(JSON.stringify(it)).slice(0, 200));
  if (JSON.stringify(found) === JSON.stringify(expected)) return;
  console.error(`${client}: ${what}: ${short} in place of ${wanted}`);
  process.exit(1);
}

const refusal = (promise) => promise.then((found) => `no error but ${found}`, (error) => error.message);

// Has the server restarted, and returns when it has.
function restart() {
  console.log("restart");
  return new Promise((done) => process.stdin.once("data", done));
}

function run(steps) {
  steps().then(
    () => {
      console.log("ok");
      process.exit(0);
    },
    (error) => expect("error", error.stack, "none"),
  );
}

const numbers = Array.from({ length: 100_000 }, (_, index) => index + 1);
const large = Buffer.alloc(16 << 20, "0123456789abcdef!");
const unknown = "ERR unknown command 'NOTHING', with args beginning with: 'a' 'b c' ";
const wrongPassword = "WRONGPASS invalid username-password pair or user is disabled.";
module.exports = { url, guarded, wrong, expect, refusal, restart, run, numbers, large, unknown, wrongPassword };
