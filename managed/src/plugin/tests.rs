#[path = "../../tests/built/mod.rs"]
mod built;

use super::*;
use crate::described::{Heap, about, binding, request};
use crate::engines::RateLimit;
use crate::{Burst, Chain, EngineKind, Kind, Message, Settings, Unchanged};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A chain with one engine, whose peer gets what passes.
struct Run {
    chain: Chain,
    heap: Heap,
    burst: Burst,
    now: Duration,
    /// The calls that have passed, in order.
    passed: Vec<u64>,
    /// The calls that have failed, with their reasons.
    failed: Vec<(u64, String)>,
}

fn load(path: &Path) -> Arc<dyn EngineKind> {
    Arc::new(Plugin::load(path).unwrap())
}

fn settings(text: &str) -> Settings {
    text.parse().unwrap()
}

fn failure(message: &Message) -> String {
    let Kind::Failure(refusal) = &message.kind else { return "a response".into() };
    format!("{}: {}", refusal.kind, refusal.reason)
}

impl Run {
    fn of(kind: Arc<dyn EngineKind>, text: &str) -> Result<Self, Unchanged> {
        let mut chain = Chain::new(binding());
        chain.add(0, "engine", kind, settings(text))?;
        let (heap, burst) = (Heap::default(), Burst::new());
        Ok(Self { chain, heap, burst, now: Duration::ZERO, passed: Vec::new(), failed: Vec::new() })
    }

    fn send(&mut self, messages: impl IntoIterator<Item = Message>) {
        messages.into_iter().for_each(|message| self.burst.push(message).unwrap());
        self.chain.requests(&mut self.burst, &mut self.heap, self.now);
        self.passed
            .extend(self.burst.drain().filter(|m| m.kind == Kind::Request).map(|message| message.call));
        self.failed.extend(self.chain.take_outcomes().map(|message| (message.call, failure(&message))));
        assert!(self.burst.take_ended().count().is_multiple_of(2), "a request ends with its cancellation");
    }

    /// Lets time pass until nothing waits.
    fn settle(&mut self) {
        for _ in 0..1_000 {
            let Some(due) = self.chain.due() else { return };
            self.now = self.now.max(due);
            self.send([]);
        }
        panic!("the chain is due for ever");
    }

    /// Returns what becomes of a response.
    fn answer(&mut self, call: u64) -> String {
        self.burst.push(about(call, Kind::Response)).unwrap();
        self.chain.responses(&mut self.burst, self.now);
        let outcomes: Vec<_> = self.burst.drain().map(|message| failure(&message)).collect();
        assert_eq!(outcomes.len(), 1, "{outcomes:?}");
        outcomes.concat()
    }
}

/// Returns the example in Rust and in C.
fn examples(folder: &Path) -> Vec<Arc<dyn EngineKind>> {
    [Some(built::in_rust(folder)), built::in_c(folder)].iter().flatten().map(|path| load(path)).collect()
}

#[test]
fn an_engine_reads_refuses_holds_and_releases() {
    let folder = tempfile::tempdir().unwrap();
    for kind in examples(folder.path()) {
        assert_eq!(kind.name(), "pace");
        let mut run = Run::of(kind, "microseconds=1000 field=customer deny=eve").unwrap();
        let [eve, ann] = [b"\x0a\x03eve", b"\x0a\x03ann"];
        let named: Vec<_> =
            (0..4).zip([ann, eve, ann, ann]).map(|(call, who)| run.heap.reservation(call, who)).collect();
        run.send(named.into_iter().chain([request(4)]));
        assert_eq!(run.passed, [0]);
        assert_eq!(run.failed, [(1, "denied: pace denies the value".to_owned())]);
        run.send([about(3, Kind::Cancellation)]);
        run.settle();
        assert_eq!((run.passed.as_slice(), run.now), ([0, 2, 4].as_slice(), Duration::from_millis(2)));
        assert_eq!(run.answer(0), "a response");
        run.chain.configure("engine", settings("microseconds=0 deny=ann")).unwrap();
        let ann = run.heap.reservation(5, ann);
        run.send((6..69).map(request).chain([ann]));
        assert_eq!((run.passed.len(), run.failed.len()), (66, 2));
        assert!(run.passed.is_sorted());
    }
}

#[test]
fn what_is_wrong_with_settings_is_told_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for kind in examples(folder.path()) {
        let unsuitable = |text: &str| Run::of(Arc::clone(&kind), text).err().unwrap().to_string();
        assert!(unsuitable("microseconds=x").contains("understood"));
        let missing = "the engine pace reads a field pet, and no method takes a request with a value there";
        assert_eq!(unsuitable("field=pet"), missing);
        let mut run = Run::of(Arc::clone(&kind), "microseconds=1000").unwrap();
        let refused = run.chain.configure("engine", settings("microseconds=0 field=customer")).unwrap_err();
        assert_eq!(refused.to_string(), "the field of pace stays what it is");
        run.send([request(0), request(1)]);
        assert_eq!(run.passed, [0]);
    }
}

