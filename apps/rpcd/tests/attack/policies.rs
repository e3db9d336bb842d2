//! Policies, and what goes around them.

use super::*;
use crate::received::take_regions;
use crate::schemas::worst_schemas;

fn add(name: &str, settings: &str) -> Change {
    let kind = built_in().into_iter().find(|kind| kind.name() == name).unwrap();
    Change::Add { name: name.into(), kind, settings: settings.parse().unwrap() }
}

/// A caller whose schema lacks the field of a list keeps the operator from no policy.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_of_another_schema_keeps_the_operator_from_no_policy() {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    let honest = daemon.client().await;
    let _attacker = Attacker::attach(&daemon.path, &hello(Role::Caller, "hotel", OtherHotel::descriptors()));
    daemon.operator.change("hotel", &add("acl", "field=customer deny=eve")).unwrap();
    let asked = request(&honest.heap(), "eve", 1, &[]);
    let failure = honest.call::<Reserve>(asked, Some(SOON)).await.unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Denied);
}

/// Changes with bad settings under load: each call has its outcome, and what was in force stays in force.
#[tokio::test(flavor = "multi_thread")]
async fn changes_with_bad_settings() {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    let honest = daemon.client().await;
    let (stop, watching) = watch(honest);
    let kind = |name: &str| built_in().into_iter().find(|kind| kind.name() == name).unwrap();
    let change = |change: Change| {
        let debug = format!("{change:?}");
        let changed = daemon.operator.change("hotel", &change);
        println!("{}: {changed:?}", &debug[..debug.len().min(150)]);
        changed
    };
    let max = u64::MAX;
    for _ in 0..20 {
        for (name, settings) in [
            ("rate-limit", format!("per-second={max} burst={max} queue={max}")),
            ("rate-limit", format!("per-second=100000 burst={max}")),
            ("rate-limit", format!("per-second={max} burst=1")),
            ("rate-limit", "per-second=1000000 burst=100000000000000 queue=0".into()),
            ("quota", format!("calls={max}")),
            ("acl", "field=customer allow=ada,bob".into()),
            ("acl", "field=guests deny=eve".into()),
            ("acl", "field=nights deny=-1,99999999999999999999999999999999999999999999999".into()),
            ("null", String::new()),
        ] {
            change(add(name, &settings)).unwrap();
            for (wrong, settings) in [
                (name, "calls=x"),
                (name, "calls=-1"),
                (name, "per-second=1.5"),
                (name, "per-second=99999999999999999999999"),
                (name, "deny=a allow=b"),
                (name, "nothing=1"),
                ("", "a=b"),
                ("no engine", ""),
            ] {
                let settings = settings.parse().unwrap();
                change(Change::Configure { name: wrong.into(), settings }).unwrap_err();
            }
            for other in ["acl", "null", "quota", "rate-limit"] {
                if other != name && other != "null" {
                    change(Change::Upgrade { name: name.into(), kind: kind(other) }).unwrap_err();
                }
            }
            change(add(name, &settings)).unwrap_err();
            tokio::time::sleep(Duration::from_millis(3)).await;
            change(Change::Remove { name: name.into() }).unwrap();
            change(Change::Remove { name: name.into() }).unwrap_err();
        }
    }
    for (name, settings) in [
        ("acl", "field=customer"),
        ("acl", "deny=a"),
        ("acl", "field= deny=a"),
        ("acl", "field=. deny=a"),
        ("acl", "field=customer.name deny=a"),
        ("acl", "field=customer... deny=a"),
        ("quota", "calls="),
        ("rate-limit", "burst=1e9"),
        ("null", "a=b"),
    ] {
        change(add(name, settings)).unwrap_err();
    }
    stop.store(true, Ordering::Relaxed);
    let (calls, longest) = watching.await.unwrap();
    println!("{calls} honest calls, the longest {longest:?}");
}

/// Sizes that a caller claims take no memory from other callers.
#[tokio::test(flavor = "multi_thread")]
async fn sizes_that_a_caller_claims() {
    let daemon = Process::start(&["--heap", "16777216"]);
    let mut serving = server(&daemon.path).await;
    let path = daemon.path.clone();
    // The server has many requests at a time.
    let served = tokio::spawn(async move {
        let mut held = std::collections::VecDeque::new();
        while let Ok(call) = serving.next().await {
            if call.method() == Ping::NUMBER {
                held.push_back(call);
                if held.len() > 100 {
                    hotel::answer(held.pop_front().unwrap()).await;
                }
            } else {
                hotel::answer(call).await;
            }
        }
    });
    let honest = client(&daemon.path).await;
    let attacker = tokio::task::spawn_blocking(move || {
        let mut attacker = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
        let _region = attacker.grow(1 << 20).unwrap();
        for call in 0..60 {
            let message = InHeap { at: FIRST, bytes: u32::MAX, number: call as u32 };
            let bytes =
                Descriptor::Request { call, method: 0, message, milliseconds: 0, trace: None }.to_bytes();
            attacker.queue.say(&bytes);
        }
        std::thread::sleep(Duration::from_millis(300));
        attacker
    })
    .await
    .unwrap();
    works(&honest, 100).await;
    drop(attacker);
    served.abort();
}

