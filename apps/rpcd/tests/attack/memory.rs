//! Memory that leads nowhere, or changes.

use super::*;
use crate::received::take_regions;
use crate::servers::check;
use std::collections::{HashMap, HashSet};

/// Makes an attacker's 64 requests while another calls. Returns the longest time of an honest call, with the kinds of the outcomes.
async fn costs(
    name: &str,
    daemon: &Process,
    descriptors: Vec<u8>,
    bytes: usize,
    fill: impl FnOnce(&Mapped) -> u64 + Send + 'static,
) -> (Duration, HashMap<FailureKind, u32>) {
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    let (kinds, longest) = beside(name, honest, move || {
        let mut server = Attacker::attach(&path, &hello(Role::Server, "evil", &descriptors));
        let mut caller = Attacker::attach(&path, &hello(Role::Caller, "evil", &descriptors));
        let region = caller.grow(bytes).unwrap();
        let at = fill(&region);
        take_regions(&server.control);
        take_regions(&caller.control);
        let mut said = 0;
        let requests: Vec<_> = (0..64).map(|call| ask(call, 0, at)).collect();
        while said < requests.len() {
            said += caller.queue.try_say(&requests[said..]);
            std::thread::yield_now();
        }
        // The server takes each request, and gives it back.
        let until = Instant::now() + Duration::from_secs(60);
        let (mut outcomes, mut kinds) = (0, HashMap::new());
        while outcomes < 64 && Instant::now() < until {
            if let Some(bytes) = server.queue.try_hear()
                && let Ok(Descriptor::Request { call, message, .. }) =
                    Descriptor::read(bytes[..].try_into().unwrap())
            {
                let mut done = Done::default();
                done.push(message.number);
                server.queue.say(&Descriptor::Done(done).to_bytes());
                let failure = Descriptor::Failure {
                    call,
                    kind: FailureKind::Denied,
                    may_have_run: true,
                    reason: InHeap::default(),
                };
                server.queue.say(&failure.to_bytes());
            }
            if let Some(bytes) = caller.queue.try_hear()
                && let Ok(Descriptor::Failure { kind, .. }) = Descriptor::read(bytes[..].try_into().unwrap())
            {
                outcomes += 1;
                *kinds.entry(kind).or_default() += 1;
            }
        }
        println!("  {outcomes} outcomes: {kinds:?}");
        kinds
    })
    .await;
    (longest, kinds)
}

/// Each request that stands for more than a message may be fails by itself.
#[tokio::test(flavor = "multi_thread")]
async fn requests_that_lead_to_themselves() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let outcomes = async |name, node: Node, kind| {
        let (_, kinds) = costs(name, &daemon, nodes(), 1 << 20, move |region| {
            region.write(FIRST, &node.words());
            region.write(FIRST + 8 * NODE_WORDS as u64, &node.words());
            FIRST
        })
        .await;
        assert_eq!(kinds, HashMap::from([(kind, 64)]), "{name}");
    };
    outcomes("next to itself", Node { next: FIRST, ..Node::default() }, FailureKind::Malformed).await;
    let children = reference(FIRST, 2);
    let node = Node { children, next: FIRST, ..Node::default() };
    outcomes("two children, the first of which it is", node, FailureKind::Malformed).await;
    let empties = reference(FIRST, u32::MAX);
    let node = Node { empties, ..Node::default() };
    outcomes("four billion empty messages", node, FailureKind::TooLarge).await;
    let flags = reference(FIRST, u32::MAX);
    outcomes("four billion bools", Node { flags, ..Node::default() }, FailureKind::TooLarge).await;
}

