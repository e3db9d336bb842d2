//! The router of shards elsewhere, with and without decoding of messages.

use bertha::chunnels::{Checksum, ServerShard};
use bertha::prelude::*;
use bertha::{Addr, ErrorKind};
use bertha_kvstore::{Body, Capacity, MAX_KEY, Message, Messages, Server, shard_map};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};

/// A running router, which is killed when the value is dropped.
struct Router {
    child: Child,
    addr: Addr,
    log: Option<ChildStderr>,
}

impl Router {
    fn start(shards: &[Server], options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kvstore"));
        for shard in shards {
            command.args(["--remote-shard", &shard.addr().to_string()]);
        }
        command.args(["--addr", "127.0.0.1:0"]).args(options).env("RUST_LOG", "info,bertha_kvstore=debug");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let addr = said.split_once("ready at ").and_then(|(_, rest)| rest.split_once(','));
        let addr = addr.unwrap_or_else(|| panic!("{said}")).0.parse().unwrap();
        let log = child.stderr.take();
        Self { child, addr, log }
    }

    /// Ends the router and returns its log.
    fn end(mut self) -> String {
        self.child.kill().unwrap();
        let mut log = String::new();
        self.log.take().unwrap().read_to_string(&mut log).unwrap();
        log
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        // The program may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Puts and gets keys of all lengths through a router with these options, and returns its log.
async fn exchange(options: &[&str]) -> String {
    let shards =
        [(); 2].map(|()| Server::start_shard(([127, 0, 0, 1], 0).into(), Capacity::default(), None).unwrap());
    let router = Router::start(&shards, options);
    let map = shard_map(shards.iter().map(|shard| Addr::from(shard.addr()))).unwrap();
    let stack = make_stack!(ServerShard::new(map), Messages::new(), Checksum::new());
    let store = stack.connect(bertha::datapath(), router.addr.clone()).await.unwrap();
    for length in 0..=MAX_KEY {
        let key = &format!("user{length:03}{}", "k".repeat(MAX_KEY))[..length];
        store.send(Message::put(1, key, [length as u8])).await.unwrap();
        assert_eq!(store.recv().await.unwrap().body, Body::Stored);
        store.send(Message::get(2, key)).await.unwrap();
        assert_eq!(store.recv().await.unwrap().body, Body::Found([length as u8].into()));
    }
    let refused = store.send(Message::get(3, "k".repeat(MAX_KEY + 1))).await.unwrap_err();
    assert!(refused.kind() == ErrorKind::Malformed && !refused.ends_connection(), "{refused}");
    let records: Vec<_> = shards.iter().map(|shard| shard.figures().records()).collect();
    assert!(records.iter().all(|&records| records > 10), "{records:?}");
    router.end()
}

#[tokio::test]
async fn the_router_reads_keys_in_place_unless_it_is_told_to_decode() {
    for (options, is_raw) in [
        (&[][..], true),
        (&["--routing", "raw", "--sharding", "server"], true),
        (&["--routing", "decoding"], false),
        (&["--routing", "decoding", "--sharding", "server"], false),
    ] {
        let log = exchange(options).await;
        assert!(log.contains("ServerShard / Serialize[postcard]"), "{options:?}: {log}");
        assert_eq!(log.contains("ShardRaw("), is_raw, "{options:?}: {log}");
    }
}

/// The log is read on this thread, while others send what is left to say.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_closes_is_news_for_debug_alone() {
    let shards = [Server::start_shard(([127, 0, 0, 1], 0).into(), Capacity::default(), None).unwrap()];
    let mut router = Router::start(&shards, &[]);
    let mut log = BufReader::new(router.log.take().unwrap()).lines().map(Result::unwrap);
    let map = shard_map(shards.iter().map(|shard| Addr::from(shard.addr()))).unwrap();
    for (closes, level) in [(true, "DEBUG"), (false, "INFO")] {
        let stack = make_stack!(ServerShard::new(map.clone()), Messages::new(), Checksum::new());
        let store = stack.connect(bertha::datapath(), router.addr.clone()).await.unwrap();
        store.send(Message::get(1, "key")).await.unwrap();
        store.recv().await.unwrap();
        if closes {
            store.close().await.unwrap();
        }
        drop(store);
        let ended = log.find(|line| line.contains("listening: ended")).unwrap();
        assert!(ended.contains(level), "{ended}");
    }
}

#[test]
fn only_shards_elsewhere_have_a_choice_of_routing() {
    for local in [&[][..], &["--shards", "2"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kvstore"));
        command.args(["--addr", "127.0.0.1:0", "--routing", "decoding"]).args(local);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        // A program that serves would not end by itself.
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((said.as_str(), output.status.code()), ("", Some(2)));
        assert!(String::from_utf8_lossy(&output.stderr).contains("--routing"));
    }
}
