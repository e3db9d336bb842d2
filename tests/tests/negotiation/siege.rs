//! A server under a flood, to which honest clients connect meanwhile.

use crate::counting::Counting;
use crate::scene::{SERVER, bytes, echo, server_addr};
use bertha_core::{Buf, Connection, Runtime};
use bertha_datapath_sim::{Network, SimDatapath, Verdict};
use bertha_negotiation::{Credentials, IdentityKey, Negotiate, Runs, Settings, SharedKey};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The conduct of a flooder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flood {
    pub(crate) per_second: u32,
    pub(crate) lasts: Duration,
    /// True if all addresses of the flooder are neighbours of an honest client.
    pub(crate) is_near: bool,
}

/// Returns pairs of credentials, for the client and the server: none, a shared key, identities, and both.
pub(crate) fn credentials() -> [[Credentials; 2]; 4] {
    let (ours, theirs) = (IdentityKey::from_seed([1; 32]), IdentityKey::from_seed([2; 32]));
    let shared = || Credentials::shared(SharedKey::new([3; 32]));
    let [client, server] = [ours.public(), theirs.public()];
    let identities = |from: [Credentials; 2]| {
        let [at_client, at_server] = from;
        [
            at_client.identity(ours.clone()).trusting([server]),
            at_server.identity(theirs.clone()).trusting([client]),
        ]
    };
    let none = || [Credentials::default(), Credentials::default()];
    [none(), [shared(), shared()], identities(none()), identities([shared(), shared()])]
}

/// Returns settings with the default number of places, or with `slots` places.
pub(crate) fn with(credentials: &Credentials, slots: Option<usize>) -> Settings {
    let mut settings = Settings::default();
    settings.credentials = credentials.clone();
    if let Some(slots) = slots {
        settings.concurrent_handshakes = slots;
        settings.unvalidated_clients = slots / 8;
    }
    settings
}

/// Returns an address of the flooder.
pub(crate) fn address(flood: Flood, number: u32) -> SocketAddr {
    let [_, high, middle, low] = number.to_be_bytes();
    let port = 1000 + u16::from(high);
    match flood.is_near {
        true => SocketAddr::from(([10, 1, 1, low.max(100)], 1000 + (number % 60_000) as u16)),
        false => SocketAddr::from(([100, high, middle, low], port)),
    }
}

/// Records an honest client's offer, which never arrives.
pub(crate) async fn recorded<S>(network: &Network, stack: S, credentials: &Credentials) -> Vec<u8>
where
    S: Negotiate,
    SimDatapath: Runs<S>,
{
    let said = Arc::new(Mutex::new(Vec::new()));
    let listen = said.clone();
    network.tap(move |datagram| {
        listen.lock().unwrap().push(datagram.payload.clone());
        Verdict::Drop
    });
    let mut settings = with(credentials, None);
    settings.handshake_timeout = Duration::from_millis(50);
    let connecting = stack.connect(network.host([10, 3, 0, 1]), server_addr()).settings(settings);
    assert!(connecting.await.is_err());
    network.untap();
    std::mem::take(&mut *said.lock().unwrap()).swap_remove(0)
}

/// Number of all honest clients, and number of those that got an echo within a second.
#[derive(Debug, Default)]
pub(crate) struct Honest {
    served: usize,
    all: usize,
}

/// Connects an honest client from one of its networks, and checks an echo.
fn come<S>(
    network: &Network,
    datapath: SimDatapath,
    stack: S,
    settings: Settings,
    honest: &Arc<Mutex<Honest>>,
) where
    S: Negotiate + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = Buf>>,
{
    let runtime = network.runtime().clone();
    let (clock, honest) = (runtime.clone(), honest.clone());
    honest.lock().unwrap().all += 1;
    std::mem::forget(runtime.spawn(async move {
        let before = clock.now();
        let Ok(connection) = stack.connect(datapath, server_addr()).settings(settings).await else { return };
        if connection.send(bytes(b"hello")).await.is_err() {
            return;
        }
        let is_served = connection.recv().await.is_ok_and(|reply| *reply == *b"hello");
        if is_served && clock.now() - before <= Duration::from_secs(1) {
            honest.lock().unwrap().served += 1;
        }
        let _ = connection.close().await;
    }));
}

/// A server under attack, and its honest clients.
pub(crate) struct Siege<'a, C, S> {
    /// Both ends' stacks.
    pub(crate) client: C,
    pub(crate) server: S,
    /// The credentials of client and server.
    pub(crate) credentials: &'a [Credentials; 2],
    pub(crate) streams: bool,
    /// Number of places of the server, or `None` for the default.
    pub(crate) slots: Option<usize>,
    /// Time between two honest clients, in milliseconds.
    pub(crate) pause: u32,
}

impl<C, S> Siege<'_, C, S>
where
    C: Negotiate + Clone + 'static,
    SimDatapath: Runs<C, Out: Connection<Data = Buf>>,
    S: Negotiate + 'static,
    Counting: Runs<S, Out: Connection<Data = Buf>>,
{
    /// Runs the flood. Returns the counts of honest clients, and the greatest number of connections that the
    /// server held.
    pub(crate) async fn run(
        self,
        network: &Network,
        flood: Flood,
        mut strike: impl AsyncFnMut(u32),
    ) -> (Honest, usize) {
        let [ours, theirs] = self.credentials;
        let host = |ip: [u8; 4]| {
            let host = network.host(ip);
            if self.streams { host.streams() } else { host }
        };
        let serving = Counting::new(host(SERVER));
        let held = serving.held();
        let listening = self.server.listen(serving, server_addr()).settings(with(theirs, self.slots));
        echo(network, listening.await.unwrap(), |_| {});
        let honest = Arc::new(Mutex::new(Honest::default()));
        let runtime = network.runtime();
        let (start, mut struck, mut most) = (runtime.now(), 0, 0);
        for millisecond in 0_u32.. {
            let elapsed = runtime.now() - start;
            if elapsed >= flood.lasts {
                break;
            }
            while f64::from(struck) < elapsed.as_secs_f64() * f64::from(flood.per_second) {
                strike(struck).await;
                struck += 1;
            }
            // Honest clients come once the flood has done its work.
            if elapsed > flood.lasts / 4 && millisecond.is_multiple_of(self.pause) {
                let from = [10, (millisecond % 3) as u8, 1, 1 + (millisecond % 90) as u8];
                come(network, host(from), self.client.clone(), with(ours, None), &honest);
            }
            runtime.sleep(Duration::from_millis(1)).await;
            most = most.max(held.count());
        }
        runtime.sleep(Duration::from_secs(2)).await;
        let honest = std::mem::take(&mut *honest.lock().unwrap());
        (honest, most)
    }
}

pub(crate) fn check(seed: u64, what: &str, (honest, most): (Honest, usize), bound: usize) {
    let Honest { served, all } = honest;
    assert!(all >= 50, "{all} came");
    assert!(served * 100 >= all * 99, "seed {seed}, {what}: {served} of {all} were served");
    assert!(most <= bound, "seed {seed}, {what}: {most} were held, more than {bound}");
}
