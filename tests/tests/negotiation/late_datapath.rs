//! Clients whose datapath takes longer than connecting may take.

use crate::scene::{A, client, server, server_addr, simulate};
use bertha_chunnels::Serialize;
use bertha_core::{Addr, Datapath, Error, ErrorKind, Runtime, make_stack};
use bertha_datapath_sim::{SimConnection, SimDatapath, SimListener, SimRuntime};
use bertha_negotiation::{EarlyCache, Negotiate, Settings};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(1);

/// A datapath that connects after a time.
#[derive(Clone)]
struct Late(SimDatapath, Duration);

impl Datapath for Late {
    type Connection = SimConnection;
    type Listener = SimListener;

    async fn connect(&self, to: Addr) -> Result<SimConnection, Error> {
        if let Some(runtime) = self.0.runtime() {
            runtime.sleep_until(runtime.now() + self.1).await;
        }
        self.0.connect(to).await
    }

    async fn listen(&self, on: Addr) -> Result<SimListener, Error> {
        self.0.listen(on).await
    }

    fn runtime(&self) -> Option<SimRuntime> {
        self.0.runtime()
    }
}

fn hurried() -> Settings {
    Settings::default().handshake_timeout(LIMIT)
}

/// Returns the error of a call, and the time that it took.
async fn failed<T>(
    runtime: &SimRuntime,
    call: impl IntoFuture<Output = Result<T, Error>>,
) -> (Error, Duration) {
    let start = runtime.now();
    let error = call.await.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    (error, runtime.now() - start)
}

#[test]
fn a_datapath_that_does_not_connect_is_given_up_in_time() {
    simulate(1, async |network| {
        let runtime = network.runtime().clone();
        let late = || Late(client(&network), Duration::from_secs(3600));
        let (error, took) = failed(&runtime, A.connect(late(), server_addr()).settings(hurried())).await;
        assert_eq!(took, LIMIT);
        assert!(error.to_string().contains("10.0.0.2:4242 did not take the connection within 1s"), "{error}");

        let stack = make_stack!(Serialize::<u64>::new());
        let early = stack.connect(late(), server_addr()).early(&EarlyCache::new()).settings(hurried());
        let (error, took) = failed(&runtime, early).await;
        assert_eq!(took, LIMIT);
        assert!(error.to_string().contains("did not take the connection within 1s"), "{error}");
    });
}

/// Nobody answers the offer, and the datapath has used up most of the time.
#[test]
fn the_datapath_and_the_answer_have_one_limit() {
    simulate(1, async |network| {
        let runtime = network.runtime().clone();
        let late = Late(client(&network), Duration::from_millis(700));
        let _silent = server(&network).listen(server_addr()).await.unwrap();
        let (_, took) = failed(&runtime, A.connect(late, server_addr()).settings(hurried())).await;
        assert_eq!(took, LIMIT);
    });
}
