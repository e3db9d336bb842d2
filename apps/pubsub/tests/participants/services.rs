//! A single program over every messaging service: as the second receiver joins, the service keeps the order;
//! no message is lost or swapped.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Returns the addresses of `scripts/services`. If an address is missing or the program was built without the
/// service, prints a loud message and returns `None`.
fn addresses<const N: usize>(is_built: bool, service: &str, variables: [&str; N]) -> Option<[String; N]> {
    let found = variables.map(|variable| std::env::var(variable).unwrap_or_default());
    if is_built && found.iter().all(|address| !address.is_empty()) {
        return Some(found);
    }
    let what = format!(
        "pubsub over {service}: build it with --features {service},redis, and run scripts/services start"
    );
    assert!(std::env::var("CI").as_deref() != Ok("true"), "must not be skipped in CI: {what}");
    eprintln!("SKIPPED: {what}");
    None
}

/// Plays the scenario with 120 messages, and returns its summary.
fn play(arguments: &[&str], environment: &[(&str, &str)]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pubsub"));
    command.args(["run", "--json", "--messages", "60", "--interval", "10"]).args(arguments);
    // Tests run at the same time, some in a common process.
    command.args(["--topic", &format!("pubsub-{:016x}", rand())]);
    let run = command.envs(environment.iter().copied()).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let summary: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!((&summary["sent"], &summary["participants"]), (&120.into(), &3.into()), "{summary}");
    summary
}

/// Returns a number that no other test has.
fn rand() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

/// Checks that the order moved from the receiver to the service, and back as the participants left.
fn moves_its_order(arguments: &[&str], environment: &[(&str, &str)]) {
    let summary = play(arguments, environment);
    let stacks: Vec<&str> =
        summary["rounds"].as_array().unwrap().iter().map(|round| round[1].as_str().unwrap()).collect();
    let at = |stack: &str| stacks.iter().position(|it| *it == stack);
    let (receiver, service) = (at("Serialize / OrderedByKey"), at("Serialize / ServiceOrdered"));
    assert!(receiver.is_some() && receiver < service, "{summary}");
}

#[test]
fn over_the_memory() {
    moves_its_order(&["--service", "memory:"], &[]);
    let summary = play(&["--service", "memory:", "--unordered"], &[]);
    assert_eq!((&summary["received"], &summary["repeated"]), (&120.into(), &0.into()), "{summary}");
}

#[test]
fn over_nats() {
    let variables = ["BERTHA_NATS", "BERTHA_REDIS"];
    let Some([nats, store]) = addresses(cfg!(feature = "nats"), "nats", variables) else { return };
    moves_its_order(&["--service", &nats, "--store", &store], &[]);
}

#[test]
fn over_kafka() {
    let variables = ["BERTHA_KAFKA", "BERTHA_REDIS"];
    let Some([kafka, store]) = addresses(cfg!(feature = "kafka"), "kafka", variables) else { return };
    moves_its_order(&["--service", &format!("kafka://{kafka}"), "--store", &store], &[]);
}

