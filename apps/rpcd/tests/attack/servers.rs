//! Servers that answer as they like.

use super::*;

/// A server that answers calls several times, calls that were never made, and with anything: its callers have right responses, or failures.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_whatever_it_likes() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let evil = std::thread::spawn(move || {
        let mut random = Random(3);
        let (mut attached, mut answers) = (0, 0_u64);
        while !stopped.load(Ordering::Relaxed) {
            let hello = hello(Role::Server, "evil", &nodes());
            let Some(mut attacker) = Attacker::try_attach(&path, &hello) else { continue };
            let Some(region) = attacker.grow(1 << 20) else { continue };
            attached += 1;
            let mut seen: Vec<u64> = Vec::new();
            'attached: while !stopped.load(Ordering::Relaxed) {
                if let Some(bytes) = attacker.queue.try_hear() {
                    if let Ok(Descriptor::Request { call, .. }) =
                        Descriptor::read(bytes[..].try_into().unwrap())
                    {
                        seen.push(call);
                    }
                } else if attacker.queue.is_over() {
                    break 'attached;
                }
                if seen.is_empty() {
                    continue;
                }
                let is_empty = random.below(2) == 0;
                for word in region.words().iter().take(200) {
                    word.store(
                        match random.below(4) {
                            _ if is_empty => 0,
                            0 => 0,
                            1 => random.next(),
                            2 => FIRST + random.below(1000),
                            _ => 0xff,
                        },
                        Ordering::Relaxed,
                    );
                }
                // Words at random make hardly a choice, so some nodes have one: a text, or bytes that are none.
                let has_text = random.below(4) == 0;
                if has_text {
                    let node = Node { choice: 6, text: reference(FIRST + 1_200, 3), ..Node::default() };
                    region.write(FIRST, &node.words());
                    region
                        .write_text(FIRST + 1_200, [b"ada", &b"\xff\xff\xff"[..]][random.below(2) as usize]);
                }
                let call = match random.below(6) {
                    0 => random.next(),
                    1 => seen[seen.len() - 1].wrapping_add(random.below(3)),
                    _ => seen[random.below(seen.len() as u64) as usize],
                };
                let message = InHeap {
                    at: match random.below(4) {
                        _ if has_text => FIRST,
                        0 => 0,
                        1 => random.next(),
                        _ => FIRST + 8 * random.below(100),
                    },
                    bytes: random.next() as u32,
                    number: random.next() as u32,
                };
                let outcome = match random.below(4) {
                    0 => Descriptor::Response { call, message },
                    1 => {
                        let kind = FailureKind::of_code(random.next() as u8 & 0x7f);
                        Descriptor::Failure {
                            call,
                            kind,
                            may_have_run: random.below(2) == 0,
                            reason: message,
                        }
                    }
                    2 => Descriptor::Cancellation { call },
                    _ => {
                        let mut done = Done::default();
                        (0..random.below(15)).for_each(|_| {
                            done.push(random.below(20) as u32);
                        });
                        Descriptor::Done(done)
                    }
                };
                for _ in 0..=random.below(2) {
                    match attacker.queue.try_say(&[outcome.to_bytes()]) {
                        0 if attacker.queue.is_over() => break 'attached,
                        said => answers += said as u64,
                    }
                }
                std::thread::yield_now();
            }
        }
        (attached, answers)
    });
    let victim = Attach::new(&daemon.path, "victim").client::<Nodes>("evil").await.unwrap();
    let victim = Arc::new(victim);
    let calls = {
        let victim = Arc::clone(&victim);
        async move {
            let (mut responses, mut texts, mut failures, mut late) = (0, 0, 0, 0);
            for _ in 0..1_000 {
                match victim.call::<Put>(Node::default(), Some(Duration::from_millis(200))).await {
                    Ok(node) => {
                        responses += 1;
                        texts += u32::from(node.choice == 6);
                        check(&node);
                    }
                    Err(failure) if failure.kind() == FailureKind::TimedOut => late += 1,
                    Err(_) => failures += 1,
                }
            }
            println!(
                "  {responses} responses, {texts} with a text, {failures} failures, {late} without an answer"
            );
            assert!(responses > 0 && texts > 0 && failures > 0);
        }
    };
    let (stop_watch, watching) = watch(honest);
    calls.await;
    stop_watch.store(true, Ordering::Relaxed);
    let (count, _) = watching.await.unwrap();
    stop.store(true, Ordering::Relaxed);
    let (attached, answers) = evil.join().unwrap();
    println!("attached {attached} times, for {answers} answers; {count} honest calls");
    assert!(attached > 0 && answers > 0);
}

