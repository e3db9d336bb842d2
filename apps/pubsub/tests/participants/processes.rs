//! Real processes over real stores: they change their ordering, and lose, repeat and swap no message.

use bertha_program::until_ready_for_signals;
use bertha_tests::metrics::{Metered, judge, value};
use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_pubsub");

/// Returns the address of a store, if the program was built with it and `scripts/services` has set the
/// address.
fn store(is_built: bool, name: &str, variable: &str) -> Option<String> {
    let url = std::env::var(variable).ok().filter(|url| is_built && !url.is_empty());
    if url.is_none() {
        let what =
            format!("pubsub over {name}: build it with --features {name}, and run scripts/services start");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "must not be skipped in CI: {what}");
        eprintln!("SKIPPED: {what}");
    }
    url
}

fn redis() -> Option<String> {
    store(cfg!(feature = "redis"), "redis", "BERTHA_REDIS")
}

fn etcd() -> Option<String> {
    store(cfg!(feature = "etcd"), "etcd", "BERTHA_ETCD")
}

/// Returns an unused group.
fn group() -> String {
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("239.255.77.2:{port}")
}

/// Returns a file of this test's own.
fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("bertha-pubsub-{}-{name}", std::process::id()))
}

/// The refusal comes before the program asks the store for anything: there is no store.
#[test]
fn a_demand_for_encryption_is_refused() {
    let store = ["--store", "redis://127.0.0.1:1"];
    for command in [&["join", "--id", "1"][..], &["run"]] {
        let told =
            Command::new(PROGRAM).args(command).args(store).arg("--require-encryption").output().unwrap();
        let log = String::from_utf8_lossy(&told.stderr);
        assert!(!told.status.success() && log.contains("in the clear"), "{log}");
    }
}

/// The stack is made before the program asks the store for anything: there is no store.
#[test]
fn the_log_tells_where_a_pass_has_taken_an_order_away() {
    let mut command = Command::new(PROGRAM);
    command
        .args(["join", "--store", "redis://127.0.0.1:1", "--id", "1"])
        .env("RUST_LOG", "bertha::passes=debug");
    let log = command.stdin(Stdio::null()).output().unwrap().stderr;
    let log = String::from_utf8_lossy(&log);
    let told = [
        r#"pass="OneOrder" place=src/joining.rs:"#,
        r#"changes="ReceiverOrdered / SequencerOrdered became SequencerOrdered""#,
    ];
    assert!(told.iter().all(|told| log.contains(told)), "{log}");
    assert_eq!(
        log.matches("OneOrder").count(),
        1,
        "a pass that changes nothing is told by `trace` alone: {log}"
    );
}

