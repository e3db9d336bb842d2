//! Equal commands to this store and to Redis, whose answers are equal, texts of errors included. The errors whose
//! texts differ stand in `tests/edges.md`.

use crate::clients::connect;
use crate::{Store, skip};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use redis::Value;
use redis::aio::MultiplexedConnection;

const COMMANDS: usize = 3_000;

/// Returns a command on a few keys, valid or invalid.
fn command(random: &mut StdRng, prefix: &str) -> Vec<String> {
    let key = |random: &mut StdRng| format!("{prefix}{}", random.random_range(0..6));
    let first = key(random);
    let mut words = match random.random_range(0..17) {
        0..3 => vec!["GET".into(), first],
        3..6 => {
            let values = ["1", "-7", "text", "", "9223372036854775807", "007", "+1", "a\r\nb"];
            vec!["SET".into(), first, values[random.random_range(0..values.len())].into()]
        }
        6 => vec!["DEL".into(), first, key(random), key(random)],
        7 => vec!["MGET".into(), first, key(random)],
        8 => vec!["incr".into(), first],
        9 => {
            vec!["INCRBY".into(), first, ["-5", "9223372036854775807", "x"][random.random_range(0..3)].into()]
        }
        10 => {
            let times = ["1000", "-1", "0", "soon", "9223372036854775807"];
            vec!["EXPIRE".into(), first, times[random.random_range(0..times.len())].into()]
        }
        11..13 => vec!["TTL".into(), first],
        13 => vec!["EXISTS".into(), first, key(random)],
        14 => vec![["nothing", "a much longer word"][random.random_range(0..2)].into(), first, "it's".into()],
        15 => {
            vec![["CLIENT", "CONFIG", "COMMAND"][random.random_range(0..3)].into(), "nothing".into(), first]
        }
        _ => vec!["PING".into()],
    };
    if words[0] == "SET" {
        let options = [
            &[][..],
            &["NX"],
            &["xx"],
            &["EX", "1000"],
            &["PX", "1000000", "NX"],
            &["EX", "0"],
            &["EX"],
            &["EX", "soon", "nothing"],
            &["NX", "nx", "EX", "soon"],
        ];
        words.extend(options[random.random_range(0..options.len())].iter().map(|it| (*it).to_owned()));
    }
    match random.random_range(0..30) {
        0 => words.push("extra".into()),
        1 => drop(words.pop()),
        _ => {}
    }
    words
}

/// Returns the reply, or the text of an error.
async fn reply(to: &mut MultiplexedConnection, words: &[String]) -> Result<Value, String> {
    let mut command = redis::Cmd::new();
    for word in words {
        command.arg(word);
    }
    match command.query_async(to).await {
        // Both count passing seconds down.
        Ok(Value::Int(left @ 990..=1000)) if words[0] == "TTL" => Ok(Value::Int(left.max(1000))),
        Ok(value) => Ok(value),
        Err(error) => {
            Err(format!("{} {}", error.code().unwrap_or_default(), error.detail().unwrap_or_default()))
        }
    }
}

#[tokio::test]
async fn it_answers_as_redis_does() {
    let Ok(url) = std::env::var("BERTHA_REDIS") else {
        return skip("comparing with Redis: BERTHA_REDIS is not set; run scripts/services start redis");
    };
    let seed = rand::random();
    let mut random = StdRng::seed_from_u64(seed);
    let store = Store::start(2);
    for version in ["resp2", "resp3"] {
        let mut ours = connect(&format!("redis://{}/?protocol={version}", store.tcp())).await;
        let mut theirs = connect(&format!("{url}/?protocol={version}")).await;
        let prefix = format!("like-{version}-{seed}-");
        for _ in 0..COMMANDS {
            let words = command(&mut random, &prefix);
            if words.is_empty() {
                continue;
            }
            let (our, their) = (reply(&mut ours, &words).await, reply(&mut theirs, &words).await);
            assert_eq!(our, their, "{words:?}, seed {seed}");
        }
    }
}
