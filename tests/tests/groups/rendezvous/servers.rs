//! Rendezvous over real servers, which are killed and come back empty.
#![cfg(any(feature = "redis", feature = "etcd"))]

use super::forwarder::Forwarder;
use super::scene::{Scene, xy};
use bertha_datapath_kernel::TokioRuntime;
#[cfg(feature = "etcd")]
use bertha_negotiation::rendezvous::EtcdStore;
#[cfg(feature = "redis")]
use bertha_negotiation::rendezvous::InForce;
#[cfg(feature = "redis")]
use bertha_negotiation::rendezvous::RedisStore;
use bertha_negotiation::rendezvous::{Event, RendezvousStore};
use futures_util::future::join;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Has two participants join, switch, lose the server for good, find an empty server in its place, and switch
/// again.
async fn survives_its_server<S: RendezvousStore>(server: &mut Server, store: S) {
    server.start();
    let mut scene = Scene::new(store, TokioRuntime);
    scene.settings.staging_timeout = Duration::from_secs(20);
    let first = loop {
        // The server takes a while to start.
        match scene.try_join(&xy()).await {
            Ok(first) => break first,
            Err(_) => scene.pause(Duration::from_millis(100)).await,
        }
    };
    let (mut first, mut second) = (first, scene.join(&xy()).await);
    first.participant.propose([1]).await.unwrap();
    join(first.uses("Y"), second.uses("Y")).await;

    server.kill();
    let lost = |event: &Event| matches!(event, Event::StoreLost { .. });
    join(first.until(lost), second.until(lost)).await;
    assert!(scene.try_join(&xy()).await.is_err(), "a dead store stops newcomers");

    server.start();
    let back = |event: &Event| matches!(event, Event::Joined(_));
    join(first.until(back), second.until(back)).await;
    assert_eq!(first.active.stack.to_string(), "Y", "the stack in force stays");
    assert_eq!((first.active.life, first.active.round), (second.active.life, second.active.round));
    let third = scene.join(&xy()).await;
    assert_eq!(third.active.stack, first.active.stack);
    third.participant.leave().await.unwrap();
    first.participant.propose([0]).await.unwrap();
    join(first.uses("X"), second.uses("X")).await;
}

/// A participant has joined, and then the connections of its store fall silent without an error. The
/// participant waits for an answer for a shorter time than the store does, so the store completes none of its
/// requests.
async fn survives_silence<S: RendezvousStore>(server: &mut Server, store: impl Fn(u16) -> S) {
    server.start();
    let way = Forwarder::to(server.port).await;
    let mut scene = Scene::new(store(way.port), TokioRuntime);
    scene.settings.store_timeout = Duration::from_secs(1);
    let mut first = loop {
        match scene.try_join(&xy()).await {
            Ok(first) => break first,
            Err(_) => scene.pause(Duration::from_millis(100)).await,
        }
    };
    way.forget();
    first.until(|event| matches!(event, Event::StoreLost { .. })).await;
    // Meanwhile the group took the participant for gone.
    let back = first.until(|event| matches!(event, Event::Joined(_)));
    tokio::time::timeout(Duration::from_secs(60), back).await.expect("the store stays lost");
    let _second = scene.join(&xy()).await;
    first.knows_of(2).await;
}

/// Has two participants join, switch and leave.
async fn agrees<S: RendezvousStore>(store: S) {
    let mut scene = Scene::new(store, TokioRuntime);
    scene.settings.staging_timeout = Duration::from_secs(20);
    let (mut first, mut second) = (scene.join(&xy()).await, scene.join(&xy()).await);
    first.participant.propose([1]).await.unwrap();
    join(first.uses("Y"), second.uses("Y")).await;
    assert_eq!(first.active.round, second.active.round);
    first.participant.leave().await.unwrap();
    second.knows_of(1).await;
    second.participant.leave().await.unwrap();
}

#[cfg(feature = "redis")]
#[tokio::test]
async fn participants_agree_over_redis_by_tls_with_no_more_rights_than_documented() {
    let Some(url) = bertha_tests::service("BERTHA_REDIS_TLS") else { return };
    agrees(RedisStore::new(&url).unwrap()).await;
}

#[cfg(feature = "etcd")]
#[tokio::test]
async fn participants_agree_over_etcd_by_tls_with_no_more_rights_than_documented() {
    let Some(url) = bertha_tests::service("BERTHA_ETCD_TLS") else { return };
    agrees(EtcdStore::new(&url).unwrap()).await;
}

/// Makes a server's arguments from its port and the folder for its data.
type Arguments = Box<dyn Fn(u16, &str) -> Vec<String>>;

/// A server process of this test alone.
struct Server {
    program: &'static str,
    arguments: Arguments,
    port: u16,
    data: PathBuf,
    process: Option<Child>,
}