#[test]
fn a_participant_tells_its_messages_to_prometheus() {
    let Some(url) = redis() else { return };
    let topic = format!("metrics-{}", std::process::id());
    let mut command = Command::new(PROGRAM);
    command.args(["join", "--store", &url, "--topic", &topic, "--id", "1", "--group", &group()]);
    let mut participant = Metered::start(&mut command);
    assert!(participant.line().contains(r#""event":"joined""#));
    participant.tell("publish 3 0");
    participant.value_becomes("pubsub_messages_published_total", 3);
    participant.tell("publish x");
    participant.value_becomes("pubsub_orders_refused_total", 1);
    let metrics = participant.scrape();
    judge(&metrics);
    assert_eq!(value(&metrics, "pubsub_messages_failed_total"), Some(0.0));
}

#[test]
fn over_redis_the_third_participant_changes_the_ordering_and_nothing_is_lost() {
    redis().into_iter().for_each(|url| third_participant(&url));
}

#[test]
fn over_etcd_the_third_participant_changes_the_ordering_and_nothing_is_lost() {
    etcd().into_iter().for_each(|url| third_participant(&url));
}

#[test]
fn over_stores_with_tls_and_a_login_it_does_the_same() {
    let stores = [
        store(cfg!(feature = "redis"), "redis", "BERTHA_REDIS_TLS"),
        store(cfg!(feature = "etcd"), "etcd", "BERTHA_ETCD_TLS"),
    ];
    stores.into_iter().flatten().for_each(|url| third_participant(&url));
}

fn third_participant(url: &str) {
    let figure = file(url.split(':').next().unwrap());
    let run = Command::new(PROGRAM)
        .args(["run", "--json", "--store", url, "--group", &group(), "--messages", "100", "--interval", "20"])
        .arg("--figure")
        .arg(&figure)
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!((&summary["sent"], &summary["missing"]), (&400.into(), &0.into()), "{summary}");
    let rounds = summary["rounds"].as_array().unwrap();
    assert_eq!(rounds[0][1], "Serialize / ReceiverOrdered", "{summary}");
    assert_eq!(rounds[1][1], "Serialize / SequencerOrdered", "{summary}");
    let svg = std::fs::read_to_string(&figure).unwrap();
    std::fs::remove_file(&figure).unwrap();
    assert!(svg.contains("SequencerOrdered") && svg.matches("<circle").count() > 400);
}

/// A participant, killed when the value is dropped.
struct Process {
    id: u32,
    child: Child,
    output: BufReader<ChildStdout>,
    history: String,
}

impl Process {
    fn start(id: u32, url: &str, topic: &str, group: &str) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["join", "--store", url, "--topic", topic, "--group", group, "--id", &id.to_string()]);
        command.args(["--lease", "3000"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { id, child, output, history: String::new() }
    }

    fn tell(&mut self, command: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{command}").unwrap();
    }

    /// Returns true if the participant leads the active round, as far as was read.
    fn leads(&self) -> bool {
        let is_round = |line: &&str| line.contains("\"leads\":");
        self.history.lines().rfind(is_round).is_some_and(|line| line.contains("\"leads\":true"))
    }

    /// Reads on until each of these texts is in a line that was not read before.
    fn until(&mut self, texts: &[&str]) {
        let before = self.history.len();
        while !texts.iter().all(|text| self.history[before..].contains(text)) {
            assert!(
                self.output.read_line(&mut self.history).unwrap() > 0,
                "ended, and no line says {texts:?}"
            );
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn over_redis_the_others_go_on_without_the_sequencer_once_it_was_killed() {
    redis().into_iter().for_each(|url| without_sequencer(&url));
}

#[test]
fn over_etcd_the_others_go_on_without_the_sequencer_once_it_was_killed() {
    etcd().into_iter().for_each(|url| without_sequencer(&url));
}

#[test]
fn a_mistyped_command_ends_no_participant() {
    let Some(url) = redis() else { return };
    let topic = format!("pubsub-mistyped-{}", std::process::id());
    let mut process = Process::start(1, &url, &topic, &group());
    process.until(&["joined"]);
    process.tell("pubish 1 1");
    process.until(&["\"event\":\"refused\""]);
    process.tell("publish 1");
    process.until(&["\"event\":\"refused\""]);
    process.tell("publish 1 1");
    process.until(&["\"event\":\"sent\",\"number\":0"]);
    process.tell("leave");
    process.until(&["\"event\":\"left\""]);
}

fn without_sequencer(url: &str) {
    let (topic, group) = (format!("pubsub-killed-{}", std::process::id()), group());
    let mut all: Vec<Process> = Vec::new();
    for id in 0..4 {
        let mut process = Process::start(id, url, &topic, &group);
        process.until(&["joined"]);
        all.push(process);
    }
    // The last participants may have come to this stack already.
    for process in all.iter_mut().filter(|process| !process.history.contains("SequencerOrdered")) {
        process.until(&["SequencerOrdered"]);
    }
    for process in &mut all {
        process.tell("publish 20 2");
    }
    all.iter_mut().for_each(|process| process.until(&["\"event\":\"sent\",\"number\":19"]));
    for left in (2..4).rev() {
        let leads = all.iter().position(|process| process.leads()).unwrap();
        all.remove(leads).child.kill().unwrap();
        // Messages that are sent before another participant leads may be lost; these messages come after the
        // change.
        let count = format!("\"participants\",\"count\":{left}");
        all.iter_mut().for_each(|process| process.until(&[&count, "\"changed\""]));
        all[0].tell("publish 20 2");
        let publisher = all[0].id;
        all[1].until(&[&format!("\"publisher\":{publisher},\"number\":39")]);
        all.rotate_left(1);
    }
    for process in &mut all {
        // A text that is no command is answered, and ends nothing.
        process.tell("pubish 1 2");
        process.until(&["\"event\":\"refused\""]);
        process.tell("leave");
        process.until(&["\"event\":\"left\""]);
        let mut last = std::collections::BTreeMap::new();
        for line in process.history.lines().filter(|line| line.contains("\"received\"")) {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let (publisher, number) = (line["publisher"].as_u64().unwrap(), line["number"].as_u64().unwrap());
            let before = last.insert(publisher, number);
            assert!(before.is_none_or(|before| before < number), "{number} of {publisher} after {before:?}");
        }
    }
}

#[test]
fn a_signal_interrupts_a_run_with_a_code_of_its_own() {
    for signal in ["INT", "TERM"] {
        let mut run = Command::new(PROGRAM);
        run.args(["run", "--service", "memory:", "--messages", "1000000", "--interval", "1000"]);
        let mut run = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        until_ready_for_signals(run.id());
        assert!(Command::new("kill").args(["-s", signal, &run.id().to_string()]).status().unwrap().success());
        assert_eq!(run.wait().unwrap().code(), Some(3), "{signal}");
        let reason = std::io::read_to_string(run.stderr.unwrap()).unwrap();
        assert!(reason.starts_with("pubsub: ") && reason.contains("interrupted by a signal"), "{reason}");
    }
}

#[test]
fn a_signal_makes_a_participant_leave() {
    let Some(url) = redis() else { return };
    let mut participant = Process::start(1, &url, &format!("pubsub-signal-{}", std::process::id()), &group());
    let mut line = String::new();
    while !line.contains("joined") {
        line.clear();
        assert!(participant.output.read_line(&mut line).unwrap() > 0, "it has not joined");
    }
    let id = participant.child.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
    assert_eq!(participant.child.wait().unwrap().code(), Some(0));
    let rest = std::io::read_to_string(&mut participant.output).unwrap();
    assert!(rest.contains("left"), "{rest}");
}

#[test]
fn exit_codes_are_those_of_all_programs() {
    let code = |arguments: &[&str]| Command::new(PROGRAM).args(arguments).output().unwrap().status.code();
    assert_eq!(code(&["run", "--help"]), Some(0));
    assert_eq!(code(&["check", "/nowhere"]), Some(1));
    assert_eq!(code(&["run"]), Some(2));
}
