//! Calls that a list denies, of which nothing goes on: neither to the heap of the receiver nor to the wire.

use super::*;
use crate::received::{Regions, take_regions};
use crate::refused::listening;
use crate::wire::Wire;
use std::collections::HashSet;
use std::thread::JoinHandle;

/// The name that the list allows, and one that it does not. Each is a word, which the daemon reads whole.
const ALLOWED: &[u8; 8] = b"ada-1815";
const DENIED: &[u8; 8] = b"eve-2026";
const LIST: [&str; 2] = ["--engine", "hotel:acl:field=customer allow=ada-1815"];

/// The address of another request, which is never allowed.
const OTHER: u64 = FIRST + 512;

/// The place of the texts.
const TEXTS: u64 = FIRST + 256;

/// A receiver that reads all of its heap, and no more than calls that are allowed.
struct Receiver {
    regions: Regions,
    /// Returns the number of calls that have come, when the daemon ends.
    serving: JoinHandle<u64>,
}

impl Receiver {
    fn start(path: &Path) -> Self {
        let mut server = Attacker::attach(path, &hello(Role::Server, "hotel", Hotel::descriptors()));
        let regions = take_regions(&server.control);
        let own = regions.clone();
        let serving = std::thread::spawn(move || {
            let mut calls = 0;
            while !server.queue.is_over() {
                let Some(bytes) = server.queue.try_hear() else {
                    std::thread::sleep(Duration::from_micros(20));
                    continue;
                };
                match Descriptor::read(bytes[..].try_into().unwrap()).unwrap() {
                    Descriptor::Grown { bytes } => own.await_bytes(bytes),
                    Descriptor::Request { call, message, .. } => {
                        assert_eq!(own.text(message.at), ALLOWED);
                        calls += 1;
                        if calls % 1_000 == 0 {
                            assert!(!own.have(&DENIED[..7]), "the heap has bytes of a denied call");
                        }
                        let (kind, reason) = (FailureKind::Failed, InHeap::default());
                        let failure = Descriptor::Failure { call, kind, may_have_run: true, reason };
                        server.queue.say(&failure.to_bytes());
                        give_back(&mut server.queue, message.number);
                    }
                    _ => {}
                }
            }
            calls
        });
        Self { regions, serving }
    }
}

/// Changes the texts, their lengths, the references to them and the descriptors in the queue, until told to stop.
fn flip(region: &Arc<Mapped>, queue: &Arc<Mapped>, stop: &Arc<AtomicBool>) -> Vec<JoinHandle<()>> {
    let flips = (0..3_u64).map(|what| {
        let (region, queue, stop) = (Arc::clone(region), Arc::clone(queue), Arc::clone(stop));
        std::thread::spawn(move || {
            let mut random = Random(what);
            while !stop.load(Ordering::Relaxed) {
                match what {
                    0 => {
                        for text in [DENIED, ALLOWED].repeat(16) {
                            region.write_text(TEXTS, text);
                        }
                    }
                    1 => {
                        for _ in 0..32 {
                            region.write(FIRST, &[TEXTS + 8 * random.below(2)]);
                            region.write(FIRST + 8, &[8 << 32 | (8 - random.below(8) / 7)]);
                        }
                    }
                    // Messages on their way, wherever they are in the ring.
                    _ => queue.words()[512..].iter().for_each(|word| {
                        let at = word.load(Ordering::Relaxed);
                        if at == FIRST || at == OTHER {
                            // The caller may write it anew.
                            let _flipped = word.compare_exchange(
                                at,
                                FIRST + OTHER - at,
                                Ordering::Relaxed,
                                Ordering::Relaxed,
                            );
                        }
                    }),
                }
                std::thread::yield_now();
            }
        })
    });
    flips.collect()
}

/// Makes calls whose names change, and returns the numbers of those that went to the receiver and of those that were denied. Each has one
/// outcome.
fn call(path: &Path, calls: u64) -> (u64, u64) {
    let mut caller = Attacker::attach(path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
    let region = Arc::new(caller.grow(1 << 20).unwrap());
    region.write(FIRST, &reference(TEXTS, 8));
    region.write(OTHER, &reference(TEXTS + 16, 8));
    [DENIED, ALLOWED, DENIED]
        .iter()
        .zip(0..)
        .for_each(|(text, place)| region.write_text(TEXTS + 8 * place, *text));
    let stop = Arc::new(AtomicBool::new(false));
    let flips = flip(&region, &caller.queue.memory, &stop);
    let (mut open, mut said, mut went, mut denied) = (HashSet::new(), 0, 0, 0);
    while went + denied < calls {
        if said < calls && open.len() < 64 && caller.queue.try_say(&[ask(said, 1, FIRST)]) == 1 {
            open.insert(said);
            said += 1;
            continue;
        }
        let Some(bytes) = caller.queue.try_hear() else {
            assert!(!caller.queue.is_over());
            std::thread::sleep(Duration::from_micros(20));
            continue;
        };
        let Descriptor::Failure { call, kind, reason, .. } =
            Descriptor::read(bytes[..].try_into().unwrap()).unwrap()
        else {
            continue;
        };
        assert!(open.remove(&call), "call {call} has a second outcome");
        match kind {
            FailureKind::Failed => went += 1,
            FailureKind::Denied => denied += 1,
            other => panic!("{other:?}"),
        }
        give_back(&mut caller.queue, reason.number);
    }
    stop.store(true, Ordering::Relaxed);
    flips.into_iter().for_each(|flip| flip.join().unwrap());
    (went, denied)
}

/// Attacks, and looks through the heap of the receiver when all calls have ended. Returns the numbers of calls, and what the heap has.
fn attack(caller: &Path, server: Process) {
    let receiver = Receiver::start(&server.path);
    let (went, denied) = call(caller, attack_calls(3_000));
    println!("  {went} calls were allowed, and {denied} denied");
    assert!(went > 0 && denied > 0);
    assert!(receiver.regions.have(ALLOWED), "the heap has what it was sent");
    assert!(!receiver.regions.have(&DENIED[..7]), "the heap has bytes of a denied call");
    drop(server);
    assert_eq!(receiver.serving.join().unwrap(), went);
}

/// Starts two daemons with a wire in between.
fn pair(near: &[&str], far: &[&str]) -> (Process, Wire, Process) {
    let (far, addr) = listening(far);
    let wire = Wire::to(addr);
    let near = Process::start(&[near, &["--route", &format!("hotel={}", wire.addr)]].concat());
    (near, wire, far)
}

#[test]
fn the_heap_of_a_receiver_has_no_byte_of_a_call_that_its_machine_denies() {
    let daemon = Process::start(&LIST);
    let path = daemon.path.clone();
    attack(&path, daemon);
}

#[test]
fn the_heap_of_a_receiver_has_no_byte_of_a_call_from_elsewhere_that_is_denied() {
    let (near, wire, far) = pair(&[], &LIST);
    attack(&near.path, far);
    assert!(wire.had(DENIED), "the denied calls came as far as the receiver's machine");
}

#[test]
fn no_byte_of_a_denied_call_is_on_the_wire() {
    let (near, wire, far) = pair(&LIST, &[]);
    attack(&near.path, far);
    assert!(wire.had(ALLOWED), "the wire has what was sent");
    assert!(!wire.had(&DENIED[..7]), "the wire has bytes of a denied call");
}
