//! `bertha perf`, `ping` and `explain` between two processes.
#![allow(clippy::unwrap_used, unreachable_pub, reason = "tests panic to fail")]

mod certificates;
#[cfg(feature = "dpdk")]
mod dpdk;
mod drops;
mod ending;
mod late;
mod noted;
mod plot;
mod program;
mod texts;

use program::{Server, failure, json, output};

const MEASURED: [&str; 5] = ["--json", "--time", "0.3", "--interval", "0.1"];

/// Measures from a client to a server, and checks that both report equal figures.
fn measured(on: &str, options: &[&str], stack: &str) -> serde_json::Value {
    let mut server = Server::start(on, &[options, &["--stack", stack]].concat());
    let address = server.address.clone();
    let arguments = [&["perf", "--client", &address, "--stack", stack], options, &MEASURED].concat();
    let printed = json(&output(&arguments));
    let served = server.next();
    let received = &printed["end"]["sum_received"];
    assert!(received["bits_per_second"].as_f64().unwrap() > 0.0, "{printed}");
    assert_eq!(served["messages"], received["messages"], "{served}");
    assert_eq!(served["bytes"], received["bytes"], "{served}");
    assert!(!printed["intervals"].as_array().unwrap().is_empty(), "{printed}");
    printed
}

#[test]
fn tcp_loses_nothing() {
    let printed = measured("127.0.0.1:0", &["--datapath", "tcp"], "");
    assert_eq!(printed["end"]["sum"]["lost"], 0, "{printed}");
    assert_eq!(printed["end"]["sum_sent"]["bytes"], printed["end"]["sum_received"]["bytes"]);
}

#[test]
fn udp_says_what_is_lost() {
    let printed = measured("127.0.0.1:0", &["--udp", "--length", "100"], "fault=0.5,nothing");
    let sum = &printed["end"]["sum"];
    let sent = sum["sender"]["messages"].as_u64().unwrap();
    assert_eq!(sum["lost"].as_u64().unwrap() + sum["receiver"]["messages"].as_u64().unwrap(), sent);
    assert!(sum["lost_percent"].as_f64().unwrap() > 25.0, "{printed}");
    assert_eq!(sum["sender"]["bytes"], 100 * sent);
}

#[test]
fn a_reliable_stack_loses_nothing_over_datagrams() {
    let printed = measured("127.0.0.1:0", &["--udp"], "ordered,reliable,fault=0.01");
    let sum = &printed["end"]["sum"];
    assert_eq!((&sum["lost"], &sum["late"]), (&0.into(), &0.into()), "{printed}");
    assert!(printed["start"]["agreement"].as_str().unwrap().starts_with("Ordered / Reliable"));
}

#[test]
fn both_ends_write_qlogs_into_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let qlogs = folder.path().join("qlogs");
    let option = ["--qlog", qlogs.to_str().unwrap()];
    let server =
        Server::start("127.0.0.1:0", &[&["--udp", "--stack", "ordered,reliable"][..], &option].concat());
    output(
        &[&["perf", "-c", &server.address, "--udp", "--stack", "ordered,reliable", "-t", "0.2"][..], &option]
            .concat(),
    );
    let mut ends: Vec<_> =
        std::fs::read_dir(&qlogs).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    ends.sort_by_key(|name| name.to_str().unwrap().contains("server"));
    let ends: Vec<_> = ends.iter().map(|name| name.to_str().unwrap().rsplit('-').next().unwrap()).collect();
    assert_eq!(ends, ["client.sqlog", "server.sqlog"]);
    // A file in place of the folder is refused.
    std::fs::write(folder.path().join("file"), "").unwrap();
    let file = folder.path().join("file");
    let refused = failure(&[
        "perf",
        "-c",
        &server.address,
        "--udp",
        "--stack",
        "reliable",
        "--qlog",
        file.to_str().unwrap(),
    ]);
    assert!(refused.contains("folder of qlogs"), "{refused}");
}

#[test]
fn unix_sockets_and_shared_memory_have_paths() {
    let folder = tempfile::tempdir().unwrap();
    for datapath in ["unix", "unix-stream", "shm"] {
        let path = format!("unix:{}/{datapath}", folder.path().display());
        let printed = measured(&path, &["--datapath", datapath], "checksum");
        assert_eq!(printed["end"]["sum"]["lost"], 0, "{printed}");
    }
}

#[test]
fn parallel_connections_are_summed() {
    let server = Server::start("127.0.0.1:0", &[]);
    let printed = json(&output(
        &[&["perf", "-c", &server.address, "-P", "3", "-t", "0.2", "-l", "1000"][..], &["-J"]].concat(),
    ));
    let streams = printed["end"]["streams"].as_array().unwrap();
    let sum: u64 = streams.iter().map(|stream| stream["sender"]["bytes"].as_u64().unwrap()).sum();
    assert_eq!((streams.len(), &printed["end"]["sum_sent"]["bytes"]), (3, &sum.into()));
    assert_eq!(printed["start"]["length"], 1000);
}

