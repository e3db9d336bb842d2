//! Queues that lie.

use super::*;

/// The words of a queue before its messages: of the ring to the daemon, then of the ring from it, at such distances.
const APART: usize = Layout::APART;
const FROM_DAEMON: usize = 4 * APART;
const DATA: usize = 512;

fn attach(path: &Path) -> Attacker {
    Attacker::attach(path, &hello(Role::Caller, "hotel", Hotel::descriptors()))
}

/// Writes a word of the queue, and wakes the daemon.
fn lie(attacker: &Attacker, at: usize, value: u64) {
    attacker.queue.memory.words()[at].store(value, Ordering::Release);
    attacker.queue.wake();
}

/// Says requests of a method that there is not, and hears none of the failures, until the ring from the daemon is full for certain, or the daemon has
/// hung up.
fn fill(attacker: &mut Attacker) {
    // One that is not said ends the burst: what a daemon does that takes nothing more is for `Queue::ends`.
    let _said = (0..2_000).all(|call| attacker.queue.say(&ask(call, 9, 0)));
}

/// Those who break the rules of queues are detached, and others go on.
#[tokio::test(flavor = "multi_thread")]
async fn queues_that_lie() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let (path, files) = (daemon.path.clone(), daemon.files());
    let ((), _) = beside("liars", honest, move || {
        // A first message of a length that no descriptor has, though it begins as one: the header is one more.
        for header in [1, 2, 64, 66, 8 << 10, 1 << 32, u64::MAX] {
            let attacker = attach(&path);
            for (word, bytes) in attacker.queue.memory.words()[DATA + 1..].iter().zip(cancel(1).as_chunks().0)
            {
                word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
            }
            lie(&attacker, DATA, header);
            assert!(attacker.queue.ends(), "a message of {header} less one is taken");
        }
        // Descriptors that there are none of.
        for bytes in [[0xff; 64], [0; 64]] {
            let mut attacker = attach(&path);
            attacker.queue.say(&bytes);
            assert!(attacker.queue.ends(), "{bytes:?} are a descriptor");
        }
        // More is released than was said, which the daemon sees when it needs the room.
        for released in [u64::MAX, 1 << 40, 1 << 20] {
            let mut attacker = attach(&path);
            lie(&attacker, FROM_DAEMON, released);
            fill(&mut attacker);
            assert!(attacker.queue.ends(), "{released} words are released");
        }
        // Who takes room back that was released.
        let mut attacker = attach(&path);
        let heard = (0..200)
            .all(|call| attacker.queue.say(&ask(call, 9, 0)) && attacker.queue.hear_of_call().is_some());
        assert!(heard);
        fill(&mut attacker);
        lie(&attacker, FROM_DAEMON, 0);
        fill(&mut attacker);
        assert!(attacker.queue.ends(), "room is taken back");
        // Flags say whom to wake, and are no breach.
        let mut attacker = attach(&path);
        let _region = attacker.grow(1 << 20).unwrap();
        for flag in [APART, 2 * APART, FROM_DAEMON + APART, FROM_DAEMON + 2 * APART] {
            for value in [1, u64::MAX, 0] {
                lie(&attacker, flag, value);
                attacker.queue.say(&ask(1, 0, FIRST));
                assert!(matches!(attacker.queue.hear_of_call(), Some(Descriptor::Response { call: 1, .. })));
            }
        }
        drop(attacker);
    })
    .await;
    assert!(daemon.settles(files), "{} files instead of {files}", daemon.files());
}

/// Words of queues that change at random, of which some are lies.
#[tokio::test(flavor = "multi_thread")]
async fn queues_that_change_at_random() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let (path, files) = (daemon.path.clone(), daemon.files());
    let (detached, _) = beside("queues", honest, move || {
        let mut random = Random(7);
        let mut detached = 0;
        for round in 0..150 {
            let mut attacker = attach(&path);
            for call in 0..20 {
                attacker.queue.say(&ask(call, 9, 0));
            }
            let words = attacker.queue.memory.words();
            let until = Instant::now() + Duration::from_millis(10);
            while Instant::now() < until {
                let at = match round % 4 {
                    0 => [0, 16, 32, 48, 64, 80, 96, 112][random.below(8) as usize],
                    1 => 512 + random.below(64),
                    2 => random.below(words.len() as u64),
                    _ => 64 + 16 * random.below(4),
                };
                let value = match random.below(5) {
                    0 => 0,
                    1 => random.next(),
                    2 => u64::MAX,
                    3 => 65,
                    _ => random.below(10_000),
                };
                lie(&attacker, at as usize, value);
            }
            detached += u32::from(attacker.queue.is_over());
        }
        // Rings of each size.
        for shift in 12..=26 {
            let mut control = UnixStream::connect(&path).unwrap();
            let bytes = hello(Role::Caller, "hotel", Hotel::descriptors()).to_bytes().unwrap();
            control.write_all(&bytes).unwrap();
            let (Answer::Taken, Some(queue)) = hear(&control).unwrap() else { panic!() };
            let queue: UnixStream = queue.into();
            let layout = Layout::new(1 << shift).unwrap();
            let file = memfd(layout.memory_bytes(), SEALS);
            send_with(&queue, &offer_bytes(1 << shift), &[file.as_fd()]).unwrap();
            let mut answer = [0; 9];
            queue.set_nonblocking(false).unwrap();
            (&queue).read_exact(&mut answer).unwrap();
            // The daemon takes rings of up to 2 MiB.
            assert_eq!(answer[0], if shift <= 21 { 1 } else { 4 }, "a ring of 2^{shift}");
        }
        // A storm of bells.
        let mut attacker = attach(&path);
        let _region = attacker.grow(1 << 20).unwrap();
        for _ in 0..100_000 {
            attacker.queue.wake();
        }
        attacker.queue.say(&ask(1, 0, FIRST));
        assert!(matches!(attacker.queue.hear_of_call(), Some(Descriptor::Response { call: 1, .. })));
        detached
    })
    .await;
    println!("  {detached} were detached");
    assert!(detached > 0);
    assert!(daemon.settles(files), "{} files instead of {files}", daemon.files());
}
