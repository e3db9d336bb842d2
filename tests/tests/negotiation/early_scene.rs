//! Servers and clients that connect early, which the tests of early messages share.

use crate::scene::{A, B, SERVER, client, server, server_addr};
use bertha_chunnels::Serialize;
use bertha_core::{Connection, Describe, Error, Runtime, make_stack, select};
use bertha_datapath_sim::{Network, SimDatapath};
use bertha_negotiation::{Early, EarlyCache, Incoming, Negotiate, Runs, Settings, ZeroRtt};
use futures_util::future::select as first_of;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Returns the settings of an end that takes early data, changed by `change`.
pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::default();
    settings.early_data = true;
    change(&mut settings);
    settings
}

/// The messages that a server received: one list for each connection, in the order in which the connections
/// were accepted.
pub(crate) type History = Arc<Mutex<Vec<Vec<String>>>>;

/// Runs a server that records its messages, and sends them back.
pub(crate) fn record<S>(network: &Network, mut incoming: Incoming<S, SimDatapath>) -> History
where
    S: Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = String>>,
{
    let history = History::default();
    let (runtime, recorded) = (network.runtime().clone(), history.clone());
    let tasks = runtime.clone();
    std::mem::forget(runtime.spawn(async move {
        while let Some(connection) = incoming.next().await {
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

/// Makes a stack of strings over `$bottom`.
macro_rules! over {
    ($bottom:expr) => {
        make_stack!(Serialize::<String>::new(), $bottom)
    };
}
pub(crate) use over;

/// Connects a client that knows both stacks.
pub(crate) async fn connect(
    network: &Network,
    cache: &EarlyCache,
    settings: Settings,
) -> Result<Early<impl Connection<Data = String>>, Error> {
    over!(select!(A, B)).connect(client(network), server_addr()).early(cache).settings(settings).await
}

/// Makes a cache that knows the agreement of this server, by a connection that has ended.
pub(crate) async fn learn_at<S, D>(
    network: &Network,
    incoming: &mut Incoming<S, D>,
    settings: Settings,
) -> EarlyCache
where
    S: Send + Sync + 'static,
    D: Runs<S, Out: Connection<Data = String>>,
{
    let cache = EarlyCache::new();
    let serving = async {
        while let Some(served) = incoming.next_or_refusal().await {
            let served = served.unwrap();
            while served.recv().await.is_ok() {}
        }
    };
    let asking = async {
        let first = connect(network, &cache, settings).await.unwrap();
        assert!(matches!(first.explain().zero_rtt(), Some(ZeroRtt::NotTried(_))));
        first.close().await.unwrap();
        // By then the server has seen the close, and its answer has reached the client.
        pause(network, Duration::from_millis(1)).await;
    };
    first_of(pin!(asking), pin!(serving)).await;
    cache
}

/// Runs a server that records its messages and sends them back, and makes a cache that knows the server's
/// agreement.
pub(crate) async fn known<S>(network: &Network, stack: S, settings: [Settings; 2]) -> (EarlyCache, History)
where
    S: Describe + Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = String>>,
{
    let [at_client, at_server] = settings;
    let listening = stack.listen(server(network), server_addr()).settings(at_server);
    let mut incoming = listening.await.unwrap();
    let cache = learn_at(network, &mut incoming, at_client).await;
    (cache, record(network, incoming))
}

/// Makes a cache that knows the agreement of a server with this stack. The server is gone then, and its
/// tickets with it.
pub(crate) async fn learn<S>(network: &Network, stack: S, settings: [Settings; 2]) -> EarlyCache
where
    S: Describe + Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = String>>,
{
    let [at_client, at_server] = settings;
    let listening = stack.listen(server(network), server_addr()).settings(at_server);
    let cache = learn_at(network, &mut listening.await.unwrap(), at_client).await;
    network.restart(SERVER);
    cache
}

/// Returns the settings of an end that takes early data.
pub(crate) fn open() -> Settings {
    with(|_| ())
}

pub(crate) fn defaults() -> [Settings; 2] {
    [open(), open()]
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
