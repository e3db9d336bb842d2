//! The ends of the program: by a signal, and without its store.

use bertha::chunnels::Checksum;
use bertha::prelude::*;
use bertha::{ErrorKind, Settings};
use bertha_kvstore::{Messages, Options, Server};
use bertha_ycsb::connect::connect;
use bertha_ycsb::driver::Driver;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};

/// Starts a run with these options, which loads no records.
fn ycsb(server: &str, options: &[&str]) -> Child {
    let workload = concat!(env!("CARGO_MANIFEST_DIR"), "/workloads/workloada");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ycsb"));
    command.args(["run", "-P", workload, "-p", "recordcount=10", "--connections", "1", "--server", server]);
    command.args(options).env("RUST_LOG", "info");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until the run has its connections, and returns the rest of its log.
fn connected(run: &mut Child) -> BufReader<ChildStderr> {
    let mut log = BufReader::new(run.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("connected to the store") {
        line.clear();
        assert!(log.read_line(&mut line).unwrap() > 0, "the run has ended");
    }
    log
}

#[test]
fn a_signal_interrupts_a_run_with_a_code_of_its_own() {
    let store =
        Server::start(Options { addr: "127.0.0.1:0".parse().unwrap(), ..Options::default() }).unwrap();
    let shard = store.map().shards()[0].to_string();
    for signal in ["INT", "TERM"] {
        let endless = ["-p", "operationcount=0", "-p", "maxexecutiontime=600", "--shard", &shard];
        let mut run = ycsb(&store.addr().to_string(), &endless);
        let log = connected(&mut run);
        let pid = run.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        assert_eq!(run.wait().unwrap().code(), Some(3), "{signal}");
        let said: Vec<_> = log.lines().map(Result::unwrap).collect();
        let reason = said.last().unwrap();
        assert!(reason.starts_with("ycsb: ") && reason.contains("interrupted by a signal"), "{said:?}");
    }
    store.stop().unwrap();
}

#[tokio::test]
async fn a_store_hears_that_a_run_is_over() {
    let stack = || make_stack!(Messages::new(), Checksum::new());
    let mut incoming = stack().listen(bertha::datapath(), "127.0.0.1:0").await.unwrap();
    let (stack, addr) = (stack(), incoming.local_addr());
    let (port, client) = tokio::join!(connect(&stack, addr, Settings::default()), incoming.next());
    Driver::new(vec![port.unwrap()]).close().await;
    let ended = client.unwrap().recv().await.err().unwrap();
    assert_eq!(ended.kind(), ErrorKind::Closed, "{ended}");
}

/// A store that is killed says nothing to its clients over datagrams; the system of its machine does.
#[test]
fn a_run_whose_store_is_killed_says_why_it_has_no_answers() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "ending::a_store", "--nocapture", "--ignored"]).stdout(Stdio::piped());
    let mut store = child.spawn().unwrap();
    let mut lines = BufReader::new(store.stdout.take().unwrap()).lines();
    let at = lines.find_map(|line| line.unwrap().strip_prefix("store at ").map(str::to_owned)).unwrap();
    let (addr, shard) = at.split_once(' ').unwrap();
    let options = ["-p", "operationcount=0", "-p", "maxexecutiontime=1", "--skip-load", "--shard", shard];
    let mut run = ycsb(addr, &options);
    let _log = connected(&mut run);
    let _ = (store.kill(), store.wait());
    let output = run.wait_with_output().unwrap();
    let table = String::from_utf8_lossy(&output.stdout);
    let line = table.lines().find(|line| line.contains("connection 0 ") && line.contains("error last"));
    assert!(line.is_some_and(|line| line.contains("refused")), "{table}");
}

/// Not a test of its own: the store of the test above, in a process of its own.
#[test]
#[ignore = "a store for another test"]
#[allow(clippy::print_stdout, reason = "the other test reads the addresses")]
fn a_store() {
    let store =
        Server::start(Options { addr: "127.0.0.1:0".parse().unwrap(), ..Options::default() }).unwrap();
    println!("\nstore at {} {}", store.addr(), store.map().shards()[0]);
    std::thread::park();
}