#[test]
fn a_server_that_is_asked_to_sends() {
    for (options, stack) in [
        (&["--datapath", "tcp"][..], ""),
        (&["--udp"], "ordered,reliable,fault=0.01"),
        (&["--udp", "--length", "100"], "fault=0.3,nothing"),
    ] {
        let mut server = Server::start("127.0.0.1:0", &[options, &["--stack", stack]].concat()[..]);
        let address = server.address.clone();
        let arguments =
            [&["perf", "-R", "--client", &address, "--stack", stack], options, &MEASURED].concat();
        let printed = json(&output(&arguments));
        let (served, end) = (server.next(), &printed["end"]);
        assert_eq!((&served["messages"], &printed["start"]["reverse"]), (&0.into(), &true.into()));
        assert_eq!(served["sent_messages"], end["sum_sent"]["messages"], "{served}");
        assert_eq!(served["sent_bytes"], end["sum_sent"]["bytes"], "{served}");
        assert!(end["sum_received"]["messages"].as_u64().unwrap() > 0, "{printed}");
        let is_lossless = !stack.ends_with("nothing");
        assert_eq!(end["sum"]["lost"] == 0, is_lossless, "{printed}");
        assert!(!printed["intervals"].as_array().unwrap().is_empty(), "{printed}");
    }
}

#[test]
fn a_person_gets_lines() {
    let server = Server::start("127.0.0.1:0", &[]);
    let text = output(&["perf", "-c", &server.address, "-t", "0.2", "-i", "0.1"]);
    assert!(
        text.contains("bits/sec") && text.contains("sender") && text.contains("0 (0.00 %) lost"),
        "{text}"
    );
}

#[test]
fn ping_counts_answers_and_losses() {
    let server = Server::start("127.0.0.1:0", &["--udp"]);
    let ping = |stack: &str| {
        let options = ["--udp", "-c", "40", "-i", "0.002", "--json", "--stack", stack];
        json(&output(&[&["ping", &server.address], &options[..]].concat()))
    };
    let whole = ping("");
    assert_eq!((&whole["sent"], &whole["received"]), (&40.into(), &40.into()), "{whole}");
    let times = ["min", "p50", "p99", "max"].map(|name| whole["microseconds"][name].as_f64().unwrap());
    assert!(times[0] > 0.0 && times.is_sorted(), "{whole}");
    let half = ping("fault=0.5");
    assert!((1..40).contains(&half["lost"].as_u64().unwrap()), "{half}");
}

#[test]
fn explain_says_what_is_agreed_and_why() {
    let server = Server::start("127.0.0.1:0", &["--stack", "checksum"]);
    let explained = |stack: &str| json(&output(&["explain", &server.address, "--stack", stack, "--json"]));
    let agreed = explained("batch|checksum");
    assert_eq!(agreed["chunnels"], serde_json::json!(["Checksum"]), "{agreed}");
    assert!(agreed["passed_over"].as_str().unwrap().contains("Batch"), "{agreed}");
    assert_eq!(agreed["offered"], "(Batch | Checksum)");
    let refusal = failure(&["explain", &server.address, "--stack", "batch"]);
    assert!(refusal.starts_with("bertha: ") && refusal.contains("Batch"), "{refusal}");
}

#[test]
fn secrets_of_both_ends_make_an_encrypted_connection() {
    let folder = tempfile::tempdir().unwrap();
    let [certificate, key, shared] = certificates::written(folder.path());
    let tls =
        Server::start("127.0.0.1:0", &["--stack", "tls", "--tls-cert", &certificate, "--tls-key", &key]);
    let explain = ["explain", &tls.address, "--stack", "tls", "--tls-ca", &certificate, "--tls-name"];
    let explained = output(&[&explain[..], &["bertha.test"]].concat());
    assert!(
        explained.contains("agreed:           Tls")
            && explained.contains("authenticated:    yes, certificate CN=")
            && explained.contains(", names bertha.test, SHA-256 "),
        "{explained}"
    );
    let refusal = failure(&[&explain[..], &["other.test"]].concat());
    assert!(refusal.contains("other.test"), "{refusal}");
    assert!(failure(&["explain", &tls.address, "--stack", "tls"]).contains("needs --tls-ca"));

    let noise = Server::start("127.0.0.1:0", &["--udp", "--stack", "noise", "--key-file", &shared]);
    let explained = output(&["explain", &noise.address, "--stack", "noise", "--udp", "--key-file", &shared]);
    assert!(explained.contains("authenticated:    yes"), "{explained}");
}

#[test]
fn a_stack_or_address_that_is_none_is_refused_with_what_there_is() {
    let stack = failure(&["explain", "127.0.0.1:1", "--stack", "ordred,tls"]);
    assert!(stack.contains("`ordred`") && stack.contains("at-most-once, batch, checksum"), "{stack}");
    let address = failure(&["ping", "no-such-host.invalid"]);
    assert!(address.contains("no-such-host.invalid"), "{address}");
    let datapath = failure(&["perf", "-c", "127.0.0.1:1", "--datapath", "carrier-pigeon"]);
    assert!(datapath.contains("unix-stream") && datapath.contains("shm"), "{datapath}");
    assert!(failure(&["perf", "-t", "1"]).contains("--server"));
    let long = Server::start("127.0.0.1:0", &["--udp"]);
    let none = failure(&["ping", &long.address, "--udp", "--count", "0"]);
    assert!(none.contains("--count") && none.contains("1.."), "{none}");
    let refusal = failure(&["perf", "-c", &long.address, "--udp", "-l", "1000000", "-t", "0.1"]);
    assert!(refusal.contains("1000000 bytes were asked for"), "{refusal}");
}
