//! Servers and clients that connect early, which the tests of early messages share.

use crate::scene::{A, B, SERVER, client, server, server_addr};
use bertha_chunnels::Serialize;
use bertha_core::{Connection, Describe, Error, Runtime, make_stack, select};
use bertha_datapath_sim::{Network, SimDatapath};
use bertha_negotiation::{Early, EarlyCache, Incoming, Negotiate, Runs, Settings, ZeroRtt};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::default();
    change(&mut settings);
    settings
}

/// The messages that a server received, one list for each connection, in the order in which they were accepted.
pub(crate) type History = Arc<Mutex<Vec<Vec<String>>>>;

/// A server that writes down what it receives, and sends it back.
pub(crate) fn record<S>(network: &Network, mut incoming: Incoming<S, SimDatapath>) -> History
where
    S: Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = String>>,
{
    let history = History::default();
    let (runtime, recorded) = (network.runtime().clone(), history.clone());
    let tasks = runtime.clone();
    std::mem::forget(runtime.spawn(async move {
        while let Some(accepted) = incoming.next().await {
            let Ok(connection) = accepted else { continue };
            let number = {
                let mut history = recorded.lock().unwrap();
                history.push(Vec::new());
                history.len() - 1
            };
            let recorded = recorded.clone();
            std::mem::forget(tasks.spawn(async move {
                while let Ok(message) = connection.recv().await {
                    recorded.lock().unwrap()[number].push(message.clone());
                    if connection.send(message).await.is_err() {
                        break;
                    }
                }
            }));
        }
    }));
    history
}

pub(crate) async fn serve<S>(network: &Network, stack: S, settings: Settings) -> History
where
    S: Describe + Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = String>>,
{
    record(network, stack.listen(server(network), server_addr()).settings(settings).await.unwrap())
}

/// Strings over this.
macro_rules! over {
    ($bottom:expr) => {
        make_stack!(Serialize::<String>::new(), $bottom)
    };
}
pub(crate) use over;

/// A client of either stack.
pub(crate) async fn connect(
    network: &Network,
    cache: &EarlyCache,
    settings: Settings,
) -> Result<Early<impl Connection<Data = String>>, Error> {
    over!(select!(A, B)).connect(client(network), server_addr()).early(cache).settings(settings).await
}

/// A cache that knows what a server with this stack agreed to, which is gone then.
pub(crate) async fn learn<S>(network: &Network, stack: S, settings: [Settings; 2]) -> EarlyCache
where
    S: Describe + Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = String>>,
{
    let [at_client, at_server] = settings;
    let cache = EarlyCache::new();
    serve(network, stack, at_server).await;
    let first = connect(network, &cache, at_client).await.unwrap();
    assert!(matches!(first.explain().zero_rtt(), Some(ZeroRtt::NotTried(_))));
    assert_eq!(cache.len(), 1);
    first.close().await.unwrap();
    // Until the server has seen it.
    pause(network, Duration::from_millis(1)).await;
    network.restart(SERVER);
    cache
}

pub(crate) fn defaults() -> [Settings; 2] {
    [Settings::default(), Settings::default()]
}

pub(crate) async fn say(connection: &impl Connection<Data = String>, messages: &[&str]) {
    for message in messages {
        connection.send((*message).to_owned()).await.unwrap();
    }
}

pub(crate) async fn hear(connection: &impl Connection<Data = String>, messages: &[&str]) {
    for message in messages {
        assert_eq!(connection.recv().await.unwrap(), *message);
    }
}

pub(crate) async fn pause(network: &Network, time: Duration) {
    let runtime = network.runtime();
    runtime.sleep_until(runtime.now() + time).await;
}

pub(crate) fn heard(history: &History) -> Vec<Vec<String>> {
    history.lock().unwrap().clone()
}
