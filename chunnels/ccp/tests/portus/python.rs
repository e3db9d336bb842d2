//! The package `portus` for Python, compared with the crate of this name: both make the same messages of a program, or both refuse it.

use crate::compiled;
use bertha_ccp::AgentSocket;
use bertha_ccp::algorithms::{Bbr, Copa, Cubic, Dctcp, NewReno, Nimbus, Vegas};
use bertha_ccp::message::Message;
use portus::lang::{self, Reg, Scope};
use portus::{CongAlg, serialize};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};

/// A program for the compiler in Python.
#[derive(Serialize)]
struct Question<'a> {
    source: &'a str,
    uid: u32,
    fields: &'a [(&'a str, u32)],
}

/// The messages of a program, in hexadecimal, or the error.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    install: String,
    change: String,
    update: String,
    error: String,
}

/// The messages of a program as portus makes them: those of its installation, of its choice for a flow, and of an update.
struct Expected {
    uid: u32,
    install: Vec<u8>,
    change: Vec<u8>,
    update: Vec<u8>,
}

/// Prints that a test did not take place.
#[allow(clippy::print_stderr, reason = "for the person who runs the tests by hand")]
fn skip(what: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "must not be skipped in CI: {what}");
    eprintln!("SKIPPED: {what}");
}

/// Returns the answers of the package in Python, or `None` if there is no Python.
fn ask(questions: &[Question<'_>]) -> Option<Vec<Answer>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/portus/python/compile.py");
    let package = concat!(env!("CARGO_MANIFEST_DIR"), "/python");
    let child = Command::new("python3")
        .args(["-B", "-W", "error", script])
        .env("PYTHONPATH", package)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            skip(&format!("the compiler of programs in Python: python3: {error}"));
            return None;
        }
    };
    let mut input = child.stdin.take().unwrap();
    input.write_all(&serde_json::to_vec(questions).unwrap()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the script has failed");
    let answers: Vec<Answer> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answers.len(), questions.len());
    Some(answers)
}

/// Returns the messages that portus makes, or `None` if it refuses the program. It refuses some programs with a panic.
fn expected(source: &str, fields: &[(&str, u32)]) -> Option<Expected> {
    catch_unwind(AssertUnwindSafe(|| messages(source, fields).ok())).ok().flatten()
}

fn messages(source: &str, fields: &[(&str, u32)]) -> portus::Result<Expected> {
    let (compiled, scope) = lang::compile(source.as_bytes(), &[]).map_err(|error| portus::Error(error.0))?;
    let uid = scope.program_uid;
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| (register(&scope, name), u64::from(*value))).collect();
    let num_fields = fields.len();
    Ok(Expected {
        uid,
        install: serialize::serialize(&serialize::install::Msg {
            sid: 0,
            program_uid: uid,
            num_events: compiled.events.len() as u32,
            num_instrs: compiled.instrs.len() as u32,
            instrs: compiled,
        })?,
        change: serialize::serialize(&serialize::changeprog::Msg {
            sid: 7,
            program_uid: uid,
            num_fields: num_fields as u32,
            fields: fields.clone(),
        })?,
        update: serialize::serialize(&serialize::update_field::Msg {
            sid: 7,
            num_fields: num_fields as u8,
            fields,
        })?,
    })
}