/// The address names a file with the settings of Kafka's client.
#[test]
fn over_kafka_with_a_login() {
    let variables = ["BERTHA_KAFKA_LOGIN", "BERTHA_KAFKA_TLS", "BERTHA_KAFKA_SECRETS", "BERTHA_REDIS"];
    let Some([login, tls, secrets, store]) = addresses(cfg!(feature = "kafka"), "kafka", variables) else {
        return;
    };
    let file = std::env::temp_dir().join(format!("bertha-pubsub-{:016x}", rand()));
    let settings = |protocol: &str, password: &str| {
        let text = format!(
            "# as for kcat\nsecurity.protocol={protocol}\nsasl.mechanism=PLAIN\nsasl.username=bertha\nsasl.password={password}\n"
        );
        let authority = match protocol {
            "SASL_SSL" => format!("ssl.ca.location={secrets}/ca.pem\n"),
            _ => String::new(),
        };
        std::fs::write(&file, text + &authority).unwrap();
    };
    let service = |brokers: &str| format!("kafka://{brokers}?config={}", file.display());
    settings("SASL_PLAINTEXT", "bertha");
    moves_its_order(&["--service", &service(&login), "--store", &store], &[]);
    let refusal = || {
        let run = Command::new(env!("CARGO_BIN_EXE_pubsub"))
            .args(["run", "--messages", "5", "--service", &service(&tls), "--store", &store])
            .output()
            .unwrap();
        assert!(!run.status.success());
        String::from_utf8(run.stderr).unwrap()
    };
    settings("SASL_SSL", "wrong");
    let expected = match cfg!(feature = "kafka-tls") {
        true => "does not accept this client",
        false => "need the feature `kafka-tls`",
    };
    let log = refusal();
    assert!(log.contains(expected) && !log.contains("wrong"), "{log}");
    if cfg!(feature = "kafka-tls") {
        settings("SASL_SSL", "bertha");
        moves_its_order(&["--service", &service(&tls), "--store", &store], &[]);
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn over_fifo_queues_of_sqs() {
    let variables = ["BERTHA_ELASTICMQ", "BERTHA_REDIS"];
    let Some([endpoint, store]) = addresses(cfg!(feature = "sqs"), "sqs", variables) else { return };
    let environment = [
        ("AWS_ENDPOINT_URL", &*endpoint),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "AKIABERTHATESTS"),
        ("AWS_SECRET_ACCESS_KEY", "not a secret"),
    ];
    moves_its_order(&["--service", "sqs://", "--store", &store], &environment);
}

#[test]
fn over_pubsub_of_google() {
    let variables = ["BERTHA_PUBSUB", "BERTHA_REDIS"];
    let Some([host, store]) = addresses(cfg!(feature = "google-pubsub"), "pubsub", variables) else { return };
    let environment = [("PUBSUB_EMULATOR_HOST", &*host), ("GOOGLE_CLOUD_PROJECT", "bertha-tests")];
    moves_its_order(&["--service", "pubsub://", "--store", &store], &environment);
}

/// Neither service keeps an order for several receivers, and a program that asks for an order is told so.
#[test]
fn over_services_without_order() {
    let variables = ["BERTHA_REDIS", "BERTHA_AZURE_QUEUE"];
    let is_built = cfg!(all(feature = "redis-streams", feature = "azure-queue"));
    let Some([redis, azure]) = addresses(is_built, "redis-streams,azure-queue", variables) else { return };
    let (account, signature) = azure.split_once('?').unwrap();
    let environment = [("AZURE_STORAGE_QUEUE_ENDPOINT", account), ("AZURE_STORAGE_SAS_TOKEN", signature)];
    for service in [&*redis, "azure://"] {
        play(&["--service", service, "--store", &redis, "--unordered"], &environment);
    }
    let ordered = Command::new(env!("CARGO_BIN_EXE_pubsub"))
        .args(["run", "--messages", "5", "--service", &redis, "--store", &redis])
        .args(["--topic", &format!("pubsub-{:016x}", rand())])
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&ordered.stderr);
    assert!(!ordered.status.success() && log.contains("2 receivers share the messages"), "{log}");
}

/// Returns the first line of Redis's answer.
fn asked(redis: &str, command: &str) -> String {
    let mut server = TcpStream::connect(redis.trim_start_matches("redis://")).unwrap();
    write!(server, "{command}\r\n").unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n") {
        let mut byte = [0];
        server.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    String::from_utf8(answer).unwrap().trim().to_owned()
}

/// A run leaves no topic after a proper end and after an interruption; and a topic of another program stays.
#[test]
fn a_run_leaves_no_topic_behind() {
    let Some([redis]) = addresses(cfg!(feature = "redis-streams"), "redis-streams", ["BERTHA_REDIS"]) else {
        return;
    };
    let topic = format!("pubsub-{:016x}", rand());
    let there = || asked(&redis, &format!("EXISTS {topic} {topic}-dead")) != ":0";
    let run = |messages: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pubsub"));
        command.args(["run", "--unordered", "--topic", &topic, "--service", &redis, "--store", &redis]);
        command.args(["--interval", "10", "--messages", messages]);
        command
    };
    assert!(run("5").output().unwrap().status.success());
    assert!(!there(), "after the end");

    let mut interrupted = run("1000000").stderr(std::process::Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    while !there() {
        assert!(begin.elapsed() < Duration::from_secs(30) && interrupted.try_wait().unwrap().is_none());
        sleep(Duration::from_millis(20));
    }
    // The interruption comes between the first participant and the first messages.
    sleep(Duration::from_millis(200));
    assert!(Command::new("kill").args(["-INT", &interrupted.id().to_string()]).status().unwrap().success());
    let told = interrupted.wait_with_output().unwrap();
    let log = String::from_utf8_lossy(&told.stderr);
    assert!(!told.status.success() && log.contains("interrupted"), "{log}");
    assert!(!there(), "after an interruption");

    asked(&redis, &format!("XADD {topic} * text hello"));
    let told = run("5").output().unwrap();
    let log = String::from_utf8_lossy(&told.stderr);
    assert!(!told.status.success() && log.contains("already"), "{log}");
    assert!(there(), "a topic of somebody else was deleted");
    asked(&redis, &format!("DEL {topic}"));
}
