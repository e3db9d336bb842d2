//! Entries in Redis that another program has changed, and a clock that was set back.

use bertha_core::ErrorKind;
use bertha_negotiation::rendezvous::{Name, RedisStore, RendezvousStore, Transaction};
use std::io::{Read, Write};
use std::time::Duration;

/// An hour in milliseconds.
const HOUR: u64 = 3_600_000;

/// Has the server carry a command out, and returns its answer.
pub(crate) fn command(url: &str, words: &[&str]) -> String {
    let address = url.trim_start_matches("redis://").trim_end_matches('/');
    let mut server = std::net::TcpStream::connect(address).unwrap();
    let mut asked = format!("*{}\r\n", words.len());
    for word in words {
        asked.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    server.write_all(format!("{asked}QUIT\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    server.read_to_string(&mut answer).unwrap();
    assert!(!answer.starts_with('-'), "{words:?}: {answer}");
    answer
}

fn name(of: &str) -> (Name, String) {
    let name = Name::new(format!("{of}-{}", std::process::id())).unwrap();
    let key = format!("bertha:rendezvous:{{{name}}}");
    (name, key)
}

/// A participant that was killed is gone after its lease, although the clock of the server was set back by an hour: all times
/// in the store are an hour ahead then.
#[tokio::test]
async fn a_clock_that_was_set_back_keeps_nobody_alive() {
    let Some(url) = bertha_tests::service("BERTHA_REDIS") else { return };
    let store = RedisStore::new(&url).unwrap();
    let (name, key) = name("set-back");
    let write = Transaction::new().put("record", vec![1]).put_for("a", vec![1], Duration::from_secs(1));
    store.transact(&name, &write).await.unwrap();
    let ahead = format!(
        "for _, field in ipairs({{'ta', '@'}}) do local time = redis.call('HGET', KEYS[1], field) \
         if time then redis.call('HSET', KEYS[1], field, string.format('%.0f', time + {HOUR})) end end"
    );
    command(&url, &["EVAL", &ahead, "1", &key]);
    for _ in 0..600 {
        let entries = store.read(&name).await.unwrap().entries;
        assert!(entries.contains_key("record"), "an entry without a time to live stays");
        if !entries.contains_key("a") {
            command(&url, &["DEL", &key]);
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the entry lives on");
}

#[tokio::test]
async fn values_that_no_participant_has_written_are_put_right() {
    let Some(url) = bertha_tests::service("BERTHA_REDIS") else { return };
    let store = RedisStore::new(&url).unwrap();
    let (name, key) = name("foreign");
    let write = Transaction::new().put("record", vec![1]).put("kept", vec![2]).put_for(
        "a",
        vec![3],
        Duration::from_secs(600),
    );
    let before = store.transact(&name, &write).await.unwrap().snapshot;
    command(&url, &["HSET", &key, "#", "none", "vrecord", "none", "ta", "none", "@", "none"]);
    let after = store.read(&name).await.unwrap();
    assert_eq!(after.entries.keys().collect::<Vec<_>>(), ["kept"]);
    assert!(after.revision > before.revision);
    let anew = Transaction::new().expect_absent("record").put("record", vec![4]);
    assert!(store.transact(&name, &anew).await.unwrap().applied);
    command(&url, &["DEL", &key]);

    command(&url, &["SET", &key, "something else"]);
    let error = store.read(&name).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(error.to_string().contains(&format!("delete {key}")), "{error}");
    command(&url, &["DEL", &key]);
    assert!(store.read(&name).await.unwrap().entries.is_empty());
}
