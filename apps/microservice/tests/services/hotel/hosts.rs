//! The hotel's services, each on a host of its own: a process, with a daemon where calls go through daemons.

use bertha_microservice::hotel::Role;
use bertha_rpcd::{Daemon, PeerAddr, Peers, Routes, Settings};
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use tempfile::TempDir;
use tokio::sync::oneshot;

/// The way of calls between services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Daemons,
    Grpc,
}

/// The five services. They end when this is dropped.
pub(crate) struct Hosts {
    /// Address of the front end.
    pub(crate) front: SocketAddr,
    services: Vec<Child>,
    _daemons: Vec<Host>,
    _folder: TempDir,
}

impl Hosts {
    pub(crate) fn start(way: Way, cache: SocketAddr) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (mut services, mut daemons) = (Vec::new(), Vec::new());
        let mut addrs: HashMap<&str, String> = HashMap::new();
        for role in Role::ALL {
            let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-hotel"));
            command.args(["serve", role.name()]).stdout(Stdio::piped());
            if [Role::Rate, Role::Profile].contains(&role) {
                command.args(["--cache", &cache.to_string()]);
            }
            match way {
                Way::Daemons => {
                    let next = role.calls().iter().map(|next| (next.name(), &addrs[next.name()]));
                    let routes = next.map(|(name, addr)| (name.to_owned(), addr.parse().unwrap()));
                    let host = Host::start(folder.path().join(role.name()), routes.collect());
                    addrs.insert(role.name(), host.addr.to_string());
                    command.arg("--daemon").arg(&host.socket);
                    daemons.push(host);
                }
                Way::Grpc => {
                    for next in role.calls() {
                        command.args(["--next", &format!("{}={}", next.name(), addrs[next.name()])]);
                    }
                }
            }
            let mut service = command.spawn().unwrap();
            let mut lines = BufReader::new(service.stdout.take().unwrap()).lines();
            services.push(service);
            let line = lines.next().unwrap().unwrap();
            let said = line.strip_prefix(&format!("{} serves", role.name())).unwrap();
            if let Some(addr) = said.strip_prefix(" at ") {
                addrs.insert(role.name(), addr.to_owned());
            }
        }
        let front = addrs["front"].parse().unwrap();
        Self { front, services, _daemons: daemons, _folder: folder }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for service in &mut self.services {
            let _ = (service.kill(), service.wait());
        }
    }
}

/// The daemon of a host, on a thread of its own.
struct Host {
    socket: PathBuf,
    addr: PeerAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Host {
    fn start(socket: PathBuf, routes: Vec<(String, Routes)>) -> Self {
        let ((end, ended), (begin, begun)) = (oneshot::channel::<()>(), std::sync::mpsc::channel());
        let path: Box<Path> = socket.clone().into();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let peers =
                    Peers { listen: Some("127.0.0.1:0".parse().unwrap()), routes, ..Peers::default() };
                let daemon = Daemon::listen(&path, Settings { peers, ..Settings::default() }).await.unwrap();
                begin.send(daemon.peer_addr().unwrap().clone()).unwrap();
                tokio::select! {
                    ended = daemon.run() => ended.unwrap(),
                    _ = ended => {}
                }
            });
        });
        Self { socket, addr: begun.recv().unwrap(), end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            assert!(std::thread::panicking(), "a daemon panicked");
        }
    }
}
