//! Growth of heaps.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn storms_of_growth() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let (path, files, mappings) = (daemon.path.clone(), daemon.files(), daemon.mappings());
    let pid = daemon.child.id();
    let ((), longest) = beside("growth", honest, move || {
        let mut attackers = Vec::new();
        for _ in 0..40 {
            let mut attacker = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
            attacker.control.set_nonblocking(true).unwrap();
            let mut storm = Vec::new();
            for _ in 0..2000 {
                storm.extend(Grow { bytes: 65536 }.to_bytes());
            }
            let _said = attacker.control.write(&storm);
            attackers.push(attacker);
        }
        std::thread::sleep(Duration::from_millis(500));
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap().lines().count();
        println!("  {maps} mappings under attack");
        for attacker in &attackers {
            let mut granted = 0;
            while let Some((answer, _)) = hear(&attacker.control) {
                match answer {
                    Answer::Granted { .. } => granted += 1,
                    Answer::Full => break,
                    _ => {}
                }
            }
            assert!(granted <= 256, "{granted}");
        }
    })
    .await;
    assert!(longest < SOON);
    assert!(daemon.settles(files), "{} files instead of {files}", daemon.files());
    assert!(daemon.unmaps(mappings + 20), "{mappings} -> {}", daemon.mappings());
}

/// The kernel bounds the files that are on their way from a user; an application that never takes its regions must not use them up.
#[tokio::test(flavor = "multi_thread")]
async fn regions_that_nobody_takes_keep_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let others = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.path(), others).unwrap();
    std::fs::File::create(folder.path().join("rpcd.log")).unwrap();
    let daemon = Process::at(folder.path().join("rpcd"), &["--user", "0"], Some(65534), Some("-n 400"));
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let attach = daemon.attach().users(bertha_datapath_shm::Users::Any);
    let _serving = serve(attach.server("hotel").await.unwrap());
    let honest = attach.client("hotel").await.unwrap();
    works(&honest, 1).await;
    let path = daemon.path.clone();
    let attackers = tokio::task::spawn_blocking(move || {
        let mut attackers = Vec::new();
        for _ in 0..8 {
            let Some(mut attacker) =
                Attacker::try_attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()))
            else {
                break;
            };
            attacker.control.set_nonblocking(true).unwrap();
            for _ in 0..100 {
                let _said = attacker.control.write(&Grow { bytes: 65536 }.to_bytes());
            }
            std::thread::sleep(Duration::from_millis(50));
            attackers.push(attacker);
        }
        attackers
    })
    .await
    .unwrap();
    println!("{} attackers, {} files", attackers.len(), daemon.files());
    let late = attach.within(Duration::from_secs(5)).client::<Hotel>("hotel").await;
    println!("{:?}\n{}", late.as_ref().err(), daemon.log());
    let late = late.expect("an application attaches beside others that take nothing");
    works(&late, 1).await;
    drop(attackers);
}
