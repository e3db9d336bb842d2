//! Stacks with `MaybeLocal` between two ends.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod lines;

use bertha_chunnels::{Noise, Nothing, Serialize};
use bertha_core::guarantee::{Encrypted, Set};
use bertha_core::{
    Addr, Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, make_stack, select,
};
use bertha_datapath_kernel::{StreamStatistics, Tcp};
use bertha_datapath_shm::{Shm, ShmStatistics, Users};
use bertha_local::directory::Rules;
use bertha_local::directory::server::DirectoryServer;
use bertha_local::{Directory, MaybeLocal, MaybeLocalConnection, MaybeLocalStatistics, Reason, Way};
use bertha_negotiation::{Agreement, Negotiate, Pick, Settings};
use lines::Lines;
use std::fs;
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

fn started() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("directory.sock");
    let server = DirectoryServer::listen(&path, Rules::new()).unwrap();
    tokio::spawn(async move { server.serve().await });
    (folder, path)
}

/// A client that waits as long as a busy machine needs.
fn at(path: &Path) -> Directory {
    Directory::at(path).patience(Duration::from_secs(60))
}

fn anywhere() -> Addr {
    "127.0.0.1:0".parse().unwrap()
}

/// Mappings of shared memory in this process: two for each connection between two ends in it.
fn mappings() -> usize {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|line| line.contains("memfd:bertha-shm")).count()
}

/// Runs a test alone, since each counts what the process has; its runtime has ended before the next one begins.
fn alone(test: impl Future<Output = ()>) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(test);
}

async fn echo(connection: impl Connection<Data = u64>) -> Error {
    loop {
        match connection.recv().await {
            Ok(message) => drop(connection.send(message).await),
            Err(error) => return error,
        }
    }
}

async fn answered(connection: &impl Connection<Data = u64>, numbers: std::ops::Range<u64>) {
    for number in numbers.clone() {
        connection.send(number).await.unwrap();
    }
    for number in numbers {
        assert_eq!(connection.recv().await.unwrap(), number);
    }
}

/// The mappings while a client of this stack talks to a server of that, which has registered if it is to.
async fn mappings_of(
    client: MaybeLocal,
    server: MaybeLocal,
    directory: &Directory,
    registers: bool,
) -> usize {
    let stack = |maybe| make_stack!(Serialize::<u64>::new(), maybe);
    let mut incoming = stack(server).listen(Tcp::new(), anywhere()).await.unwrap();
    let addr = incoming.local_addr();
    let registration = match registers {
        // A name of its own: the directory may not have heard yet that the one before has ended.
        true => Some(directory.try_register(&format!("echo at {addr}"), from_ref(&addr)).await.unwrap()),
        false => None,
    };
    let serve = tokio::spawn(async move { echo(incoming.next().await.unwrap()).await });
    let connection = stack(client).connect(Tcp::new(), addr).await.unwrap();
    answered(&connection, 0..100).await;
    let mapped = mappings();
    let statistics = connection.statistics();
    let told: &MaybeLocalStatistics = statistics.get().unwrap();
    assert_eq!(told.way == Way::Memory, mapped > 0, "{told:?}");
    let memory: Option<&ShmStatistics> = statistics.get();
    assert_eq!(memory.map(|it| it.to_receive_messages), (mapped > 0).then_some(0), "{statistics}");
    assert!(statistics.get::<StreamStatistics>().is_some(), "{statistics}");
    connection.close().await.unwrap();
    let ended = serve.await.unwrap();
    assert_eq!(ended.kind(), ErrorKind::Closed, "{ended}");
    drop((connection, registration));
    assert_eq!(mappings(), 0, "memory is left");
    mapped
}

#[test]
fn memory_is_shared_with_who_is_registered() {
    alone(async {
        let (_folder, path) = started();
        let [client, server] = [(); 2].map(|()| at(&path));
        let mapped =
            mappings_of(MaybeLocal::new(client), MaybeLocal::new(server.clone()), &server, true).await;
        assert_eq!(mapped, 2);
        let client = MaybeLocal::new(at(&path));
        let mapped = mappings_of(client, MaybeLocal::new(server.clone()), &server, false).await;
        assert_eq!(mapped, 0, "nobody is registered");
    });
}

