//! Queues that lie.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn queues_that_lie() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let (path, files) = (daemon.path.clone(), daemon.files());
    let ((), _) = beside("queues", honest, move || {
        let mut random = Random(7);
        for round in 0..300 {
            let mut attacker = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
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
                words[at as usize].store(value, Ordering::Relaxed);
                attacker.queue.wake();
            }
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
            println!("  a ring of 2^{shift}: {}", answer[0]);
        }
        // An empty message, and the longest, and a storm of bells.
        let mut attacker = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
        let _region = attacker.grow(1 << 20).unwrap();
        for _ in 0..100_000 {
            attacker.queue.wake();
        }
        attacker.queue.say(&ask(1, 0, FIRST));
        assert!(matches!(attacker.queue.hear_of_call(), Some(Descriptor::Response { call: 1, .. })));
    })
    .await;
    assert!(daemon.settles(files), "{} files instead of {files}", daemon.files());
}