impl Server {
    /// Makes a server with this program, or returns `None` if the program is not installed.
    fn new(program: &'static str, arguments: impl Fn(u16, &str) -> Vec<String> + 'static) -> Option<Self> {
        if Command::new(program)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_err()
        {
            bertha_tests::skip(&format!("{program} is not installed"));
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let data = std::env::temp_dir().join(format!("bertha-{program}-{}-{port}", std::process::id()));
        Some(Self { program, arguments: Box::new(arguments), port, data, process: None })
    }

    /// Starts the server without any data.
    fn start(&mut self) {
        let _ = std::fs::remove_dir_all(&self.data);
        std::fs::create_dir_all(&self.data).unwrap();
        let arguments = (self.arguments)(self.port, self.data.to_str().unwrap());
        let mut command = Command::new(self.program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.process = Some(command.spawn().unwrap());
    }

    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

#[cfg(feature = "redis")]
fn redis() -> Option<Server> {
    let arguments = |port: u16, data: &str| {
        let arguments = format!("--port {port} --bind 127.0.0.1 --appendonly no --dir {data} --save");
        arguments.split(' ').map(Into::into).chain([String::new()]).collect()
    };
    Server::new("redis-server", arguments)
}

#[cfg(feature = "redis")]
fn redis_at(port: u16) -> RedisStore {
    RedisStore::new(&format!("redis://127.0.0.1:{port}")).unwrap()
}

#[cfg(feature = "redis")]
#[tokio::test]
async fn redis_is_killed_and_comes_back_empty() {
    let Some(mut server) = redis() else { return };
    let store = redis_at(server.port);
    survives_its_server(&mut server, store).await;
}

/// Another program changes the record, and announces nothing: the participants learn of it by the next newcomer.
#[cfg(feature = "redis")]
#[tokio::test]
async fn a_record_that_another_program_has_spoilt_is_put_right_for_a_newcomer() {
    use crate::stores::foreign_hands::command;
    let Some(url) = bertha_tests::service("BERTHA_REDIS") else { return };
    let scene = Scene::new(RedisStore::new(&url).unwrap(), TokioRuntime);
    let mut first = scene.join(&xy()).await;
    let key = format!("bertha:rendezvous:{{{}}}", scene.name);
    command(&url, &["HSET", &key, "drecord", "spoilt"]);
    let second = scene.join(&xy()).await;
    assert_eq!(first.active, InForce { own_id: first.active.own_id, ..second.active.clone() });
    first.knows_of(2).await;
    second.participant.leave().await.unwrap();
    first.participant.leave().await.unwrap();
}

#[cfg(feature = "redis")]
#[tokio::test]
async fn a_connection_to_redis_that_fell_silent_is_given_up() {
    let Some(mut server) = redis() else { return };
    survives_silence(&mut server, redis_at).await;
}

#[cfg(feature = "etcd")]
fn etcd() -> Option<Server> {
    let peers = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let arguments = move |port: u16, data: &str| {
        let arguments = format!(
            "--data-dir {data}/etcd --heartbeat-interval 20 --election-timeout 100 --unsafe-no-fsync \
             --listen-client-urls http://127.0.0.1:{port} --advertise-client-urls http://127.0.0.1:{port} \
             --listen-peer-urls http://127.0.0.1:{peers} --initial-advertise-peer-urls http://127.0.0.1:{peers} \
             --initial-cluster default=http://127.0.0.1:{peers}"
        );
        arguments.split_whitespace().map(Into::into).collect()
    };
    Server::new("etcd", arguments)
}

#[cfg(feature = "etcd")]
fn etcd_at(port: u16) -> EtcdStore {
    EtcdStore::new(&format!("etcd://127.0.0.1:{port}")).unwrap()
}

#[cfg(feature = "etcd")]
#[tokio::test]
async fn etcd_is_killed_and_comes_back_empty() {
    let Some(mut server) = etcd() else { return };
    let store = etcd_at(server.port);
    survives_its_server(&mut server, store).await;
}

#[cfg(feature = "etcd")]
#[tokio::test]
async fn a_connection_to_etcd_that_fell_silent_is_given_up() {
    let Some(mut server) = etcd() else { return };
    survives_silence(&mut server, etcd_at).await;
}

/// Entries are renewed or written anew close to their expiry: some just in time, and some just too late.
#[cfg(feature = "etcd")]
#[tokio::test]
async fn what_etcd_is_asked_at_the_last_moment_it_does_or_denies() {
    use bertha_core::Runtime;
    use bertha_negotiation::rendezvous::{Name, Transaction};
    use futures_util::future::join_all;
    let Some(mut server) = etcd() else { return };
    server.start();
    let (store, runtime) = (&etcd_at(server.port), &TokioRuntime);
    let (name, ttl) = (&Name::new("last-moment").unwrap(), Duration::from_secs(3));
    while store.read(name).await.is_err() {
        runtime.sleep_until(runtime.now() + Duration::from_millis(100)).await;
    }
    // A lease that has expired is revoked within half a second.
    let last_moment = async || {
        let pause = Duration::from_millis(2_800 + runtime.random() % 1_000);
        runtime.sleep_until(runtime.now() + pause).await;
    };
    let is_there = async |key: &str| store.read(name).await.unwrap().entries.contains_key(key);
    let write = async |key: &str| {
        let write = Transaction::new().put_for(key, vec![1], ttl);
        assert!(store.transact(name, &write).await.unwrap().applied);
        assert!(is_there(key).await, "{key} was written, and is not there");
    };
    let renewing = join_all((0..50).map(async |number| {
        let key = format!("renewed/{number}");
        write(&key).await;
        last_moment().await;
        let renewed = store.renew(name, &key, ttl).await.unwrap().is_some();
        assert_eq!(is_there(&key).await, renewed, "{key}");
    }));
    let writing = join_all((0..50).map(async |number| {
        let key = format!("written/{number}");
        write(&key).await;
        last_moment().await;
        write(&key).await;
    }));
    join(renewing, writing).await;
}