#[test]
fn an_engine_goes_on_with_the_state_and_the_calls_of_another_version() {
    let folder = tempfile::tempdir().unwrap();
    let kinds = examples(folder.path());
    let mut run = Run::of(Arc::clone(&kinds[0]), "microseconds=1000").unwrap();
    run.send((0..20).map(request));
    for kind in kinds.iter().rev().cycle().take(10) {
        run.chain.upgrade("engine", Arc::clone(kind)).unwrap();
        run.send([]);
        assert_eq!(run.passed.len() as u128, 1 + run.now.as_millis(), "the interval is what it was");
        run.now += Duration::from_millis(1);
        run.send([]);
    }
    run.send([request(20)]);
    run.settle();
    assert_eq!(run.passed, (0..21).collect::<Vec<_>>());
    run.chain.configure("engine", settings("microseconds=1000000")).unwrap();
    run.send((21..30).map(request));
    run.chain.remove("engine").unwrap();
    run.send([request(30)]);
    assert_eq!(run.passed, (0..31).collect::<Vec<_>>());
}

#[test]
fn a_library_is_open_as_long_as_an_engine_lives() {
    let folder = tempfile::tempdir().unwrap();
    let path = built::in_rust(folder.path());
    let kind = Plugin::load(&path).unwrap();
    let library = kind.open();
    // Neither a file that is written anew nor one that is gone is missed.
    std::fs::write(&path, "no library").unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut run = Run::of(Arc::new(kind), "").unwrap();
    run.send([request(0)]);
    assert_eq!((run.passed.len(), library.strong_count() > 0), (1, true));
    drop(run);
    assert_eq!(library.strong_count(), 0);
}

#[test]
fn what_is_no_library_of_an_engine_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |path: &Path| {
        let text = Plugin::load(path).unwrap_err().to_string();
        assert!(text.contains("is not loaded: "), "{text}");
        text.split_once("is not loaded: ").unwrap().1.to_owned()
    };
    let is = |path: &Path, what: &str| assert!(refusal(path).contains(what), "{}", refusal(path));
    is(Path::new("pace.so"), "absolute");
    is(folder.path(), "regular file");
    is(&folder.path().join("none.so"), "No such file");
    let text = folder.path().join("text.so");
    std::fs::write(&text, "int main(void) { return 0; }").unwrap();
    built::set_mode(&text, 0o644);
    is(&text, "no shared library");
    let whole = built::in_rust(folder.path());
    let bytes = std::fs::read(&whole).unwrap();
    for part in [100, 4_096, 20_000] {
        std::fs::write(&text, &bytes[..part]).unwrap();
        is(&text, "ends too early");
    }
    for mode in [0o775, 0o757, 0o777] {
        built::set_mode(&whole, mode);
        is(&whole, "others than its owner may write it");
    }
    built::set_mode(&whole, 0o700);
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&whole, Some(65_534), None).unwrap();
        is(&whole, "its owner is user 65534");
    }
    for (definition, what) in [
        ("-DNO_SYMBOL", "exports no bertha_engine_v1"),
        ("-DNO_TABLE", "returned no table"),
        ("-DVERSION=2", "version 2 of the interface, and this daemon has version 1"),
        ("-DRESPONSES=NULL", "its function responses is NULL"),
        ("-DNAME=\"Wrong\"", "1 to 64 small letters"),
        ("-DNAME=\"\"", "1 to 64 small letters"),
        ("-DNAME=\"a:b\"", "1 to 64 small letters"),
    ] {
        let Some(library) = built::wrong(folder.path(), "wrong.so", &[definition]) else { return };
        is(&library, what);
    }
}

/// Returns an engine with a mistake.
fn mistaken(folder: &Path, mistake: &str) -> Option<Result<Run, Unchanged>> {
    let library = built::wrong(folder, "wrong.so", &[])?;
    Some(Run::of(load(&library), &format!("mistake={mistake}")))
}

#[test]
fn impossible_verdicts_are_refusals_with_a_name() {
    let folder = tempfile::tempdir().unwrap();
    for (mistake, expected) in [
        ("verdict", "failed: the engine wrong made a mistake: its verdict was 3, which there is none of"),
        ("failure", "failed: the engine wrong made a mistake: it refused as 9, which no failure is"),
        ("reason-null", "denied: the engine wrong made a mistake: its reason was NULL"),
        (
            "reason-long",
            "denied: the engine wrong made a mistake: its reason had 1025 bytes, and 1024 at most are right",
        ),
        ("reason-no-text", "denied: the engine wrong made a mistake: its reason was no UTF-8"),
        ("no-reason", "denied: "),
        ("fail", "failed: the engine wrong has failed"),
    ] {
        let Some(run) = mistaken(folder.path(), mistake) else { return };
        let mut run = run.unwrap();
        run.send([request(7), about(8, Kind::Cancellation)]);
        assert_eq!(
            (run.passed.len(), run.failed.as_slice()),
            (0, [(7, expected.to_owned())].as_slice()),
            "{mistake}"
        );
    }
    for (mistake, expected) in [
        ("hold-outcome", "failed: the engine wrong made a mistake: it held an outcome"),
        ("refuse-outcome", "denied: no"),
        ("fail-outcome", "failed: the engine wrong has failed"),
        ("many", "a response"),
    ] {
        let mut run = mistaken(folder.path(), mistake).unwrap().unwrap();
        run.send([request(7)]);
        assert_eq!(run.answer(7), expected, "{mistake}");
        assert_eq!(run.passed, [7]);
    }
}