/// Requests that take the daemon long, for their size.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes minutes, and tells times"]
async fn requests_that_cost_much() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let flags: Vec<_> = (1..=8_000)
        .map(|number| field(number, &format!("f{number}"), Type::Bool, Label::Optional, ""))
        .collect();
    let wide = schema(
        vec![
            message("Wide", flags),
            message("Rows", vec![field(1, "rows", Type::Message, Label::Repeated, ".a.Wide")]),
        ],
        &[("Put", ".a.Rows", ".a.Rows")],
    );
    let (longest, _) = costs("512 KiB of bools", &daemon, wide.clone(), 2 << 20, |region| {
        region.write(FIRST, &reference(FIRST + 16, (512 << 10) / 8_000));
        FIRST
    })
    .await;
    println!("  {longest:?}");
    let (longest, _) = costs("60 MiB of bools", &daemon, wide, 64 << 20, |region| {
        region.write(FIRST, &reference(FIRST + 16, (60 << 20) / 8_000));
        FIRST
    })
    .await;
    println!("  {longest:?}");
    let texts = schema(
        vec![message("Texts", vec![field(1, "texts", Type::String, Label::Repeated, "")])],
        &[("Put", ".a.Texts", ".a.Texts")],
    );
    let (longest, _) = costs("4 million texts", &daemon, texts.clone(), 64 << 20, |region| {
        region.write(FIRST, &reference(FIRST + 16, 2_000_000));
        for text in 0..2_000_000_u64 {
            region.write(FIRST + 16 + 16 * text, &reference(FIRST, 8));
        }
        FIRST
    })
    .await;
    println!("  {longest:?}");
    // The last text is none, so each request fails, and takes no memory of anybody.
    let (longest, _) = costs("4 million texts and no text", &daemon, texts, 64 << 20, |region| {
        region.write(FIRST, &reference(FIRST + 16, 2_000_000));
        for text in 0..2_000_000_u64 {
            region.write(FIRST + 16 + 16 * text, &reference(FIRST, 8));
        }
        region.write(FIRST + 16 + 16 * 1_999_999, &reference(1, 8));
        FIRST
    })
    .await;
    println!("  {longest:?}");
}