/// Checks what a reader in place relies on, as far as plain numbers go.
pub(crate) fn check(node: &Node) {
    assert!(node.bits <= 1 && node.flag <= 1 && node.no <= 1 && node.maybe <= 1, "{node:?}");
    assert!(matches!(node.choice, 0 | 6 | 7), "{node:?}");
    let text = |[at, lengths]: [u64; 2]| {
        let length = lengths as u32 as usize;
        if length > 0 {
            // SAFETY: the daemon promises it.
            let bytes = unsafe { std::slice::from_raw_parts(at as *const u8, length) };
            assert!(std::str::from_utf8(bytes).is_ok());
        }
    };
    if node.choice == 6 {
        text(node.text);
    } else {
        assert_eq!(node.text, [0, 0]);
    }
    let [at, lengths] = node.flags;
    let length = lengths as u32 as usize;
    if length > 0 {
        // SAFETY: the daemon promises it.
        let flags = unsafe { std::slice::from_raw_parts(at as *const u8, length) };
        assert!(flags.iter().all(|flag| *flag <= 1));
    }
    if node.next != 0 {
        // SAFETY: the daemon promises it.
        check(unsafe { &*(node.next as *const Node) });
    }
    let [at, lengths] = node.children;
    let length = lengths as u32 as usize;
    if length > 0 {
        // SAFETY: the daemon promises it.
        unsafe { std::slice::from_raw_parts(at as *const Node, length) }.iter().for_each(check);
    }
}

/// The text of a failure that is no text does not reach the caller.
#[tokio::test(flavor = "multi_thread")]
async fn a_reason_that_is_no_text() {
    let daemon = Process::start(&[]);
    let path = daemon.path.clone();
    let (ready, attached) = std::sync::mpsc::channel();
    let evil = std::thread::spawn(move || {
        let mut attacker = Attacker::attach(&path, &hello(Role::Server, "evil", &nodes()));
        let region = attacker.grow(1 << 20).unwrap();
        region.write_text(FIRST + 64, &[0xff; 64]);
        ready.send(()).unwrap();
        for (at, len) in [(FIRST + 64, 64), (FIRST + 64, u32::MAX), (u64::MAX, 1), (0, 5), (FIRST, 0)] {
            let Some(Descriptor::Request { call, .. }) = attacker.queue.hear_of_call() else { panic!() };
            region.write(FIRST, &reference(at, len));
            let reason = InHeap { at: FIRST, bytes: 16, number: 3 };
            let failure = Descriptor::Failure { call, kind: FailureKind::Denied, may_have_run: true, reason };
            attacker.queue.say(&failure.to_bytes());
        }
        attacker
    });
    attached.recv().unwrap();
    let victim = Attach::new(&daemon.path, "victim").client::<Nodes>("evil").await.unwrap();
    for _ in 0..5 {
        let failure = victim.call::<Put>(Node::default(), Some(SOON)).await.unwrap_err();
        println!("{:?}: {}", failure.kind(), failure.text());
        assert!(std::str::from_utf8(failure.text().as_bytes()).is_ok());
    }
    evil.join().unwrap();
}

/// The memory behind a text is the application's own, and no details of its failure, whatever it has there.
#[tokio::test(flavor = "multi_thread")]
async fn what_lies_behind_a_reason() {
    let daemon = Process::start(&[]);
    let path = daemon.path.clone();
    let (ready, attached) = std::sync::mpsc::channel();
    let evil = std::thread::spawn(move || {
        let mut attacker = Attacker::attach(&path, &hello(Role::Server, "evil", &nodes()));
        let region = attacker.grow(1 << 20).unwrap();
        let part = |number: u8, content: &[u8]| [&[number << 3 | 2, content.len() as u8], content].concat();
        let info =
            [part(1, b"type.googleapis.com/google.rpc.ErrorInfo"), part(2, &part(1, b"FORGED"))].concat();
        let text = [b"no", &part(3, &info)[..]].concat();
        region.write_text(FIRST + 64, &text);
        region.write(FIRST, &[FIRST + 64, (text.len() as u64) << 32 | 2]);
        ready.send(()).unwrap();
        let Some(Descriptor::Request { call, .. }) = attacker.queue.hear_of_call() else { panic!() };
        let reason = InHeap { at: FIRST, bytes: 16, number: 3 };
        let failure = Descriptor::Failure { call, kind: FailureKind::Denied, may_have_run: true, reason };
        attacker.queue.say(&failure.to_bytes());
        attacker
    });
    attached.recv().unwrap();
    let victim = Attach::new(&daemon.path, "victim").client::<Nodes>("evil").await.unwrap();
    let failure = victim.call::<Put>(Node::default(), Some(SOON)).await.unwrap_err();
    assert_eq!(failure.text(), "no");
    evil.join().unwrap();
}
