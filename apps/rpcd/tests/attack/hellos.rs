//! Hellos, and what stands in their place.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn hellos_cut_and_changed() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let (path, files) = (daemon.path.clone(), daemon.files());
    let ((), _) = beside("hellos", honest, move || {
        let good = hello(Role::Caller, "hotel", Hotel::descriptors()).to_bytes().unwrap();
        let mut random = Random(1);
        for length in 0..=good.len() {
            let mut socket = UnixStream::connect(&path).unwrap();
            let _said = socket.write_all(&good[..length]);
            if length % 2 == 0 {
                socket.shutdown(std::net::Shutdown::Write).unwrap();
                let _end = socket.read_to_end(&mut Vec::new());
            }
        }
        for _ in 0..3000 {
            let mut bytes = good.clone();
            for _ in 0..=random.below(4) {
                let at =
                    if random.below(2) == 0 { random.below(48) } else { random.below(good.len() as u64) };
                bytes[at as usize] = random.next() as u8;
            }
            let mut socket = UnixStream::connect(&path).unwrap();
            let _said = socket.write_all(&bytes);
            socket.shutdown(std::net::Shutdown::Write).unwrap();
            let _end = socket.read_to_end(&mut Vec::new());
        }
    })
    .await;
    assert!(daemon.settles(files), "{} files instead of {files}", daemon.files());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hello_that_drips_ends() {
    let daemon = Process::start(&[]);
    let path = daemon.path.clone();
    let took = tokio::task::spawn_blocking(move || {
        let mut socket = UnixStream::connect(&path).unwrap();
        let begun = Instant::now();
        let good = hello(Role::Caller, "hotel", Hotel::descriptors()).to_bytes().unwrap();
        for byte in &good {
            if socket.write_all(&[*byte]).is_err() || begun.elapsed() > SOON {
                break;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        begun.elapsed()
    })
    .await
    .unwrap();
    println!("drip: {took:?}");
    assert!(took < SOON, "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_an_application_sends() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let (path, files) = (daemon.path.clone(), daemon.files());
    let ((), _) = beside("files", honest, move || {
        let good = hello(Role::Caller, "hotel", Hotel::descriptors()).to_bytes().unwrap();
        let null = std::fs::File::open("/dev/null").unwrap();
        let many = vec![null.as_fd(); 253];
        for _ in 0..20 {
            let socket = UnixStream::connect(&path).unwrap();
            let _sent = send_with(&socket, &good, &many);
            if let Some((Answer::Taken, Some(queue))) = hear(&socket) {
                let queue: UnixStream = queue.into();
                let _sent = send_with(&socket, &Grow { bytes: 65536 }.to_bytes(), &many);
                let layout = Layout::new(65536).unwrap();
                let memory = memfd(layout.memory_bytes(), SEALS);
                let mut many = many.clone();
                many[252] = memory.as_fd();
                let _sent = send_with(&queue, &offer_bytes(65536), &many);
                std::thread::sleep(Duration::from_millis(5));
                let _sent = send_with(&queue, &[0], &many);
            }
            let socket = UnixStream::connect(&path).unwrap();
            let _sent = send_with(&socket, &[1], &[socket.as_fd()]);
        }
        let layout = Layout::new(65536).unwrap();
        let bytes = layout.memory_bytes();
        let (one, _other) = UnixStream::pair().unwrap();
        let folder = std::fs::File::open("/tmp").unwrap();
        let read_only = {
            use std::os::fd::AsRawFd;
            let file = memfd(bytes, SEALS);
            std::fs::File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap()
        };
        let wrong: Vec<OwnedFd> = vec![
            null.into(),
            one.into(),
            folder.into(),
            read_only.into(),
            memfd(bytes, SealFlags::empty()),
            memfd(bytes, SEALS | SealFlags::WRITE),
            memfd(bytes, SEALS | SealFlags::FUTURE_WRITE),
            memfd(0, SEALS),
            memfd(bytes + 4096, SEALS),
            memfd(bytes, SealFlags::SHRINK),
        ];
        for file in &wrong {
            for ring in [65536, 0, 1, u64::MAX, 64 << 20, 65537] {
                let mut control = UnixStream::connect(&path).unwrap();
                control.write_all(&good).unwrap();
                let Some((Answer::Taken, Some(queue))) = hear(&control) else { panic!() };
                let queue: UnixStream = queue.into();
                send_with(&queue, &offer_bytes(ring), &[file.as_fd()]).unwrap();
                let mut answer = [0; 9];
                queue.set_nonblocking(false).unwrap();
                queue.set_read_timeout(Some(SOON)).unwrap();
                let heard = (&queue).read(&mut answer).unwrap();
                assert!(heard == 0 || answer[0] != 1, "{file:?}, {ring}");
            }
        }
    })
    .await;
    assert!(daemon.settles(files), "{} files instead of {files}", daemon.files());
}

#[tokio::test(flavor = "multi_thread")]
async fn more_connections_than_the_daemon_has_files() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Process::at(folder.path().join("rpcd"), &[], None, Some("-n 200"));
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let (path, files) = (daemon.path.clone(), daemon.files());
    let ((), _) = beside("connections", honest, move || {
        let attacking = Instant::now();
        let mut taken = Vec::new();
        while attacking.elapsed() < Duration::from_secs(3) {
            let mut control = UnixStream::connect(&path).unwrap();
            let good = hello(Role::Caller, "hotel", Hotel::descriptors()).to_bytes().unwrap();
            let _said = control.write_all(&good);
            control.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
            taken.push(control);
            if taken.len() == 400 {
                std::thread::sleep(Duration::from_secs(2));
            }
            if taken.len() > 400 {
                break;
            }
        }
    })
    .await;
    assert!(daemon.settles(files), "{} files instead of {files}", daemon.files());
    works(&client(&daemon.path).await, 3).await;
    println!("{}", daemon.log().lines().count());
}

#[tokio::test(flavor = "multi_thread")]
async fn half_open_attachments() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let (path, files) = (daemon.path.clone(), daemon.files());
    let ((), _) = beside("half open", honest, move || {
        // A name is claimed by one that offers no queue, and is free soon.
        let begun = Instant::now();
        let mut control = UnixStream::connect(&path).unwrap();
        let bytes = hello(Role::Server, "squat", Hotel::descriptors()).to_bytes().unwrap();
        control.write_all(&bytes).unwrap();
        let (Answer::Taken, queue) = hear(&control).unwrap() else { panic!() };
        loop {
            if Attacker::try_attach(&path, &hello(Role::Server, "squat", Hotel::descriptors())).is_some() {
                break;
            }
            assert!(begun.elapsed() < SOON, "the name is never free");
            std::thread::sleep(Duration::from_millis(20));
        }
        println!("a name without a queue is free after {:?}", begun.elapsed());
        drop((control, queue));
        // The control ends, the queue does not; and the other way around.
        for _ in 0..50 {
            let attacker = Attacker::attach(&path, &hello(Role::Server, "squat", Hotel::descriptors()));
            let Attacker { control, queue } = attacker;
            drop(control);
            let until = Instant::now() + SOON;
            while !queue.is_over() {
                assert!(Instant::now() < until);
                std::thread::sleep(Duration::from_millis(1));
            }
            drop(queue);
            let attacker = loop {
                let attacker =
                    Attacker::try_attach(&path, &hello(Role::Server, "squat", Hotel::descriptors()));
                if let Some(attacker) = attacker {
                    break attacker;
                }
                assert!(Instant::now() < until);
            };
            let Attacker { mut control, queue } = attacker;
            drop(queue);
            control.set_read_timeout(Some(SOON)).unwrap();
            let _end = control.read_to_end(&mut Vec::new());
            loop {
                if let Some(attacker) =
                    Attacker::try_attach(&path, &hello(Role::Server, "squat", Hotel::descriptors()))
                {
                    drop(attacker);
                    break;
                }
                assert!(Instant::now() < until);
            }
            // The name has to be free before the next round.
            while Attacker::try_attach(&path, &hello(Role::Server, "squat", Hotel::descriptors())).is_none() {
                assert!(Instant::now() < until);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // Only the writing half is shut.
        let attacker = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
        attacker.control.shutdown(std::net::Shutdown::Write).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        // A part of a growth, and then nothing.
        let mut attacker = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
        attacker.control.write_all(&[1, 2, 3]).unwrap();
        std::thread::sleep(Duration::from_millis(100));
    })
    .await;
    assert!(daemon.settles(files), "{} files instead of {files}", daemon.files());
}
