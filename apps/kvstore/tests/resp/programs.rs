//! `redis-cli` and `redis-benchmark`.

use crate::{Store, skip};
use std::process::Command;

/// Returns the output of the program; `None` if it is not installed.
fn run(program: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(program).args(arguments).output() {
        Ok(output) => {
            let printed = String::from_utf8(output.stdout).unwrap();
            assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
            Some(printed)
        }
        Err(error) => {
            skip(&format!("{program}: {error}; install redis-tools"));
            None
        }
    }
}

#[test]
fn redis_cli_talks_to_it() {
    let store = Store::start(2);
    let (port, unix) = (store.tcp().port().to_string(), store.unix());
    for to in [vec!["-p", &port], vec!["-s", &unix], vec!["-3", "-p", &port]] {
        for (command, printed) in [
            ("SET greeting hello", "OK\n"),
            ("GET greeting", "hello\n"),
            ("GET nothing", "\n"),
            ("PING", "PONG\n"),
            ("SET count 41", "OK\n"),
            ("INCR count", "42\n"),
            ("EXPIRE count 100", "1\n"),
            ("TTL count", "100\n"),
            ("MGET greeting nothing count", "hello\n\n42\n"),
            ("DEL greeting count", "2\n"),
            ("CONFIG GET save", "save"),
            ("LPUSH list 1", "ERR unknown command 'LPUSH'"),
        ] {
            let arguments: Vec<&str> = to.iter().copied().chain(command.split(' ')).collect();
            let Some(answer) = run("redis-cli", &arguments) else { return };
            assert!(answer.starts_with(printed), "{command}: {answer}");
        }
        let Some(info) = run("redis-cli", &[&to[..], &["INFO"]].concat()) else { return };
        assert!(
            info.contains("server_name:bertha-kvstore") && info.contains("connected_clients:1\r\n"),
            "{info}"
        );
    }
}

#[test]
fn redis_benchmark_measures_it() {
    for shards in [1, 2] {
        let store = Store::start(shards);
        let port = store.tcp().port().to_string();
        for pipelined in ["1", "16"] {
            let load =
                ["-p", &port, "-t", "ping,set,get,incr", "-n", "2000", "-r", "100", "-P", pipelined, "--csv"];
            let Some(table) = run("redis-benchmark", &load) else { return };
            for test in ["PING_INLINE", "PING_MBULK", "SET", "GET", "INCR"] {
                assert!(table.contains(&format!("\"{test}\",")), "{table}");
            }
            assert!(!table.contains("rror"), "{table}");
        }
    }
}
