//! Faulty Chunnels.

use bertha_conformance::{Bufs, Recorder, withdraws_security};
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Error, Identity, Wrap, forward, make_stack,
};
use bertha_datapath_sim::{PairConnection, SimRuntime, pair};
use std::sync::Arc;

/// The call that a Chunnel does not pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Sound,
    GoesAround,
    KeepsDrain,
    SplitsBursts,
    ReceivesOneByOne,
    KeepsClose,
}

use Fault::*;

/// A connection that goes around the layers below.
type Around = Arc<PairConnection<SimRuntime, Buf>>;

/// A Chunnel that passes on all calls but one kind.
#[derive(Debug, Clone, Identity)]
struct Faulty {
    fault: Fault,
    around: Around,
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Faulty {
    type Connection = FaultyConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(FaultyConnection { inner, fault: self.fault, around: self.around.clone() })
    }
}

struct FaultyConnection<Inner> {
    inner: Inner,
    fault: Fault,
    around: Around,
}

impl<Inner: Carries<Buf, Faulty>> Connection for FaultyConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu);

    async fn send(&self, message: Buf) -> Result<(), Error> {
        if self.fault == GoesAround {
            self.around.send(message).await
        } else {
            self.inner.send(message).await
        }
    }

    async fn recv(&self) -> Result<Buf, Error> {
        if self.fault == GoesAround { self.around.recv().await } else { self.inner.recv().await }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        if self.fault == SplitsBursts {
            for message in messages {
                self.inner.send(message).await?;
            }
            return Ok(());
        }
        self.inner.send_batch(messages).await
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if self.fault == ReceivesOneByOne && limit > 0 {
            into.extend([self.inner.recv().await?]);
            return Ok(1);
        }
        self.inner.recv_batch(into, limit).await
    }

    async fn drain(&self) -> Result<(), Error> {
        if self.fault == KeepsDrain { Ok(()) } else { self.inner.drain().await }
    }

    async fn close(&self) -> Result<(), Error> {
        if self.fault == KeepsClose { Ok(()) } else { self.inner.close().await }
    }
}

/// Returns both ends of a connection with this fault at each end, and the layers that record the calls that
/// reach them.
async fn connected(
    runtime: &SimRuntime,
    fault: Fault,
    [below_a, below_b]: [Recorder; 2],
) -> (impl Connection<Data = Buf>, impl Connection<Data = Buf>) {
    let (a, b) = pair(runtime.clone());
    let (around_a, around_b) = pair(runtime.clone());
    let faulty = |around| Faulty { fault, around: Arc::new(around) };
    let a = make_stack!(faulty(around_a), below_a).wrap(a).await.unwrap();
    let b = make_stack!(faulty(around_b), below_b).wrap(b).await.unwrap();
    (a, b)
}

macro_rules! run {
    ($sim:ident, $fault:ident, $check:path) => {{
        let runtime = $sim.runtime();
        $sim.run(async {
            let [below_a, below_b] = [Recorder::new(), Recorder::new()];
            let (a, b) = connected(&runtime, $fault, [below_a.clone(), below_b.clone()]).await;
            $check(&a, &b, [&below_a, &below_b], &Bufs).await
        })
    }};
}

crate::catches::catches! { run:
    messages_go_through_the_layer_below: GoesAround "went around";
    a_drain_reaches_the_layer_below: KeepsDrain "drain did not reach";
    a_burst_reaches_the_layer_below: SplitsBursts "sent alone";
    a_burst_is_received_from_the_layer_below: ReceivesOneByOne "received alone";
    a_close_reaches_the_layer_below: KeepsClose "close did not reach";
}

/// The whole suite notices each of these faults too.
#[test]
fn the_suite_of_chunnels_notices_each() {
    let check = |fault| {
        crate::catches::complaint(|sim| {
            let runtime = sim.runtime();
            let connect = async |recorders| connected(&runtime, fault, recorders).await;
            sim.run(bertha_conformance::chunnel(connect, &Bufs));
        })
    };
    assert_eq!(check(Sound), None);
    for fault in [GoesAround, KeepsDrain, SplitsBursts, ReceivesOneByOne, KeepsClose] {
        assert!(check(fault).is_some(), "does not notice {fault:?}");
    }
}

#[derive(Identity)]
#[chunnel(guarantees(Authenticated), withdraws(Encrypted, ForwardSecret, PeerIdentified))]
struct Honest;

#[derive(Identity)]
#[chunnel(withdraws(Encrypted, ForwardSecret))]
struct Careless;

#[test]
fn a_chunnel_that_goes_around_has_to_withdraw_what_it_does_not_give() {
    withdraws_security(&Honest);
    let said = crate::catches::complaint(|_| withdraws_security(&Careless)).unwrap();
    assert!(said.ends_with("does not withdraw authenticated, peer-identified"), "{said}");
}