#[test]
fn memory_is_shared_with_who_may_have_it() {
    alone(async {
        let (_folder, path) = started();
        let others = || Shm::new().users(Users::Only(vec![u32::MAX - 1]));
        let [client, server] = [(); 2].map(|()| at(&path));
        let picky = MaybeLocal::new(client.clone()).through(others());
        assert_eq!(mappings_of(picky, MaybeLocal::new(server.clone()), &server, true).await, 0);
        let picky = MaybeLocal::new(server.clone()).through(others());
        let client = MaybeLocal::new(at(&path));
        assert_eq!(mappings_of(client, picky, &server, true).await, 0);
    });
}

#[test]
fn without_a_directory_the_network_is_used() {
    alone(async {
        let directory = Directory::at("/nowhere/directory.sock");
        let maybe = || MaybeLocal::new(directory.clone());
        assert_eq!(mappings_of(maybe(), maybe(), &directory, false).await, 0);
    });
}

#[test]
fn a_service_is_found_by_its_name() {
    alone(async {
        let (_folder, path) = started();
        let [client, server] = [(); 2].map(|()| at(&path));
        let stack = |maybe| make_stack!(Serialize::<u64>::new(), maybe);
        let mut incoming =
            stack(MaybeLocal::new(server.clone())).listen(Tcp::new(), anywhere()).await.unwrap();
        let addr = incoming.local_addr();
        let _registration = server.try_register("echo", &[]).await.unwrap();
        tokio::spawn(async move { echo(incoming.next().await.unwrap()).await });
        let connection =
            stack(MaybeLocal::new(client).service("echo")).connect(Tcp::new(), addr).await.unwrap();
        answered(&connection, 0..10).await;
        assert_eq!(mappings(), 2);
    });
}

/// `MaybeLocal` that writes down which way a connection takes.
#[derive(Debug, Clone, Identity)]
#[chunnel(needs(Reliable, Ordered), no_early_data)]
struct Watched {
    maybe: MaybeLocal,
    ways: Arc<Mutex<Vec<Way>>>,
}

impl<Inner: Carries<Buf, Self> + Carries<Buf, MaybeLocal>> Chunnel<Inner> for Watched {
    type Connection = MaybeLocalConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let connection = self.maybe.connect_wrap(inner, context).await?;
        self.ways.lock().unwrap().push(connection.way());
        Ok(connection)
    }
}

#[test]
fn a_connection_says_which_way_it_takes() {
    alone(async {
        let (_folder, path) = started();
        let server = at(&path);
        let ways = Arc::new(Mutex::new(Vec::new()));
        let watched = |maybe| Watched { maybe, ways: ways.clone() };
        let stack = |maybe| make_stack!(Serialize::<u64>::new(), watched(maybe));
        let mut incoming =
            stack(MaybeLocal::new(server.clone())).listen(Tcp::new(), anywhere()).await.unwrap();
        let addr = incoming.local_addr();
        tokio::spawn(async move {
            while let Some(accepted) = incoming.next_or_refusal().await {
                tokio::spawn(echo(accepted.unwrap()));
            }
        });
        let others = Shm::new().users(Users::Only(vec![u32::MAX - 1]));
        let own = rustix::process::geteuid().as_raw();
        let nowhere = MaybeLocal::new(Directory::at("/nowhere/directory.sock"));
        let ask = async |maybe| {
            let connection = stack(maybe).connect(Tcp::new(), addr.clone()).await.unwrap();
            answered(&connection, 0..10).await;
            let mut ways = std::mem::take(&mut *ways.lock().unwrap());
            ways.sort_by_key(Way::to_string);
            ways
        };
        let far = |client| vec![Way::Network(client), Way::Network(Reason::Peer)];
        assert_eq!(ask(nowhere).await, far(Reason::NoDirectory));
        assert_eq!(ask(MaybeLocal::new(at(&path))).await, far(Reason::NotRegistered));
        let _registration = server.try_register("echo", from_ref(&addr)).await.unwrap();
        let picky = MaybeLocal::new(at(&path)).through(others);
        assert_eq!(ask(picky).await, far(Reason::User(own)));
        assert_eq!(ask(MaybeLocal::new(at(&path))).await, [Way::Memory, Way::Memory]);
    });
}