/// A request that finds no room in the heap takes nothing from another request.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_room_takes_no_memory_of_another() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = daemon.attach().heap(1 << 20).client::<Hotel>("hotel").await.unwrap();
    let heap = &honest.heap();
    let fill = |bytes: usize| {
        let mut texts = Vec::new();
        loop {
            let mut text = bertha_managed::heap::String::new_in(heap);
            if text.try_reserve(bytes).is_err() {
                break texts;
            }
            texts.push(text);
        }
    };
    let mut filled = fill(32 << 10);
    drop(filled.split_off(filled.len() - 4));
    let pid = rustix::process::Pid::from_child(&daemon.child);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let asked = request(heap, "ada", 1, &[]);
    let other = request(heap, "eve", 2, &[]);
    let mut first = std::pin::pin!(honest.call::<Reserve>(asked, Some(SOON)));
    tokio::time::timeout(Duration::from_millis(50), &mut first).await.unwrap_err();
    let rest: Vec<_> = [16 << 10, 4096, 1024, 256, 128, 64, 48, 32, 16].into_iter().map(fill).collect();
    let failure = honest.call::<Reserve>(request(heap, "", 3, &[]), Some(SOON)).await.unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Overloaded);
    // There is room for another request only if that of the first went.
    let mut second = std::pin::pin!(honest.call::<Reserve>(other, Some(SOON)));
    let second = tokio::time::timeout(Duration::from_millis(50), &mut second).await;
    println!("{second:?}");
    drop((rest, filled));
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    let response = first.await.unwrap();
    assert_eq!((response.room.as_str(), response.price), ("ada: ", 100));
}

/// A part of the test below.
#[tokio::test]
#[ignore = "a part of the test of signals"]
async fn an_application_that_is_interrupted() {
    let _signals = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::user_defined1()).unwrap();
    let Ok(path) = std::env::var("ATTACK_PATH") else { return };
    let client = Attach::new(&path, "interrupted").client::<Hotel>("hotel").await.unwrap();
    works(&client, 1).await;
    println!("attached");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let mut text = bertha_managed::heap::String::new_in(&client.heap());
    let reserved = text.try_reserve(3 << 20);
    assert!(reserved.is_ok(), "{reserved:?}");
    let long = "x".repeat(20 << 20);
    let asked = request(&client.heap(), "ada", 1, &[&long]);
    let response = client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
    assert!(response.room.as_str() == format!("ada: {long}"));
}

/// A signal does not end the wait for memory.
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_while_a_heap_grows() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let path = daemon.path.clone();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "--nocapture",
            "--test-threads=1",
            "policies::an_application_that_is_interrupted",
        ])
        .env("ATTACK_PATH", &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let ended = tokio::task::spawn_blocking(move || {
        use rustix::process::{Pid, Signal, kill_process};
        use std::io::BufRead;
        let mut said = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        while !said.next().unwrap().unwrap().contains("attached") {}
        let pid = Pid::from_child(&daemon.child);
        kill_process(pid, Signal::STOP).unwrap();
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        let waiting = || {
            let threads = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
            threads.map(|thread| thread.unwrap()).find_map(|thread| {
                let call = std::fs::read_to_string(thread.path().join("syscall")).unwrap();
                let is_poll = matches!(call.split(' ').next(), Some("7" | "271"));
                // The main thread waits for the others.
                (is_poll).then(|| thread.file_name().to_str().unwrap().parse::<i32>().unwrap())
            })
        };
        let thread = loop {
            if let Some(thread) = waiting() {
                break thread;
            }
        };
        // The kernel has the thread of this number handle the signal.
        kill_process(Pid::from_raw(thread).unwrap(), Signal::USR1).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        kill_process(pid, Signal::CONT).unwrap();
        said.for_each(|line| println!("  {}", line.unwrap()));
        (child.wait().unwrap(), daemon)
    })
    .await
    .unwrap();
    assert!(ended.0.success());
}

