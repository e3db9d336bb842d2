//! Descriptors of calls.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn descriptors_of_any_bytes() {
    let daemon =
        Process::start(&["--engine", "evil:acl:field=text deny=eve", "--engine", "evil:quota:calls=50"]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let (path, files) = (daemon.path.clone(), daemon.files());
    let ((), _) = beside("descriptors", honest, move || {
        let mut random = Random(2);
        let attach = |role| loop {
            if let Some(attacker) = Attacker::try_attach(&path, &hello(role, "evil", &nodes())) {
                break attacker;
            }
        };
        let (mut breaches, mut other) = (0, attach(Role::Server));
        let mut attacker = attach(Role::Caller);
        let mut region = attacker.grow(1 << 20).unwrap();
        let mut other_region = other.grow(1 << 20).unwrap();
        let values =
            [0, 1, 7, FIRST, FIRST + 8, BASE, u64::MAX, u64::MAX - 7, 1 << 63, FIRST + (1 << 20) - 8];
        for round in 0..20_000_u64 {
            let mut bytes = [0; 64];
            let is_server = random.below(2) == 0;
            match random.below(10) {
                0 => bytes.iter_mut().for_each(|byte| *byte = random.next() as u8),
                1 => bytes = [0xff; 64],
                _ => {
                    let value = |random: &mut Random| match random.below(3) {
                        0 => random.next(),
                        1 => random.below(8),
                        _ => values[random.below(values.len() as u64) as usize],
                    };
                    bytes[0] = 1 + random.below(6) as u8;
                    bytes[8..16].copy_from_slice(&value(&mut random).to_le_bytes());
                    if bytes[0] < 4 {
                        bytes[16..24].copy_from_slice(&value(&mut random).to_le_bytes());
                        bytes[24..28].copy_from_slice(&(value(&mut random) as u32).to_le_bytes());
                        bytes[28..32].copy_from_slice(&(value(&mut random) as u32).to_le_bytes());
                    }
                    match bytes[0] {
                        1 => {
                            bytes[4] = random.below(2) as u8;
                            bytes[32..36].copy_from_slice(&(value(&mut random) as u32).to_le_bytes());
                        }
                        3 => bytes[1] = random.next() as u8,
                        6 => bytes[2] = random.below(15) as u8,
                        _ => {}
                    }
                }
            }
            let (end, memory) =
                if is_server { (&mut other, &mut other_region) } else { (&mut attacker, &mut region) };
            if round % 50 == 0 {
                for word in memory.words() {
                    if random.below(3) == 0 {
                        let value = values[random.below(10) as usize].wrapping_add(8 * random.below(9));
                        word.store(value, Ordering::Relaxed);
                    }
                }
            }
            end.queue.say(&bytes);
            while end.queue.try_hear().is_some() {}
            if round % 5 == 0 {
                for (end, memory, role) in [
                    (&mut other, &mut other_region, Role::Server),
                    (&mut attacker, &mut region, Role::Caller),
                ] {
                    if end.queue.is_over() {
                        breaches += 1;
                        *end = attach(role);
                        *memory = end.grow(1 << 20).unwrap();
                    }
                }
            }
        }
        println!("  {breaches} breaches");
    })
    .await;
    assert!(daemon.settles(files), "{} files instead of {files}", daemon.files());
}

/// Each call of a caller that repeats numbers has one outcome.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_calls_that_come_again() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    let ((), _) = beside("numbers", honest, move || {
        let mut attacker = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
        let _region = attacker.grow(1 << 20).unwrap();
        // The same number, one call after another, and beside cancellations of it.
        for round in 0..2_000 {
            assert!(attacker.queue.say(&ask(9, 0, FIRST)));
            if round % 2 == 1 {
                attacker.queue.say(&cancel(9));
                attacker.queue.say(&cancel(9));
                // The outcome may come or not. Another number tells when all is through.
                attacker.queue.say(&ask(10, 0, FIRST));
                let mut outcomes = 0;
                loop {
                    match attacker.queue.hear_of_call().unwrap() {
                        Descriptor::Response { call: 10, .. } => break,
                        Descriptor::Response { call: 9, .. } => outcomes += 1,
                        other => panic!("{other:?}"),
                    }
                }
                assert!(outcomes <= 1);
            } else {
                let heard = attacker.queue.hear_of_call();
                assert!(matches!(heard, Some(Descriptor::Response { call: 9, .. })), "{round}: {heard:?}");
            }
        }
    })
    .await;
}