/// Memory that changes while the daemon reads it: each call has one outcome, and the server gets those that have a response.
#[tokio::test(flavor = "multi_thread")]
async fn memory_that_changes() {
    let daemon = Process::start(&["--engine", "evil:acl:field=text deny=eve"]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    let mut victim = Attach::new(&daemon.path, "victim").server::<Nodes>("evil").await.unwrap();
    let path = daemon.path.clone();
    let victim = tokio::spawn(async move {
        let mut calls = 0_u64;
        while let Ok(mut call) = victim.next().await {
            let node = call.request::<Put>().unwrap();
            check(&node);
            if node.choice == 6 && node.text[0] != 0 {
                let [at, lengths] = node.text;
                // SAFETY: checked above.
                let text = unsafe { std::slice::from_raw_parts(at as *const u8, lengths as u32 as usize) };
                assert_ne!(text, b"eve");
            }
            let _told = call.respond::<Put>(Node::default()).await;
            calls += 1;
        }
        calls
    });
    let calls = attack_calls(3_000);
    let ((responses, failures), _) = beside("changes", honest, move || {
        let mut caller = Attacker::attach(&path, &hello(Role::Caller, "evil", &nodes()));
        let region = Arc::new(caller.grow(1 << 20).unwrap());
        let stop = Arc::new(AtomicBool::new(false));
        let (flipped, stopped) = (Arc::clone(&region), Arc::clone(&stop));
        let flip = std::thread::spawn(move || {
            let mut random = Random(5);
            while !stopped.load(Ordering::Relaxed) {
                let (text, length) = (FIRST + 8 * 40, random.below(9) as u32);
                // Half of the nodes are right, for the time until the next.
                if random.below(2) == 0 {
                    let flag = random.below(2) as u8;
                    let right = Node { choice: 6, flag, text: reference(text, 3), ..Node::default() };
                    flipped.write(FIRST, &right.words());
                } else {
                    let wrong = Node {
                        bits: random.below(3),
                        choice: 5 + random.below(4) as u32,
                        children: reference(FIRST + 8 * (4 + random.below(20)), random.below(3) as u32),
                        next: if random.below(4) == 0 { FIRST + 8 * (14 + random.below(4)) } else { 0 },
                        empties: reference(FIRST, random.below(5) as u32),
                        flag: random.below(4) as u8,
                        maybe: random.below(4) as u8,
                        text: reference(text, length),
                        no: random.below(3) as u8,
                        flags: reference(text + 8, length),
                        ..Node::default()
                    };
                    flipped.write(FIRST + 8 * random.below(20), &wrong.words());
                }
                let names = [*b"eve\0\0\0\0\0", *b"ada\xffab\0\0"];
                flipped.write_text(text, &names[random.below(2) as usize]);
                if random.below(8) == 0 {
                    std::thread::yield_now();
                }
            }
        });
        let (mut open, mut said) = (HashSet::new(), 0);
        let (mut responses, mut failures) = (0, HashMap::new());
        while said < calls || !open.is_empty() {
            if said < calls && open.len() < 32 && caller.queue.try_say(&[ask(said, 0, FIRST)]) == 1 {
                open.insert(said);
                said += 1;
            }
            let Some(bytes) = caller.queue.try_hear() else {
                assert!(!caller.queue.is_over());
                std::thread::yield_now();
                continue;
            };
            let (call, number) = match Descriptor::read(bytes[..].try_into().unwrap()).unwrap() {
                Descriptor::Response { call, message } => {
                    responses += 1;
                    (call, message.number)
                }
                Descriptor::Failure { call, kind, reason, may_have_run } => {
                    assert!(!may_have_run, "{kind:?}");
                    *failures.entry(kind).or_default() += 1;
                    (call, reason.number)
                }
                _ => continue,
            };
            assert!(open.remove(&call), "call {call} has a second outcome");
            give_back(&mut caller.queue, number);
        }
        stop.store(true, Ordering::Relaxed);
        flip.join().unwrap();
        (responses, failures)
    })
    .await;
    println!("  {responses} responses, and {failures:?}");
    let count = |kind| failures.get(&kind).copied().unwrap_or_default();
    let kinds = [FailureKind::Denied, FailureKind::Malformed, FailureKind::TooLarge];
    let [denied, malformed, large]: [u64; 3] = kinds.map(count);
    assert!(responses > 0 && denied > 0 && malformed > 0);
    assert_eq!(responses + denied + malformed + large, calls, "{failures:?}");
    drop(daemon);
    assert_eq!(victim.await.unwrap(), responses);
}

/// No request of a customer who is denied reaches the server, while the name flips.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_flips_never_passes_the_list() {
    for list in ["deny=eve", "allow=ada,ada\u{e9}"] {
        let engine = format!("hotel:acl:field=customer {list}");
        let daemon = Process::start(&["--engine", &engine]);
        let mut serving = server(&daemon.path).await;
        let path = daemon.path.clone();
        let served = tokio::spawn(async move {
            let (mut calls, mut blocked) = (0_u64, 0_u64);
            while let Ok(mut call) = serving.next().await {
                calls += 1;
                if call.method() == Reserve::NUMBER {
                    let request = call.request::<Reserve>().unwrap();
                    blocked += u64::from(request.customer.as_str().contains("eve"));
                    if blocked > 0 {
                        println!("a blocked name: {:?}", request.customer.as_str());
                        break;
                    }
                }
                let _told = call.respond::<Ping>(Empty {}).await;
            }
            (calls, blocked)
        });
        let calls = attack_calls(10_000);
        let heard = tokio::task::spawn_blocking(move || {
            let mut caller = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
            let region = Arc::new(caller.grow(1 << 20).unwrap());
            region.write(FIRST, &[0; 16]);
            region.write_text(FIRST + 256, b"eve\0\0\0\0\0");
            region.write_text(FIRST + 264, b"ada\0\0\0\0\0");
            region.write(FIRST, &reference(FIRST + 256, 3));
            let stop = Arc::new(AtomicBool::new(false));
            let flips: Vec<_> = (0..2_u64)
                .map(|seed| {
                    let (region, stop) = (Arc::clone(&region), Arc::clone(&stop));
                    std::thread::spawn(move || {
                        let mut random = Random(seed);
                        while !stop.load(Ordering::Relaxed) {
                            if seed == 0 {
                                region.write_text(FIRST + 256, b"eve\0\0\0\0\0");
                                region.write_text(FIRST + 256, b"ada\0\0\0\0\0");
                            } else {
                                region.write(FIRST, &[FIRST + 256 + 8 * random.below(2)]);
                                region.write(FIRST + 8, &[3 << 32 | (2 + random.below(2))]);
                            }
                        }
                    })
                })
                .collect();
            let (mut said, mut heard, mut denied) = (0, 0, 0);
            while heard < calls {
                if said < heard + 64 && caller.queue.try_say(&[ask(said, 1, FIRST)]) == 1 {
                    said += 1;
                }
                let Some(bytes) = caller.queue.try_hear() else {
                    assert!(!caller.queue.is_over());
                    continue;
                };
                let number = match Descriptor::read(bytes[..].try_into().unwrap()).unwrap() {
                    Descriptor::Response { message, .. } => message.number,
                    Descriptor::Failure { reason, kind, .. } => {
                        denied += u64::from(kind == FailureKind::Denied);
                        reason.number
                    }
                    _ => continue,
                };
                heard += 1;
                let mut done = Done::default();
                done.push(number);
                caller.queue.say(&Descriptor::Done(done).to_bytes());
            }
            stop.store(true, Ordering::Relaxed);
            flips.into_iter().for_each(|flip| flip.join().unwrap());
            (heard, denied)
        })
        .await
        .unwrap();
        let path = daemon.path.clone();
        drop(daemon);
        let (calls, blocked) = served.await.unwrap();
        println!("{list}: {heard:?} heard and denied; {calls} reached the server, {blocked} of them blocked");
        assert_eq!(blocked, 0, "{path:?}");
        assert!(heard.1 > 0 && calls > 0);
    }
}
