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
        for wrong in [
            *b"hot\0l",
            *b"hot\xffl",
            *b"hot\nl",
            *b"\x80\x80\x80\x80\x80",
            *b"hot\x7fl",
            *b"h\xe2\x80\xael",
            *b"ho\xe3\x85\xa4",
            *b"ho\xef\xb8\x8f",
            *b"hot\xc2\xa0",
            *b"h\xd0\xbetl",
            *b" hotl",
            *b"hotl ",
            *b"h  tl",
        ] {
            let mut bytes = good.clone();
            bytes[at..at + 5].copy_from_slice(&wrong);
            let mut socket = UnixStream::connect(&path).unwrap();
            socket.write_all(&bytes).unwrap();
            let (answer, text) = hear_some(&socket);
            assert!(matches!(answer, Answer::Refused { .. }), "{wrong:?}");
            let text = String::from_utf8(text).unwrap();
            assert!(text.contains("1 to 255 letters, digits and signs of ASCII"), "{text}");
        }
        for (application, service) in [(0, 5), (8, 0), (255, 255), (8, 255), (0, 0)] {
            let mut bytes = good.clone();
            (bytes[14], bytes[15]) = (application, service);
            let mut socket = UnixStream::connect(&path).unwrap();
            socket.write_all(&bytes).unwrap();
            let (answer, _) = hear_some(&socket);
            assert!(matches!(answer, Answer::Refused { .. }), "{application}, {service}");
        }
        let long = "~".repeat(255);
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

/// Does something as another user.
fn as_user<T: Send>(user: u32, what: impl FnOnce() -> T + Send) -> T {
    let acting = || {
        let user = rustix::process::Uid::from_raw(user);
        // Of this thread alone.
        rustix::thread::set_thread_res_uid(user, user, user).unwrap();
        what()
    };
    std::thread::scope(|scope| scope.spawn(acting).join().unwrap())
}

/// The daemon looks at the user of an application, and not the rights of its socket. Those of the socket of operators stay.
#[test]
fn a_user_who_is_named_attaches_and_one_who_is_not_hears_why() {
    if !rustix::process::geteuid().is_root() {
        return bertha_tests::skip("other users need root");
    }
    let folder = tempfile::tempdir().unwrap();
    let others = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), others).unwrap();
    let daemon = Process::at(folder.path().join("rpcd"), &["--user", "65534", "--user", "0"], None, None);
    let path = &daemon.path;
    let answer = |user| {
        as_user(user, || {
            let mut socket = UnixStream::connect(path).unwrap();
            let hello = hello(Role::Caller, "hotel", Hotel::descriptors());
            // A daemon that takes nothing of this user may have gone.
            let _said = socket.write_all(&hello.to_bytes().unwrap());
            hear(&socket).unwrap().0
        })
    };
    assert_eq!(answer(65534), Answer::Taken);
    assert!(matches!(answer(65533), Answer::Refused { .. }));
    let order = as_user(65534, || UnixStream::connect(bertha_managed::Order::socket(path)));
    assert_eq!(order.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
}

/// An application attaches to a daemon of its own user, or of root, and to no other.
#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_of_another_user_gets_no_application() {
    if !rustix::process::geteuid().is_root() {
        return bertha_tests::skip("other users need root");
    }
    let folder = tempfile::tempdir().unwrap();
    let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(folder.path(), mode(0o777)).unwrap();
    std::fs::File::create(folder.path().join("rpcd.log")).unwrap();
    let daemon = Process::at(folder.path().join("rpcd"), &["--user", "0"], Some(65534), None);
    let attached = daemon.attach().client::<Hotel>("hotel").await;
    assert!(attached.is_err(), "the application trusts the daemon of a stranger");
}