/// Callers that keep as many calls open as they may, beside an honest caller of the same server, which answers one call after another.
#[tokio::test(flavor = "multi_thread")]
async fn floods_of_an_honest_server() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    let (count, longest) = beside("a flood of a server", honest, move || {
        let mut callers: Vec<_> = (0..6)
            .map(|_| {
                let mut caller = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
                let region = caller.grow(1 << 20).unwrap();
                (caller, region, 0_u64, 0_u64)
            })
            .collect();
        let begun = Instant::now();
        let mut total = 0;
        while begun.elapsed() < Duration::from_secs(3) {
            for (caller, _, said, heard) in &mut callers {
                while *said < *heard + 4_000 && caller.queue.try_say(&[ask(*said, 0, FIRST)]) == 1 {
                    *said += 1;
                }
                while let Some(bytes) = caller.queue.try_hear() {
                    let descriptor = Descriptor::read(bytes[..].try_into().unwrap()).unwrap();
                    let (Descriptor::Response { message, .. } | Descriptor::Failure { reason: message, .. }) =
                        descriptor
                    else {
                        continue;
                    };
                    *heard += 1;
                    total += 1;
                    let mut done = Done::default();
                    done.push(message.number);
                    caller.queue.try_say(&[Descriptor::Done(done).to_bytes()]);
                }
            }
        }
        total
    })
    .await;
    println!("  {count} outcomes, {longest:?}");
}

/// Many large schemas at once, of which no two are the same, are read by few threads, and leave the processor to calls.
#[tokio::test(flavor = "multi_thread")]
async fn schemas_at_once() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    let bytes = worst_schemas().swap_remove(2).1;
    let (before, task) = (daemon.threads(), daemon.of("task"));
    let (stop, watching) = watch(honest);
    let attack = move || {
        let sockets = (0..16_u32).map(|number| {
            // A field of the set that no reader knows.
            let bytes = [&bytes[..], &[0xfd, 0x3f], &number.to_le_bytes()].concat();
            let hello = hello(Role::Caller, "evil", &bytes).to_bytes().unwrap();
            let mut socket = UnixStream::connect(&path).unwrap();
            socket.write_all(&hello).unwrap();
            socket
        });
        let (mut taken, mut most) = (0, 0);
        for socket in sockets.collect::<Vec<_>>() {
            most = most.max(std::fs::read_dir(&task).unwrap().count());
            // Those for which there was no time are not heard any more.
            match hear(&socket) {
                Some((answer, _)) => assert_eq!(answer, Answer::Taken),
                None => continue,
            }
            taken += 1;
        }
        (taken, most)
    };
    let (taken, most) = tokio::task::spawn_blocking(attack).await.unwrap();
    stop.store(true, Ordering::Relaxed);
    let (calls, _) = watching.await.unwrap();
    println!("  {taken} taken, {calls} calls beside; {most} threads at most, and {before} before");
    assert!(taken > 0 && calls > taken && most <= before + 4);
}

/// Calls that come and are given up faster than a server takes them, while it answers one after another.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_given_up_do_not_stop_a_server() {
    let daemon = Process::start(&[]);
    let path = daemon.path.clone();
    let server = server(&daemon.path).await;
    let honest = client(&daemon.path).await;
    let (flooded, is_flooded) = tokio::sync::oneshot::channel();
    let flood = std::thread::spawn(move || {
        let mut caller = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
        let _region = caller.grow(1 << 20).unwrap();
        let mut flooded = Some(flooded);
        for call in 0..40_000 {
            if call == 20_000 {
                flooded.take().unwrap().send(()).unwrap();
            }
            caller.queue.say(&ask(call, 0, FIRST));
            caller.queue.say(&cancel(call));
            while caller.queue.try_hear().is_some() {}
        }
    });
    is_flooded.await.unwrap();
    let _serving = serve(server);
    tokio::task::spawn_blocking(move || flood.join().unwrap()).await.unwrap();
    works(&honest, 10).await;
}

/// Requests that take the daemon long come one by one, and others in between.
#[tokio::test(flavor = "multi_thread")]
async fn others_come_between_requests_that_cost_much() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let flags: Vec<_> = (1..=8_000)
        .map(|number| field(number, &format!("f{number}"), Type::Bool, Label::Optional, ""))
        .collect();
    let rows = vec![field(1, "rows", Type::Message, Label::Repeated, ".a.Wide")];
    let wide = schema(vec![message("Wide", flags), message("Rows", rows)], &[("Put", ".a.Rows", ".a.Rows")]);
    let mut evil = Attacker::attach(&daemon.path, &hello(Role::Server, "evil", &wide));
    take_regions(&evil.control);
    let mut caller = Attacker::attach(&daemon.path, &hello(Role::Caller, "evil", &wide));
    let region = caller.grow(1 << 20).unwrap();
    region.write(FIRST, &reference(FIRST + 16, (512 << 10) / 8_000));
    let requests: Vec<_> = (0..64).map(|call| ask(call, 0, FIRST)).collect();
    assert_eq!(caller.queue.try_say(&requests), 64);
    let Some(Descriptor::Request { .. }) = evil.queue.hear_of_call() else { panic!() };
    works(&honest, 1).await;
    let mut given = 1;
    while let Some(bytes) = evil.queue.try_hear() {
        let descriptor = Descriptor::read(bytes[..].try_into().unwrap()).unwrap();
        given += u32::from(matches!(descriptor, Descriptor::Request { .. }));
    }
    assert!(given < 64, "{given} requests were copied before a call of another application");
}

