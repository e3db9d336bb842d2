//! Names of services, and users.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn names_of_services() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    let ((), _) = beside("names", honest, move || {
        let good = hello(Role::Server, "hotel", Hotel::descriptors()).to_bytes().unwrap();
        let at = Hello::HEADER + "attacker".len();
        for wrong in
            [*b"hot\0l", *b"hot\xffl", *b"hot\nl", *b"\x80\x80\x80\x80\x80", *b"hot\x7fl", *b"h\xe2\x80\xael"]
        {
            let mut bytes = good.clone();
            bytes[at..at + 5].copy_from_slice(&wrong);
            let mut socket = UnixStream::connect(&path).unwrap();
            socket.write_all(&bytes).unwrap();
            let (answer, _) = hear_some(&socket);
            assert!(matches!(answer, Answer::Refused { .. }), "{wrong:?}");
        }
        for (application, service) in [(0, 5), (8, 0), (255, 255), (8, 255), (0, 0)] {
            let mut bytes = good.clone();
            (bytes[14], bytes[15]) = (application, service);
            let mut socket = UnixStream::connect(&path).unwrap();
            socket.write_all(&bytes).unwrap();
            let (answer, _) = hear_some(&socket);
            assert!(matches!(answer, Answer::Refused { .. }), "{application}, {service}");
        }
        let long = "\u{1f600}".repeat(63);
        let _server = Attacker::attach(&path, &hello(Role::Server, &long, Hotel::descriptors()));
        // The honest server stays.
        assert!(Attacker::try_attach(&path, &hello(Role::Server, "hotel", Hotel::descriptors())).is_none());
    })
    .await;
    println!("{}", daemon.log());
}

/// Hears an answer of which a text may follow.
fn hear_some(mut socket: &UnixStream) -> (Answer, Vec<u8>) {
    let mut bytes = [0; Answer::SIZE];
    socket.set_read_timeout(Some(SOON)).unwrap();
    socket.read_exact(&mut bytes).unwrap();
    let mut text = Vec::new();
    let _end = socket.read_to_end(&mut text);
    (Answer::read(&bytes).unwrap(), text)
}

/// An application attaches to a daemon of its own user, or of root, and to no other.
#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_of_another_user_gets_no_application() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(folder.path(), mode(0o777)).unwrap();
    std::fs::File::create(folder.path().join("rpcd.log")).unwrap();
    let daemon = Process::at(folder.path().join("rpcd"), &["--user", "0"], Some(65534), None);
    let attached = daemon.attach().client::<Hotel>("hotel").await;
    assert!(attached.is_err(), "the application trusts the daemon of a stranger");
}
