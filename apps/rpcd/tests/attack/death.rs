//! Applications and daemons that are killed.

use super::*;

/// Runs as a process of its own, which is killed.
#[tokio::test]
#[ignore = "a part of the test of kills"]
async fn an_application_that_is_killed() {
    let Ok(path) = std::env::var("ATTACK_PATH") else { return };
    let service = std::env::var("ATTACK_SERVICE").unwrap();
    let attach = Attach::new(&path, "doomed");
    let _serving = match attach.server::<Hotel>(&service).await {
        Ok(server) => Some(serve(server)),
        Err(_) => None,
    };
    let own = attach.client::<Hotel>(&service).await.unwrap();
    let honest = attach.client::<Hotel>("hotel").await.unwrap();
    let long = "x".repeat(1 << 20);
    loop {
        for client in [&own, &honest] {
            let asked = request(client.heap(), "ada", 1, &[&long, &long]);
            let _outcome = client.call::<Reserve>(asked, Some(Duration::from_millis(500))).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn applications_that_are_killed_leave_nothing() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 10).await;
    let kills = std::env::var("ATTACK_KILLS").map_or(60, |kills| kills.parse().unwrap());
    let path = daemon.path.clone();
    let kill = move |rounds: u64, seed| {
        let path = path.clone();
        move || {
            let mut random = Random(seed);
            for round in 0..rounds {
                let mut child = Command::new(std::env::current_exe().unwrap())
                    .args(["--ignored", "--exact", "death::an_application_that_is_killed"])
                    .env("ATTACK_PATH", &path)
                    .env("ATTACK_SERVICE", format!("doomed-{}", round % 3))
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                std::thread::sleep(Duration::from_millis(random.below(120)));
                child.kill().unwrap();
                child.wait().unwrap();
            }
        }
    };
    let ((), _) = beside("first kills", client(&daemon.path).await, kill(10, 1)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    works(&honest, 10).await;
    let (files, mappings, memory) = (daemon.files(), daemon.mappings(), daemon.memory());
    let ((), _) = beside("kills", client(&daemon.path).await, kill(kills, 2)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    works(&honest, 10).await;
    println!(
        "files {files} -> {}, mappings {mappings} -> {}, memory {memory} -> {} KiB, {} threads",
        daemon.files(),
        daemon.mappings(),
        daemon.memory(),
        daemon.threads()
    );
    assert!(daemon.settles(files), "{files} -> {}", daemon.files());
    assert!(daemon.unmaps(mappings + 20), "{mappings} -> {}", daemon.mappings());
    assert!(daemon.memory() < memory + (16 << 10));
}

/// The daemon is killed and started again amid calls: each call has one outcome, and applications attach again.
#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rpcd");
    for round in 0..10 {
        let mut daemon = Process::at(path.clone(), &[], None, None);
        let _serving = serve(server(&path).await);
        let honest = Arc::new(client(&path).await);
        // The heap has its first region before the daemon dies: strings without room panic, as those of std do.
        drop(request(honest.heap(), "ada", 2, &["guest"]));
        let calls: Vec<_> = (0..50)
            .map(|_| {
                let honest = Arc::clone(&honest);
                tokio::spawn(async move {
                    loop {
                        let asked = request(honest.heap(), "ada", 2, &["guest"]);
                        match tokio::time::timeout(SOON, honest.call::<Reserve>(asked, None)).await.unwrap() {
                            Ok(response) => assert_eq!(response.price, 200),
                            Err(failure) => return failure.kind(),
                        }
                    }
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(10 * round)).await;
        daemon.child.kill().unwrap();
        for call in calls {
            let kind = call.await.unwrap();
            assert!(matches!(kind, FailureKind::Disconnected | FailureKind::Overloaded), "{kind:?}");
        }
        // The heap of the dead daemon goes on, and fails in a proper way.
        for _ in 0..3 {
            let mut text = bertha_managed::heap::String::new_in(honest.heap());
            println!("{:?}", text.try_reserve(300 << 20).is_err());
        }
        drop(honest);
        daemon.child.wait().unwrap();
        // The drop sees a child that was killed.
        std::mem::forget(daemon);
    }
}

/// A daemon that stops, and goes on: deadlines hold meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_sleeps() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 10).await;
    let pid = rustix::process::Pid::from_child(&daemon.child);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    for _ in 0..20 {
        let failure = honest.call::<Ping>(Empty {}, Some(Duration::from_millis(20))).await.unwrap_err();
        assert_eq!(failure.kind(), FailureKind::TimedOut);
    }
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    works(&honest, 10).await;
}
