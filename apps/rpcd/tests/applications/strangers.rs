//! Processes that do not follow the protocol.

use crate::hotel::{Empty, Hotel, Ping, Running, serve};
use bertha_chunnels::rpc::FailureKind;
use bertha_core::{Buf, Connection};
use bertha_datapath_shm::{Shm, ShmConnection};
use bertha_managed::attach::{Answer, Grow, Hello, Role};
use bertha_managed::{Descriptor, InHeap, Service};
use bertha_runtime::tokio::descriptors::receive;
use std::cell::Cell;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

fn hello() -> Hello {
    Hello {
        role: Role::Caller,
        application: "stranger".into(),
        service: "hotel".into(),
        send_heap: 1 << 40,
        receive_heap: 2 << 40,
        descriptors: Hotel::descriptors().into(),
    }
}

/// A process that says what it likes.
struct Stranger {
    socket: UnixStream,
    queue: ShmConnection,
}

fn hear(socket: &UnixStream) -> (Answer, Option<OwnedFd>) {
    let mut bytes = [0; Answer::SIZE];
    loop {
        match receive(socket, &mut bytes) {
            Ok((read, mut files)) => {
                assert_eq!(read, Answer::SIZE);
                return (Answer::read(&bytes).unwrap(), files.take_only(|_| true));
            }
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
    }
}

impl Stranger {
    async fn attach(daemon: &Running, hello: &Hello) -> Self {
        let mut socket = UnixStream::connect(&daemon.path).unwrap();
        socket.write_all(&hello.to_bytes().unwrap()).unwrap();
        let (Answer::Taken, Some(queue)) = hear(&socket) else { panic!("the daemon takes it") };
        Self { socket, queue: Shm::new().offer(queue.into()).await.unwrap() }
    }

    async fn say(&self, bytes: &[u8]) {
        // The daemon may have detached it.
        let _sent = self.queue.send(Buf::copy_of(bytes, 0).unwrap()).await;
    }

    async fn hear(&self) -> Option<Descriptor> {
        let heard = tokio::time::timeout(SOON, self.queue.recv()).await.unwrap();
        heard.ok().map(|bytes| Descriptor::read(bytes[..].try_into().unwrap()).unwrap())
    }
}

fn request(call: u64, method: u32, at: u64) -> [u8; 64] {
    let message = InHeap { at, bytes: 0, number: 7 };
    Descriptor::Request { call, method, message, milliseconds: 0, trace: None }.to_bytes()
}

/// Returns the text with which the daemon refuses these bytes.
fn refusal(daemon: &Running, bytes: &[u8]) -> String {
    let mut socket = UnixStream::connect(&daemon.path).unwrap();
    // The daemon may refuse before all is said.
    let _said = socket.write_all(bytes);
    let mut text = Vec::new();
    // What the daemon has not read makes the end a reset.
    let _end = socket.read_to_end(&mut text);
    assert_eq!(text[0], 2);
    String::from_utf8(text.split_off(Answer::SIZE)).unwrap()
}

#[tokio::test]
async fn what_is_wrong_with_a_hello_is_told() {
    let daemon = Running::start();
    assert!(refusal(&daemon, &[b'x'; 100]).contains("another protocol"));
    let schema = Hello { descriptors: vec![0xff; 100], ..hello() };
    assert!(!refusal(&daemon, &schema.to_bytes().unwrap()).is_empty());
    // Copies that engines read have such addresses.
    let heap = Hello { send_heap: 64 << 10, ..hello() };
    assert!(refusal(&daemon, &heap.to_bytes().unwrap()).contains("above the first 4 GiB"));
    daemon.client().await;
}

#[tokio::test]
async fn names_of_the_daemons_own_rows_are_refused() {
    let daemon = Running::start();
    let named = |application: &str, service: &str| {
        let hello = Hello { application: application.into(), service: service.into(), ..hello() };
        refusal(&daemon, &hello.to_bytes().unwrap())
    };
    let expected =
        "the name of an application may not be \"(others)\": names in parentheses are the daemon's own";
    assert!(named("(others)", "hotel").contains(expected));
    assert!(named("stranger", "(others)").contains("the name of a service may not be"));
    assert!(named("HTTP/2 at 10.0.0.1", "hotel").contains("names that end with an address"));
}

#[tokio::test]
async fn users_that_are_not_named_are_told() {
    let users = bertha_datapath_shm::Users::Only(vec![4_000_000]);
    let daemon = Running::with(bertha_rpcd::Settings { users, ..Default::default() });
    assert!(refusal(&daemon, &[]).contains("takes no applications of user"));
}

#[tokio::test]
async fn processes_that_say_nothing_keep_nobody_out() {
    let daemon = Running::start();
    let silent: Vec<_> = (0..200).map(|_| UnixStream::connect(&daemon.path).unwrap()).collect();
    let _serving = serve(daemon.server().await);
    daemon.client().await.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
    drop(silent);
}

#[tokio::test]
async fn a_breach_of_the_protocol_detaches_its_author_alone() {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    let client = daemon.client().await;
    let open = request(1, 0, 0);
    let response = Descriptor::Response { call: 1, message: InHeap::default() }.to_bytes();
    let limit = bertha_managed::engines::built_in().into_iter().find(|kind| kind.name() == "rate-limit");
    for breach in [&[9; 64][..], &[1; 10], &response, &open] {
        let stranger = Stranger::attach(&daemon, &hello()).await;
        if breach == open {
            // A limit keeps the second call open.
            let settings = "per-second=1".parse().unwrap();
            let kind = limit.clone().unwrap();
            let add = bertha_rpcd::Change::Add { name: "limit".into(), kind, settings };
            daemon.operator.change("hotel", &add).unwrap();
            stranger.say(&request(0, 0, 0)).await;
            stranger.say(&open).await;
        }
        stranger.say(breach).await;
        while stranger.hear().await.is_some() {}
    }
    daemon.operator.change("hotel", &bertha_rpcd::Change::Remove { name: "limit".into() }).unwrap();
    client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
}

#[tokio::test]
async fn messages_that_are_not_there_fail_their_calls() {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    let stranger = Stranger::attach(&daemon, &hello()).await;
    for (method, at, kind) in [
        (1, 0, FailureKind::Malformed),
        (1, 1 << 40, FailureKind::Malformed),
        (1, u64::MAX, FailureKind::Malformed),
        (2, 0, FailureKind::UnknownMethod),
        (u32::MAX, 0, FailureKind::UnknownMethod),
    ] {
        stranger.say(&request(5, method, at)).await;
        loop {
            match stranger.hear().await.unwrap() {
                Descriptor::Failure { call, kind: told, may_have_run, .. } => {
                    assert_eq!((call, told, may_have_run), (5, kind, false), "{method}, {at:#x}");
                    break;
                }
                Descriptor::Done(done) => assert_eq!(done.numbers(), [7]),
                Descriptor::Grown { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_heap_grows_to_its_quota_and_no_further() {
    let daemon = Running::with(bertha_rpcd::Settings { heap: 1 << 20, ..Default::default() });
    let mut stranger = Stranger::attach(&daemon, &hello()).await;
    for (bytes, is_granted) in
        [(0, false), (u64::MAX, false), (1, false), (2 << 20, false), (1 << 20, true), (65_536, false)]
    {
        stranger.socket.write_all(&Grow { bytes }.to_bytes()).unwrap();
        let (answer, file) = hear(&stranger.socket);
        assert_eq!(
            (answer == Answer::Granted { bytes }, file.is_some()),
            (is_granted, is_granted),
            "{bytes}"
        );
    }
}

#[tokio::test]
async fn a_caller_that_does_not_read_harms_nobody() {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    let stranger = Stranger::attach(&daemon, &hello()).await;
    // Failures that nobody reads fill its queue, and then its requests wait.
    let said = Cell::new(0);
    let flood = async {
        while said.get() < 200_000 {
            stranger.say(&request(5, 9, 0)).await;
            said.set(said.get() + 1);
            tokio::task::yield_now().await;
        }
    };
    let client = daemon.client().await;
    let others = async {
        let (mut before, mut now) = (0, 1);
        while before < now {
            for _ in 0..200 {
                client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
            }
            (before, now) = (now, said.get());
        }
    };
    tokio::select! {
        () = flood => panic!("the daemon keeps whatever comes"),
        () = others => {}
    }
}