fn register(scope: &Scope, name: &str) -> Reg {
    scope.get(name).unwrap().clone()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares the two packages for each program. Returns the number of the programs that both take, or `None` if there is no Python.
fn compare(sources: &[String]) -> Option<usize> {
    let expected: Vec<_> = sources.iter().map(|source| expected(source, &[])).collect();
    let questions: Vec<_> = sources
        .iter()
        .zip(&expected)
        .map(|(source, expected)| Question {
            source,
            uid: expected.as_ref().map_or(1, |expected| expected.uid),
            fields: &[],
        })
        .collect();
    let answers = ask(&questions)?;
    for ((source, expected), answer) in sources.iter().zip(&expected).zip(&answers) {
        match expected {
            Some(expected) => {
                assert_eq!(answer.error, "", "portus takes {source}");
                assert_eq!(answer.install, hex(&expected.install), "{source}");
                assert_eq!(answer.change, hex(&expected.change), "{source}");
                assert_eq!(answer.update, hex(&expected.update), "{source}");
            }
            None => assert_ne!(answer.error, "", "portus refuses {source}"),
        }
    }
    Some(expected.iter().flatten().count())
}

fn programs_of(algorithm: &impl CongAlg<AgentSocket>) -> Vec<String> {
    algorithm.datapath_programs().into_values().collect()
}

#[test]
fn every_program_of_the_algorithms_compiles_to_the_bytes_of_portus() {
    let mut sources = [
        programs_of(&Bbr),
        programs_of(&Copa::default()),
        programs_of(&Cubic::default()),
        programs_of(&Dctcp::default()),
        programs_of(&NewReno),
        programs_of(&Nimbus),
        programs_of(&Vegas::default()),
    ]
    .concat();
    sources.push(compiled::BBR.to_owned());
    assert!(compare(&sources).is_none_or(|taken| taken == sources.len()));
}

/// Programs that use corners of the language.
const ODD: &[&str] = &[
    "(def) (when true (report))",
    "(def)(when false(fallthrough))",
    "(def(Report 0))(when true (:= Report 1))",
    "(def (Report.loss 0)) (when true (:= Cwnd (+ Cwnd Ack.bytes_acked))) (when (> Ack.lost_pkts_sample 0) (report))",
    "(def (b 1) (a 2) (Report (z 3) (volatile y true)) (volatile c false) (Report.x +infinity)) (when true (:= a b))",
    "(def (a 1) (a 2) (Cwnd 3)) (when true (:= a Cwnd) (:= Rate Rate))",
    "(def (Report (f 0))) (when true (:= Report.f (ewma 3 Flow.rate_outgoing)))",
    "(def (Report (f false)) (c 0)) (when true (:= Report.f (!if Report.f (> Micros 3))) (:= c (if Report.f 7)))",
    "(def) (when true (:= x 3) (:= y (wrapped_max x Ack.now)) (:= Cwnd (max (min x y) (/ y 2))))",
    "(def) (when true (:= x y) (:= x 3) (:= Cwnd y))",
    "(def (a 0)) (when true (:= a (:= b (:= c 4))))",
    "(def (a 0)) (when true (:= (+ a 1) 4) a 4 true)",
    "(def (a 0)) (when (|| (&& (> a 1) (lt a 9)) (== a 20)) (bind a (sub (mul a 2) (div a (add a 1)))))",
    "(def (a 0)) (when (&& true false) (:= a 2147483647) (:= a +infinity) (:= a 18446744073709551615))",
    "(def (a 0)) (when (lta 9) (:= a (max3a)))",
    "(def (volatilea 0) (volatile  b\t0)\r\n) # a clause\n (when true (:= a 1))",
    "(def (a 0)) (when true (:= a 0007) (:= a 00000000000000000000000000000000001))",
    "(def (a 0)) (when true (:= 99999999999999999999 3) (:= a 99999999999999999999))",
    "(def (a 0)) (when (:= (> a 1) true) (:= a 1))",
    "(def (a b) (c 0)) (when true (:= a c) (:= c a))",
    "(def (\u{161}\u{162} 0)) (when true (:= \u{161}\u{162} 1))",
    "(def (a true)) (when true (:= a false) (:= a (> 1 2)) (:= Flow.x 1))",
    "(def (a 0)) (when (== 1 1) (:= a (:= b (report))))",
    "  \n(def (a 0)) # one comment\n (when true (:= a 1)) # another comment\n (when (== a 2) (report))\n ",
];

#[test]
fn odd_programs_compile_to_the_bytes_of_portus() {
    let mut sources: Vec<String> = ODD.iter().map(ToString::to_string).collect();
    let fifteen: Vec<_> = (0..16).map(|at| format!("(v{at} {at})")).collect();
    sources.push(format!("(def (Report {0}) {0}) (when true (:= v15 Report.v15))", fifteen.join(" ")));
    let deep = (0..15).fold("1".to_owned(), |inner, at| format!("(+ {at} {inner})"));
    sources.push(format!("(def) (when true (:= Cwnd {deep}))"));
    for source in &sources {
        assert!(expected(source, &[]).is_some(), "{source}");
    }
    compare(&sources);
}

/// Programs that no compiler takes.
const BAD: &[&str] = &[
    "",
    "(",
    "(def",
    "(def)",
    "(def ) (when true (report))",
    "(def (a)) (when true (report))",
    "(def (__a 0)) (when true (report))",
    "(def (Report)) (when true (report))",
    "(def (a 0)) (when true)",
    "(def (a 0)) (when true (reset))",
    "(def (a 0)) (when true (report)",
    "(def (a 0)) (when true (report)))",
    "(def (a 0)) (when true (report)) # the end",
    "(def (a 0)) # two\n # comments\n (when true (report))",
    "(def (a 0)) (when true # a comment\n (report))",
    "(def (a 0)) (when true (report) # a comment\n)",
    "(def (a 0)) (when (report) (report))",
    "(def (a 0)) (when a (report))",
    "(def (a true)) (when a (report))",
    "(def (Report (a true))) (when Report.a (report))",
    "(def) (when Flow.was_timeout (report))",
    "(def) (when 1 (report))",
    "(def) (when (+ 1 2) (report))",
    "(def) (when true (:= 1 2))",
    "(def) (when true (:= Ack.now 2))",
    "(def) (when true (:= Cwnd (+ Cwnd x)))",
    "(def) (when true (:= Cwnd (+ Cwnd true)))",
    "(def) (when true (:= Cwnd (&& 1 2)))",
    "(def) (when true (:= x (if true 1)))",
    "(def) (when true (if true 1))",
    "(def) (when true (:= Cwnd (ewma 2 Flow.rate_outgoing)))",
    "(def (a 0)) (when true (:= a (+ (if true 1) 1)))",
    "(def (a 0)) (when true (:= a (+ 1 (if true 1))))",
    "(def (a 0)) (when true (:= a (if true (if true 1))))",
    "(def) (when true (:= Cwnd 2147483648))",
    "(def (a 2147483648)) (when true (report))",
    "(def) (when true (:= a 1) (:= b 1) (:= c 1) (:= d 1) (:= e 1) (:= f 1) (:= g 1))",
    "(def) (when true (:= __shouldReport true))",
    "(def) (when true (== 1 2 3))",
    "(def) (when true (- 1))",
    "(def (a 0)) (when true (:= 007 a))",
    "(defa 0) (when true (report))",
    "(Def) (when true (report))",
    "(def) (When true (report))",
    "(def)\u{a0}(when true (report))",
    "(def (\u{e9} 0)) (when true (report))",
];

#[test]
fn bad_programs_are_refused_by_both() {
    let mut sources: Vec<String> = BAD.iter().map(ToString::to_string).collect();
    let seventeen: Vec<_> = (0..17).map(|at| format!("(v{at} {at})")).collect();
    sources.push(format!("(def {}) (when true (report))", seventeen.join(" ")));
    let deep = (0..17).fold("1".to_owned(), |inner, at| format!("(+ {at} {inner})"));
    sources.push(format!("(def) (when true (:= Cwnd {deep}))"));
    assert!(compare(&sources).is_none_or(|taken| taken == 0));
}

/// The packages differ where portus knows no limit: Python refuses the programs that no datapath takes.
#[test]
fn programs_beyond_the_limits_of_datapaths_are_refused() {
    let long = format!("(def) (when true {})", "(:= Cwnd 1)".repeat(256));
    let many = format!("(def) {}", "(when true 1)".repeat(257));
    let deep = format!("(def) (when true {}1{})", "(:= Cwnd ".repeat(200), ")".repeat(200));
    for source in [&long, &many] {
        assert!(Message::decode(&expected(source, &[]).unwrap().install).is_err());
    }
    let questions = [long, many, deep];
    let questions: Vec<_> = questions.iter().map(|source| Question { source, uid: 1, fields: &[] }).collect();
    let Some(answers) = ask(&questions) else { return };
    for (answer, limit) in answers.iter().zip(["256 instructions", "256 instructions", "128 parentheses"]) {
        assert!(answer.error.contains(limit), "{answer:?}");
    }
}

#[test]
fn registers_are_set_with_the_bytes_of_portus() {
    let source = "(def (Report (r 0)) (a 1) (volatile b 2)) (when true (:= local 3) (report))";
    let fields = [("Cwnd", 30_000), ("a", u32::MAX), ("Rate", 0), ("b", 1)];
    let expected = expected(source, &fields).unwrap();
    let refused = [[("Micros", 1)], [("__shouldReport", 1)], [("Report.r", 1)], [("c", 1)], [("local", 1)]];
    let uid = expected.uid;
    let mut questions = vec![Question { source, uid, fields: &fields }];
    questions.extend(refused.iter().map(|fields| Question { source, uid, fields }));
    let Some(answers) = ask(&questions) else { return };
    assert_eq!(answers[0].error, "");
    assert_eq!((&answers[0].change, &answers[0].update), (&hex(&expected.change), &hex(&expected.update)));
    for answer in &answers[1..] {
        assert_ne!(answer.error, "");
    }
}

/// Number of random programs. One call of Python compiles all.
const RANDOM: usize = 4_000;

#[test]
fn random_programs_compile_to_the_bytes_of_portus_or_are_refused_by_both() {
    let seed: u64 = std::env::var("BERTHA_SEED").map_or(4, |seed| seed.parse().unwrap());
    let mut random = StdRng::seed_from_u64(seed);
    let sources: Vec<_> = (0..RANDOM).map(|_| program(&mut random)).collect();
    if let Some(taken) = compare(&sources) {
        let share = taken * 100 / RANDOM;
        assert!((20..=90).contains(&share), "seed {seed}: {share} % of the programs compile");
    }
}

fn program(random: &mut StdRng) -> String {
    let mut source = String::from("(def");
    let mut reported =
        vec![" (Report (volatile r 0) (s true))", " (Report (r +infinity) (volatile s false))", ""];
    source += pick(random, &["", " (a 0)", " (volatile a 0) (Report.t 4)"]);
    source += reported.swap_remove(random.random_range(0..reported.len()));
    source += pick(random, &[" (b 3)", " (c true)", " (b 1)", " (Rate 1) (b 1)"]);
    source += ")";
    for _ in 0..random.random_range(1..4) {
        source += " (when ";
        source += &boolean(random, 2);
        for _ in 0..random.random_range(1..4) {
            source += &statement(random);
        }
        source += ")";
    }
    // Few programs are damaged: most of the damaged programs are refused at once.
    if random.random_ratio(1, 5) {
        let at = random.random_range(0..source.len());
        let with = *pick(random, &[&"", &" ", &"(", &")", &"#", &"\n", &"_", &"9", &"x"]);
        source.replace_range(at..=at, with);
    }
    source
}

fn pick<'a, T: ?Sized>(random: &mut StdRng, of: &[&'a T]) -> &'a T {
    of.choose(random).unwrap()
}

