//! Applications that do not read.

use super::*;

/// A caller who never takes its responses, which are large, leaves the server memory for others.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_takes_no_responses_leaves_the_server_its_memory() {
    let daemon = Process::start(&["--heap", "67108864"]);
    let mut serving = daemon.attach().heap(64 << 20).server::<Hotel>("hotel").await.unwrap();
    tokio::spawn(async move {
        while let Ok(mut call) = serving.next().await {
            let request = call.request::<Reserve>().unwrap();
            let guests: Vec<&str> = request.guests.iter().map(|guest| guest.as_str()).collect();
            let text = format!("{}: {}", request.customer.as_str(), guests.join(", "));
            let price = 100 * request.nights;
            drop(request);
            let mut room = bertha_managed::heap::String::new_in(call.heap());
            if room.try_reserve(text.len()).is_err() {
                let failure = bertha_chunnels::rpc::Failure::of(FailureKind::Overloaded, "no room to answer");
                call.fail(&failure).await.unwrap();
                continue;
            }
            room.push_str(&text);
            let _told = call.respond::<Reserve>(hotel::Response { room, price }).await;
        }
    });
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    works(&honest, 1).await;
    let (attacker, longest) = beside("no reading", honest, move || {
        let mut attackers = Vec::new();
        for _ in 0..4 {
            let mut attacker = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
            let region = attacker.grow(1 << 20).unwrap();
            // A guest of 100 KiB, whose name is in the response.
            let words = [0, 0, 0, FIRST + 64, 1 | 1 << 32];
            region.write(FIRST, &words);
            region.write(FIRST + 64, &reference(FIRST + 128, 100 << 10));
            for word in region.words()[16..].iter().take(13_000) {
                word.store(u64::from_le_bytes([b'x'; 8]), Ordering::Relaxed);
            }
            let until = Instant::now() + Duration::from_secs(2);
            let mut call = 0;
            while Instant::now() < until && call < 5_000 {
                call += attacker.queue.try_say(&[ask(call, 1, FIRST)]) as u64;
                std::thread::sleep(Duration::from_micros(20));
            }
            println!("  {call} calls");
            attackers.push((attacker, region));
        }
        attackers
    })
    .await;
    println!("{longest:?}");
    works(&client(&daemon.path).await, 100).await;
    drop(attacker);
    works(&client(&daemon.path).await, 100).await;
}

/// A server that never takes its requests, and callers of another.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_no_requests() {
    let daemon = Process::start(&["--heap", "4194304"]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 10).await;
    let memory = daemon.memory();
    let (path, files) = (daemon.path.clone(), daemon.files());
    let ((), longest) = beside("a silent server", honest, move || {
        let server = Attacker::attach(&path, &hello(Role::Server, "evil", Hotel::descriptors()));
        let mut callers: Vec<_> = (0..8)
            .map(|_| Attacker::attach(&path, &hello(Role::Caller, "evil", Hotel::descriptors())))
            .collect();
        let _regions: Vec<_> = callers.iter_mut().map(|caller| caller.grow(1 << 20).unwrap()).collect();
        let begun = Instant::now();
        let mut call = 0;
        while begun.elapsed() < Duration::from_secs(4) {
            for caller in &mut callers {
                call += 1;
                if caller.queue.try_say(&[ask_within(call, 0, FIRST, [0, 1, u32::MAX][call as usize % 3])])
                    == 1
                {
                    caller.queue.try_say(&[cancel(call.saturating_sub(8))]);
                }
                while caller.queue.try_hear().is_some() {}
            }
        }
        println!("  {call} calls tried; {}", server.queue.is_over());
    })
    .await;
    println!("{longest:?}, memory {memory} -> {} KiB", daemon.memory());
    assert!(daemon.memory() < memory + (64 << 10), "{memory} -> {}", daemon.memory());
    assert!(daemon.settles(files));
}

/// Requests, cancellations and deadlines in any order, at full speed: the daemon's memory stays.
#[tokio::test(flavor = "multi_thread")]
async fn floods_of_calls_and_cancellations() {
    let daemon = Process::start(&["--engine", "evil:rate-limit:per-second=100 burst=1"]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 10).await;
    let (path, files, memory) = (daemon.path.clone(), daemon.files(), daemon.memory());
    let ((), longest) = beside("floods", honest, move || {
        let mut serving = Attacker::attach(&path, &hello(Role::Server, "evil", Hotel::descriptors()));
        let mut caller = Attacker::attach(&path, &hello(Role::Caller, "evil", Hotel::descriptors()));
        let mut _region = caller.grow(1 << 20).unwrap();
        let mut random = Random(11);
        let begun = Instant::now();
        let (mut call, mut said) = (0, 0_u64);
        while begun.elapsed() < Duration::from_secs(3) {
            let burst: Vec<_> = (0..32)
                .map(|_| match random.below(4) {
                    0 => {
                        call += 1;
                        ask_within(call, 0, FIRST, [0, 1, 5, u32::MAX][random.below(4) as usize])
                    }
                    1 => cancel(random.next()),
                    _ => cancel(call - random.below(call + 1)),
                })
                .collect();
            // Those for which there is no room are lost, which is all the same.
            said += caller.queue.try_say(&burst) as u64;
            while caller.queue.try_hear().is_some() {}
            while serving.queue.try_hear().is_some() {}
            if caller.queue.is_over() {
                println!("  detached");
                caller = Attacker::attach(&path, &hello(Role::Caller, "evil", Hotel::descriptors()));
                _region = caller.grow(1 << 20).unwrap();
            }
        }
        println!("  {said} descriptors");
    })
    .await;
    println!("{longest:?}, memory {memory} -> {} KiB", daemon.memory());
    assert!(daemon.memory() < memory + (32 << 10), "{memory} -> {}", daemon.memory());
    assert!(daemon.settles(files));
}