#[test]
fn engines_that_cannot_be_made_are_refused_with_a_name() {
    let folder = tempfile::tempdir().unwrap();
    for (mistake, expected) in [
        ("silent", "the engine wrong refused without a reason"),
        ("null-engine", "the library of wrong made an engine that is NULL"),
        ("reads-null", "the fields that the engine wrong reads are named by no text"),
        (
            "reads-nothing",
            "the engine wrong reads a field pet, and no method takes a request with a value there",
        ),
    ] {
        let Some(run) = mistaken(folder.path(), mistake) else { return };
        assert_eq!(run.err().unwrap().to_string(), expected);
    }
    let chatty = mistaken(folder.path(), "chatty").unwrap().err().unwrap().to_string();
    assert!(chatty.len() < 8192 && !chatty.contains(char::is_control), "{}", chatty.len());
}

#[test]
fn an_engine_that_fails_refuses_what_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let Some(run) = mistaken(folder.path(), "fail-later") else { return };
    let mut run = run.unwrap();
    run.send([request(0), request(1), request(2)]);
    run.send([request(3), about(1, Kind::Cancellation)]);
    let failed: Vec<_> = run.failed.iter().map(|(call, _)| *call).collect();
    assert_eq!((run.passed.len(), failed), (0, vec![3, 0, 2]));
    assert_eq!(run.chain.due(), None);
}

#[test]
fn no_request_passes_one_that_is_held() {
    let folder = tempfile::tempdir().unwrap();
    let Some(run) = mistaken(folder.path(), "swap") else { return };
    let mut run = run.unwrap();
    run.send([request(1), request(2), request(3), request(4)]);
    run.send([request(5)]);
    assert_eq!(run.passed, [1]);
    run.chain.configure("engine", settings("a=b")).unwrap_err();
    run.settle();
    assert_eq!(run.passed, [1, 2, 3, 4, 5]);
}

#[test]
fn an_engine_that_is_always_due_is_put_off() {
    let folder = tempfile::tempdir().unwrap();
    let Some(run) = mistaken(folder.path(), "always-due") else { return };
    let mut run = run.unwrap();
    run.now = Duration::from_secs(1);
    run.send([request(0)]);
    assert_eq!(run.chain.due(), Some(Duration::from_millis(1_001)));
}

#[test]
fn an_upgrade_that_is_refused_leaves_the_old_engine() {
    let folder = tempfile::tempdir().unwrap();
    let Some(other) = built::wrong(folder.path(), "other.so", &["-DNAME=\"pace\""]) else { return };
    for kind in examples(folder.path()) {
        let mut run = Run::of(kind, "microseconds=1000").unwrap();
        run.send([request(0), request(1)]);
        assert_eq!(run.chain.upgrade("engine", load(&other)).unwrap_err().to_string(), "no state suits");
        let refused = run.chain.upgrade("engine", Arc::new(RateLimit)).unwrap_err();
        assert!(matches!(refused, Unchanged::OtherKind(_)), "{refused}");
        run.send([]);
        assert_eq!(run.passed, [0]);
        run.settle();
        assert_eq!(run.passed, [0, 1]);
    }
}

#[test]
fn an_engine_whose_state_is_lost_lets_nothing_pass() {
    let folder = tempfile::tempdir().unwrap();
    for mistake in ["keep-state", "no-version"] {
        let Some(run) = mistaken(folder.path(), mistake) else { return };
        let mut run = run.unwrap();
        let again = load(&folder.path().join("wrong.so"));
        assert_eq!(
            run.chain.upgrade("engine", again).unwrap_err().to_string(),
            "the state of wrong was lost"
        );
        run.send([request(0)]);
        assert_eq!((run.passed.len(), run.failed.len()), (0, 1));
    }
}

#[test]
fn a_request_with_too_many_values_is_refused_before_the_engine_sees_it() {
    let folder = tempfile::tempdir().unwrap();
    for kind in examples(folder.path()) {
        let mut run = Run::of(kind, "field=guests deny=eve").unwrap();
        let guests = |count: usize| [&b"\x12\x00".repeat(count)[..], b"\x12\x01x"].concat();
        let [few, many] = [4_095, 4_096].map(guests);
        let requests = [run.heap.reservation(0, &few), run.heap.reservation(1, &many)];
        run.send(requests);
        let reason = "too large: the fields of the request that an engine reads have more than 4,096 values";
        assert_eq!(
            (run.passed.as_slice(), run.failed.as_slice()),
            ([0].as_slice(), [(1, reason.to_owned())].as_slice())
        );
    }
}
