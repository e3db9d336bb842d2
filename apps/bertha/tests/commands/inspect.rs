//! `bertha inspect` over a real server.

use bertha::kernel::TokioRuntime;
use bertha::{Identity, make_stack, select};
use bertha_negotiation::rendezvous::{Event, Name, Participant, RedisStore, RendezvousSettings};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[derive(Identity)]
struct Ordered;
#[derive(Identity)]
struct Unordered;

/// Returns the address of Redis, which `scripts/services` sets.
fn redis(variable: &str) -> Option<String> {
    let url = std::env::var(variable).ok();
    if url.is_none() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{variable} is not set, and must be in CI");
        eprintln!("SKIPPED: bertha inspect over Redis: {variable} is not set; run scripts/services start");
    }
    url
}

async fn join(url: &str, name: &Name) -> Participant<TokioRuntime> {
    let stack = make_stack!(select!(Ordered, Unordered));
    let store = RedisStore::new(url).unwrap();
    Participant::join(store, name.clone(), &stack, TokioRuntime, RendezvousSettings::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_listed_and_followed() {
    for variable in ["BERTHA_REDIS", "BERTHA_REDIS_TLS"] {
        if let Some(url) = redis(variable) {
            is_listed_and_followed(url).await;
        }
    }
}

async fn is_listed_and_followed(url: String) {
    let name = Name::new(format!("inspect-{}", std::process::id())).unwrap();
    let mut first = join(&url, &name).await;

    let program = env!("CARGO_BIN_EXE_bertha");
    let table = Command::new(program).args(["inspect", &url, name.as_str()]).output().unwrap();
    let table = String::from_utf8(table.stdout).unwrap();
    let row: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row, [name.as_str(), "1", "1", "Ordered"], "{table}");

    let mut following = Command::new(program)
        .args(["inspect", &url, name.as_str(), "--follow", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let until = |wanted: &str, lines: &mut std::io::Lines<_>| loop {
        let line: String = lines.next().unwrap().unwrap();
        if line.contains(wanted) {
            return;
        }
    };
    until(r#""round":1,"stack":"Ordered""#, &mut lines);
    first.propose([1]).await.unwrap();
    loop {
        match first.next().await.unwrap() {
            Event::Stage { round, .. } => first.staged(round).await.unwrap(),
            Event::Commit(_) => break,
            _ => {}
        }
    }
    until(r#""round":2,"stack":"Unordered""#, &mut lines);
    first.leave().await.unwrap();
    until(r#""problem":"gone""#, &mut lines);
    following.kill().unwrap();
    following.wait().unwrap();
}

/// Connections that are gone don't count, however many there were.
#[tokio::test(flavor = "multi_thread")]
async fn connections_that_come_after_others_have_gone_are_followed() {
    // The database is unused.
    let Some(url) = redis("BERTHA_REDIS").map(|url| format!("{url}/9")) else { return };
    let mut following = Command::new(env!("CARGO_BIN_EXE_bertha"))
        .args(["inspect", &url, "--follow", "--json", "--limit", "2"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    for number in 0..4 {
        let name = Name::new(format!("inspect-{}-{number}", std::process::id())).unwrap();
        let participant = join(&url, &name).await;
        let mut until = |wanted: &str| {
            let line = lines.by_ref().map(Result::unwrap).find(|line| line.contains(name.as_str()));
            assert!(line.is_some_and(|line| line.contains(wanted)));
        };
        until(r#""round":1"#);
        participant.leave().await.unwrap();
        until(r#""problem":"gone""#);
    }
    following.kill().unwrap();
    following.wait().unwrap();
}

#[test]
fn what_is_no_store_is_an_error() {
    let program = env!("CARGO_BIN_EXE_bertha");
    for store in ["http://127.0.0.1:1", "redis://127.0.0.1:1"] {
        let output = Command::new(program).args(["inspect", store]).output().unwrap();
        assert!(!output.status.success());
        assert!(String::from_utf8(output.stderr).unwrap().starts_with("bertha: "));
    }
}
