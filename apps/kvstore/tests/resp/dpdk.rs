//! TCP over DPDK: the program on a port, and the `redis` crate over a Bertha connection on the other port.

use crate::clients::{client_config, everyday};
use crate::skip;
use bertha::io::ByteStream;
use bertha::{Addr, Datapath, ErrorKind};
use bertha_datapath_dpdk::{Config, Dpdk, Tcp};
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, ConnectionInfo, IntoConnectionInfo};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// The program, which is killed with the test.
struct Program(Child);

impl Program {
    /// Starts the program on a port, and waits until it serves RESP.
    fn start(shards: &str, addr: &str, device: &str) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_kvstore"))
            .args(["--addr", "127.0.0.1:0", "--shards", shards, "--resp", &format!("dpdk:{addr}")])
            .env("BERTHA_DPDK_DEVICE", device)
            .env("BERTHA_DPDK_ADDRESS", "10.0.0.1/24")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let serving = format!("RESP at dpdk:{addr}");
        let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with(&serving)), "the store does not serve RESP");
        Self(program)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The program may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn connect(tcp: &Tcp<bertha::Chunk>, to: &Addr, version: &str) -> MultiplexedConnection {
    let stream = ByteStream::new(tcp.connect(to.clone()).await.unwrap());
    let settings: ConnectionInfo =
        format!("redis://10.0.0.1/?protocol={version}").into_connection_info().unwrap();
    let settings = settings.redis_settings();
    let (client, driver) =
        MultiplexedConnection::new_with_config(settings, stream, client_config()).await.unwrap();
    tokio::spawn(driver);
    client
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_application_finds_its_way_over_dpdk_in_both_versions() {
    let folder = tempfile::tempdir().unwrap();
    let device = |role: &str| {
        let socket = folder.path().join("memif");
        format!("net_memif0,role={role},id=0,socket={},socket-abstract=no", socket.display())
    };
    // The server of the shared memory has to exist first.
    let config =
        Config { device: Some(device("server")), address: vec!["10.0.0.2/24".into()], ..Config::default() };
    let port = match Dpdk::open(&config) {
        Err(error) if error.kind() == ErrorKind::Unavailable => {
            return skip(&format!("RESP over DPDK: {error}"));
        }
        port => port.unwrap(),
    };
    let tcp = Tcp::over(&port).bytes();
    let to: Addr = "10.0.0.1:6379".parse().unwrap();
    let _program = Program::start("3", "10.0.0.1:6379", &device("client"));
    for version in ["resp2", "resp3"] {
        everyday(connect(&tcp, &to, version).await).await;
    }
    // A connection reaches the records of all shards, whichever shard it belongs to.
    let mut clients = Vec::new();
    for number in 0..4 {
        let mut client = connect(&tcp, &to, "resp3").await;
        client.set::<_, _, ()>(format!("of{number}"), number).await.unwrap();
        clients.push(client);
    }
    for mut client in clients {
        let values: Vec<usize> = client.mget(&["of0", "of1", "of2", "of3"]).await.unwrap();
        assert_eq!(values, [0, 1, 2, 3]);
    }
}