fn statement(random: &mut StdRng) -> String {
    let variable = pick(random, &["a", "b", "c", "Report.r", "Report.s", "x", "y", "Cwnd", "Rate", "Micros"]);
    match random.random_range(0..8) {
        0 => " (report)".to_owned(),
        1 => " (fallthrough)".to_owned(),
        2 => format!(" (:= {variable} {})", boolean(random, 2)),
        3 => format!(
            " (:= {variable} ({} {} {}))",
            pick(random, &["if", "!if"]),
            boolean(random, 1),
            number(random, 1)
        ),
        4 => format!(" (bind {variable} (ewma {} {}))", number(random, 0), number(random, 2)),
        _ => format!(" (:= {variable} {})", number(random, 3)),
    }
}

fn number(random: &mut StdRng, depth: u32) -> String {
    if depth == 0 || random.random_ratio(1, 3) {
        let names = [
            "1",
            "0",
            "7",
            "2147483647",
            "+infinity",
            "Report.r",
            "b",
            "Cwnd",
            "Ack.now",
            "Flow.rtt_sample_us",
        ];
        let odd = ["x", "a", "2147483648", "true", "1x", "Report.s", "Report.r"];
        let names: &[&str] = if random.random_ratio(1, 40) { &odd } else { &names };
        return pick(random, names).to_owned();
    }
    let operation =
        pick(random, &["+", "add", "-", "sub", "*", "mul", "/", "div", "max", "min", "wrapped_max"]);
    format!("({operation} {} {})", number(random, depth - 1), number(random, depth - 1))
}

fn boolean(random: &mut StdRng, depth: u32) -> String {
    if depth == 0 || random.random_ratio(1, 4) {
        return pick(
            random,
            &["true", "false", "true", "false", "true", "(== 1 1)", "(< b Micros)", "false"],
        )
        .to_owned();
    }
    if random.random_ratio(1, 3) {
        let operation = pick(random, &["&&", "||", "and", "or"]);
        return format!("({operation} {} {})", boolean(random, depth - 1), boolean(random, depth - 1));
    }
    let operation = pick(random, &["==", "eq", "<", "lt", ">", "gt"]);
    format!("({operation} {} {})", number(random, depth - 1), number(random, depth - 1))
}
