//! Strangers that take descriptors and places, and honest clients beside them.

use crate::alone;
use crate::child::Child;
use crate::herd::{Certificate, many};
use crate::strangers::{Agrees, Kept, Stranger, be_served};
use bertha_chunnels::Nothing;
use bertha_core::{Buf, Connection, Error, ErrorKind, make_stack};
use bertha_datapath_kernel::Tcp;
use bertha_negotiation::{Negotiate, Runs};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, interval, sleep};

/// The usual limit of descriptors.
const FEW: usize = 1024;

/// Maximum number of strangers that are kept at once, so that this process has descriptors left.
const KEPT: usize = 4000;

/// The way in which strangers come.
#[derive(Clone, Copy)]
struct Flood {
    per_second: u32,
    /// Number of networks from which strangers come. One of them is the network of the honest clients.
    networks: u32,
    lasts: Duration,
}

/// Has strangers come, and keeps up to [`KEPT`] of them.
async fn flood(child: &Child, stranger: Stranger, flood: Flood) {
    let (keep, mut kept) = mpsc::channel::<Option<Kept>>(KEPT);
    let server = child.addr;
    let coming = tokio::spawn(async move {
        let begin = Instant::now();
        let mut ticks = interval(Duration::from_millis(2));
        let mut came = 0_u32;
        while begin.elapsed() < flood.lasts {
            ticks.tick().await;
            while f64::from(came) < begin.elapsed().as_secs_f64() * f64::from(flood.per_second) {
                let (stranger, keep) = (stranger.clone(), keep.clone());
                let network = (came % flood.networks) as u8;
                tokio::spawn(async move {
                    let came = stranger.come(server, network).await;
                    let _ = keep.send(came).await;
                });
                came += 1;
            }
        }
    });
    let mut held = VecDeque::new();
    while let Some(came) = kept.recv().await {
        held.extend(came);
        if held.len() > KEPT {
            held.pop_front();
        }
    }
    coming.await.unwrap();
}

/// The outcomes of the honest clients.
struct Honest {
    served: usize,
    all: usize,
    /// The errors of the other clients.
    told: Vec<String>,
}

/// Has 50 honest clients come each second until `flood` is over.
async fn honest<S>(child: &Child, stack: S, flood: impl Future<Output = ()>) -> Honest
where
    S: Negotiate + Clone + 'static,
    Tcp: Runs<S, Out: Connection<Data = Buf>>,
{
    let server = child.addr;
    let mut clients = tokio::task::JoinSet::new();
    let coming = async {
        loop {
            let stack = stack.clone();
            clients.spawn(async move {
                let connection = be_served(&stack, server).await?;
                // The client was served, even if its close fails.
                let _ = connection.close().await;
                Ok::<_, Error>(())
            });
            sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = coming => {}
        () = flood => {}
    }
    let outcomes = clients.join_all().await;
    let told =
        Vec::from_iter(outcomes.iter().filter_map(|outcome| Some(outcome.as_ref().err()?.to_string())));
    Honest { served: outcomes.len() - told.len(), all: outcomes.len(), told }
}

fn check(what: &str, child: &mut Child, Honest { served, all, told }: Honest) {
    let (account, descriptors) = (child.account(), child.descriptors());
    assert!(
        all >= 50 && served * 100 >= all * 99,
        "{what}: {served} of {all} were served, others were told {told:?}; {account}; {descriptors} descriptors"
    );
}

const FLOODS: [Flood; 3] = [
    Flood { per_second: 300, networks: 1, lasts: Duration::from_secs(3) },
    Flood { per_second: 1500, networks: 4, lasts: Duration::from_secs(3) },
    Flood { per_second: 1500, networks: 200, lasts: Duration::from_secs(3) },
];

#[tokio::test(flavor = "multi_thread")]
async fn silent_streams_do_not_use_up_few_descriptors() {
    let _alone = alone().await;
    for stranger in [Stranger::Silent, Stranger::HalfOffer] {
        for shape in FLOODS {
            let mut child = Child::start(FEW, &["plain"]);
            let result = honest(&child, make_stack!(Nothing), flood(&child, stranger.clone(), shape)).await;
            check("silent", &mut child, result);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn half_handshakes_of_tls_keep_nobody_out() {
    let _alone = alone().await;
    let certificate = Certificate::new();
    let stack = make_stack!(certificate.client());
    let stranger = Stranger::HalfHello(Agrees::to(&stack));
    for (descriptors, shape) in [(FEW, FLOODS[0]), (FEW, FLOODS[1]), (many(), FLOODS[1])] {
        let mut child = certificate.start(descriptors);
        let result = honest(&child, stack.clone(), flood(&child, stranger.clone(), shape)).await;
        check("half a hello", &mut child, result);
    }
}

/// The application has most of the descriptors, so the descriptors run out before the places do.
#[tokio::test(flavor = "multi_thread")]
async fn strangers_give_their_descriptors_up_when_none_is_left() {
    let _alone = alone().await;
    for stranger in [Stranger::Silent, Stranger::HalfOffer] {
        let mut child = Child::start(FEW, &["hoarding", "900"]);
        let result = honest(&child, make_stack!(Nothing), flood(&child, stranger, FLOODS[2])).await;
        let account = child.account();
        assert!(!account.contains("exhausted: 0"), "{account}");
        check("no descriptor left", &mut child, result);
    }
}

/// Idle connections leave descriptors for further clients, which hear that there is no room, and are served
/// once there is room.
#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_leave_descriptors() {
    let _alone = alone().await;
    let mut child = Child::start(128, &["plain"]);
    let mut kept = Vec::new();
    let refused = loop {
        match be_served(&make_stack!(Nothing), child.addr).await {
            Ok(connection) => kept.push(connection),
            Err(error) => break error,
        }
    };
    assert_eq!(refused.kind(), ErrorKind::Exhausted, "{refused}");
    assert!(kept.len() <= 96, "{} descriptors: {}", child.descriptors(), child.account());
    kept.truncate(50);
    let result = honest(&child, make_stack!(Nothing), sleep(Duration::from_secs(2))).await;
    check("idle", &mut child, result);
}

/// A client that has made no offer gets no memory for a large message.
#[tokio::test]
async fn a_first_message_is_short() {
    use std::io::Write;
    let mut incoming = make_stack!(Nothing).listen(Tcp::new(), ([127, 0, 0, 1], 0)).await.unwrap();
    let mut stream = std::net::TcpStream::connect(incoming.local_addr().ip("test").unwrap()).unwrap();
    stream.write_all(&(1_u32 << 20).to_be_bytes()).unwrap();
    let error = incoming.next_or_refusal().await.unwrap().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
}