/// Applications that take all mappings that they get: the daemon keeps some for itself, and what fails meanwhile works when they have gone.
#[tokio::test(flavor = "multi_thread")]
async fn mappings_that_run_out() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 10).await;
    let (files, mappings) = (daemon.files(), daemon.mappings());
    let path = daemon.path.clone();
    let attackers = tokio::task::spawn_blocking(move || {
        let mut attackers = Vec::new();
        for _ in 0..280 {
            let hello = hello(Role::Caller, "hotel", Hotel::descriptors());
            let Some(mut attacker) = Attacker::try_attach(&path, &hello) else { continue };
            for _ in 0..256 {
                attacker.control.write_all(&Grow { bytes: 65536 }.to_bytes()).unwrap();
                if !matches!(hear(&attacker.control), Some((Answer::Granted { .. }, _))) {
                    break;
                }
            }
            attackers.push(attacker);
        }
        attackers
    })
    .await
    .unwrap();
    println!("{} attackers, {} mappings", attackers.len(), daemon.mappings());
    // A thread that begins without mappings for its stack would end the daemon.
    let bound = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    assert!(daemon.mappings() < bound.trim().parse::<usize>().unwrap() * 9 / 10);
    let long = "x".repeat(3 << 20);
    let asked = |client: &Client<Hotel>| {
        let mut guests = bertha_managed::heap::Vec::new_in(&client.heap());
        let mut text = bertha_managed::heap::String::new_in(&client.heap());
        text.try_reserve(long.len()).ok()?;
        text.push_str(&long);
        guests.push(text);
        let customer = bertha_managed::heap::String::new_in(&client.heap());
        Some(hotel::Request { customer, nights: 1, guests })
    };
    match asked(&honest) {
        Some(asked) => println!("{:?}", honest.call::<Reserve>(asked, Some(SOON)).await.err()),
        None => println!("no memory"),
    }
    let late = daemon.attach().within(Duration::from_secs(3)).client::<Hotel>("hotel").await;
    println!("late: {:?}", late.err());
    drop(attackers);
    assert!(daemon.settles(files), "{files} -> {}", daemon.files());
    assert!(daemon.unmaps(mappings + 50), "{mappings} -> {}", daemon.mappings());
    let late = daemon.attach().client("hotel").await;
    let late = late.unwrap_or_else(|error| panic!("{error}: {}", daemon.log()));
    for client in [&late, &honest] {
        let asked = asked(client).unwrap();
        let outcome = client.call::<Reserve>(asked, Some(SOON)).await;
        println!("afterwards: {:?}", outcome.as_ref().err());
        outcome.unwrap();
    }
    assert!(daemon.unmaps(mappings + 50), "{mappings} -> {}", daemon.mappings());
}

/// A schema with as many methods as there may be, for each of which a policy looks for its field, and holds.
#[tokio::test(flavor = "multi_thread")]
async fn policies_on_many_methods() {
    let daemon = Process::start(&["--engine", "evil:acl:field=next.next.next.text deny=eve"]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    let methods: Vec<_> = (0..bertha_schemas::Schema::METHODS)
        .map(|number| (format!("P{number}"), ".a.Node".into(), ".a.Node".into()))
        .collect();
    let messages = vec![message("Empty", vec![]), node()];
    let bytes = FileDescriptorSet { file: vec![file(messages, "A", &methods)] }.encode_to_vec();
    beside("policies", honest, move || {
        let attach = || Attacker::attach(&path, &hello(Role::Caller, "evil", &bytes));
        let mut callers: Vec<_> = (0..10).map(|_| attach()).collect();
        let caller = callers.last_mut().unwrap();
        let region = caller.grow(1 << 20).unwrap();
        let place = |number: u64| FIRST + 8 * NODE_WORDS as u64 * number;
        for number in 0..3 {
            let next = place(number + 1);
            region.write(place(number), &Node { next, ..Node::default() }.words());
        }
        let node = Node { choice: 6, text: reference(place(4), 3), ..Node::default() };
        region.write(place(3), &node.words());
        // There is no server for what the list lets pass.
        for (text, expected) in [(b"eve", FailureKind::Denied), (b"ada", FailureKind::Unavailable)] {
            region.write_text(place(4), text);
            for method in [0, bertha_schemas::Schema::METHODS as u32 - 1] {
                caller.queue.say(&ask(1, method, FIRST));
                let heard = caller.queue.hear_of_call();
                let Some(Descriptor::Failure { kind, .. }) = heard else { panic!("{heard:?}") };
                assert_eq!(kind, expected, "{method}");
            }
        }
    })
    .await;
}