fn notes(agreement: &Agreement) -> String {
    agreement.notes().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[test]
fn the_agreement_says_whether_memory_is_shared_and_why_not() {
    alone(async {
        let (_folder, path) = started();
        let directory = at(&path);
        // Returns the notes of the client and of the server.
        let ask = async |client: MaybeLocal, server: Shm, registers: bool| {
            let stack = |maybe| make_stack!(Serialize::<u64>::new(), maybe);
            let server = MaybeLocal::new(directory.clone()).through(server);
            let mut incoming = stack(server).listen(Tcp::new(), anywhere()).await.unwrap();
            let addr = incoming.local_addr();
            let name = format!("echo at {addr}");
            let registration = match registers {
                true => Some(directory.try_register(&name, from_ref(&addr)).await.unwrap()),
                false => None,
            };
            let client = stack(client);
            let (connected, accepted) =
                tokio::join!(client.connect(Tcp::new(), addr), incoming.next_or_refusal());
            drop(registration);
            let agreements = [connected.unwrap().explain(), accepted.unwrap().unwrap().explain()];
            agreements.map(|agreement| notes(&agreement))
        };
        let near = |shm| MaybeLocal::new(at(&path)).through(shm);
        let others = || Shm::new().users(Users::Only(vec![u32::MAX - 1]));
        let own = rustix::process::geteuid().as_raw();
        let none = "MaybeLocal: no shared memory: ";
        let peers = "MaybeLocal: no shared memory: the other end shares no memory";

        let both = ask(near(Shm::new()), Shm::new(), true).await;
        assert_eq!(both, ["MaybeLocal: shared memory"; 2]);

        let nowhere = MaybeLocal::new(Directory::at("/nowhere/directory.sock"));
        let [client, server] = ask(nowhere, Shm::new(), true).await;
        assert!(
            client.starts_with(&format!("{none}the directory of the machine does not answer (")),
            "{client}"
        );
        assert!(client.ends_with("at /nowhere/directory.sock)"), "{client}");
        assert_eq!(server, format!("{peers} (its directory does not answer)"));

        let [client, server] = ask(near(Shm::new()), Shm::new(), false).await;
        assert!(client.starts_with(&format!("{none}the directory knows no such service on this machine (")));
        assert!(client.contains("127.0.0.1:") && client.ends_with(" (streams))"), "{client}");
        assert_eq!(server, format!("{peers} (the directory of its machine knows no such service)"));

        let [client, server] = ask(near(others()), Shm::new(), true).await;
        assert_eq!(client, format!("{none}no memory is shared with user {own}"));
        assert_eq!(server, format!("{peers} (it shares no memory with the user of this process)"));

        let [client, server] = ask(near(Shm::new()), others(), true).await;
        assert_eq!(client, format!("{peers} (it shares no memory with the user of this process)"));
        assert_eq!(server, format!("{none}no memory is shared with user {own}"));

        let [client, server] = ask(near(Shm::new().ring(5)), Shm::new(), true).await;
        let changed = format!("{none}the memory did not change hands (");
        assert!(client.starts_with(&changed) && client.contains("a ring of 5 bytes"), "{client}");
        assert!(server.starts_with(&changed), "{server}");
    });
}

#[test]
fn a_server_that_has_registered_nothing_is_warned_once() {
    alone(async {
        let (lines, _log) = Lines::capture();
        let warned = || lines.with("this process has registered no service").len();
        let (_folder, path) = started();
        let client = || MaybeLocal::new(at(&path));

        let directory = Directory::at("/nowhere/directory.sock");
        mappings_of(client(), MaybeLocal::new(directory.clone()), &directory, false).await;
        assert_eq!(warned(), 0, "no directory runs, so there is nothing to register with");

        let directory = at(&path);
        let picky = || client().through(Shm::new().users(Users::Only(vec![u32::MAX - 1])));
        mappings_of(picky(), MaybeLocal::new(directory.clone()), &directory, true).await;
        assert_eq!(warned(), 0, "the service is registered, and a client does not want its memory");

        let directory = at(&path);
        for _ in 0..3 {
            mappings_of(client(), MaybeLocal::new(directory.clone()), &directory, false).await;
            assert_eq!(warned(), 1);
        }
        let told = lines.with("this process has registered no service");
        assert!(told[0].contains("WARN") && told[0].contains(&path.display().to_string()), "{told:?}");
    });
}

/// A service that has moved here registers, and the connection goes over to shared memory; and back.
#[test]
fn a_connection_changes_its_way_and_loses_nothing() {
    alone(async {
        let (_folder, path) = started();
        let [client, server] = [(); 2].map(|()| at(&path));
        let stack = |directory| {
            let either = select!(Nothing, MaybeLocal::new(directory));
            make_stack!(Serialize::<u64>::new(), either).upgradable()
        };
        let mut incoming = stack(server.clone()).listen(Tcp::new(), anywhere()).await.unwrap();
        let addr = incoming.local_addr();
        let _registration = server.try_register("echo", from_ref(&addr)).await.unwrap();
        tokio::spawn(async move { echo(incoming.next().await.unwrap()).await });
        let connection = stack(client).connect(Tcp::new(), addr).await.unwrap();
        answered(&connection, 0..100).await;
        for round in 1..6 {
            assert_eq!(mappings() > 0, round % 2 == 0, "in round {round}");
            let shown = notes(&connection.explain());
            assert_eq!(
                shown,
                if round % 2 == 0 { "MaybeLocal: shared memory" } else { "" },
                "in round {round}"
            );
            let (to, first) = (Pick::alternative(round % 2), round as u64 * 10_000);
            let change = async { connection.upgrade(to).await.unwrap() };
            tokio::join!(answered(&connection, first..first + 2_000), change);
            answered(&connection, first + 5_000..first + 5_100).await;
        }
    });
}

fn encrypted() -> Settings {
    let mut settings = Settings::default();
    settings.floor = Set::of::<Encrypted>();
    settings
}

/// Nothing encrypts what lies in shared memory, whatever stands below.
#[test]
fn a_floor_of_encryption_keeps_it_out_above_what_encrypts() {
    alone(async {
        let (_folder, path) = started();
        let maybe = || MaybeLocal::new(Directory::at(&path));
        let noise = || Noise::shared(&[7; 32]);
        let listening = make_stack!(maybe(), noise()).listen(Tcp::new(), anywhere());
        let error = listening.settings(encrypted()).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("since MaybeLocal withdraws what is below it"), "{error}");

        // What encrypts stands above it.
        let stack = || make_stack!(Serialize::<u64>::new(), noise(), maybe());
        let incoming = stack().listen(Tcp::new(), anywhere()).settings(encrypted()).await;
        let mut incoming = incoming.unwrap();
        let addr = incoming.local_addr();
        tokio::spawn(async move { echo(incoming.next().await.unwrap()).await });
        let connection = stack().connect(Tcp::new(), addr.clone()).settings(encrypted()).await.unwrap();
        answered(&connection, 0..10).await;

        let around = make_stack!(maybe(), noise());
        let error = around.connect(Tcp::new(), addr).settings(encrypted()).await.err().unwrap();
        assert!(error.to_string().contains("MaybeLocal withdraws"), "{error}");
    });
}

#[test]
fn a_change_of_stacks_does_not_put_it_above_what_encrypts() {
    alone(async {
        let (_folder, path) = started();
        let stack = || {
            let either = select!(Nothing, MaybeLocal::new(Directory::at(&path)));
            make_stack!(Serialize::<u64>::new(), either, Noise::shared(&[7; 32])).upgradable()
        };
        let mut incoming = stack().listen(Tcp::new(), anywhere()).await.unwrap();
        let addr = incoming.local_addr();
        tokio::spawn(async move { echo(incoming.next().await.unwrap()).await });
        let connection = stack().connect(Tcp::new(), addr).await.unwrap();
        let error = connection.upgrade(Pick::alternative(1)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(
            error.to_string().contains("would lose guarantees of the stack in use, encrypted"),
            "{error}"
        );
        answered(&connection, 0..10).await;
    });
}
