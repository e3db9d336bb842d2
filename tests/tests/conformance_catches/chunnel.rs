//! Faulty Chunnels.

use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Connection, Error, Identity, Wrap, make_stack};
use bertha_datapath_sim::{SimRuntime, pair};
use bertha_tests::conformance::{Bufs, Recorder};

/// Which call a Chunnel does not pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Sound,
    KeepsDrain,
    SplitsBursts,
    ReceivesOneByOne,
    KeepsClose,
}

use Fault::*;

/// A Chunnel that passes on all calls but one kind.
#[derive(Debug, Clone, Copy, Identity)]
struct Faulty(Fault);

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Faulty {
    type Connection = FaultyConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(FaultyConnection { inner, fault: self.0 })
    }
}

struct FaultyConnection<Inner> {
    inner: Inner,
    fault: Fault,
}

impl<Inner: Carries<Buf, Faulty>> Connection for FaultyConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Self::Base {
        self.inner.base()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.inner.send(message).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        self.inner.recv().await
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

/// Both ends of a connection with this fault at each end, and the layers that record what reaches them.
async fn connected(
    runtime: &SimRuntime,
    fault: Fault,
    [below_a, below_b]: [Recorder; 2],
) -> (impl Connection<Data = Buf>, impl Connection<Data = Buf>) {
    let (a, b) = pair(runtime.clone());
    let a = make_stack!(Faulty(fault), below_a).wrap(a).await.unwrap();
    let b = make_stack!(Faulty(fault), below_b).wrap(b).await.unwrap();
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

crate::catches! { run:
    a_drain_reaches_the_layer_below: KeepsDrain "drain did not reach";
    a_burst_reaches_the_layer_below: SplitsBursts "sent alone";
    a_burst_is_received_from_the_layer_below: ReceivesOneByOne "received alone";
    a_close_reaches_the_layer_below: KeepsClose "close did not reach";
}

/// The whole suite notices each of them too.
#[test]
fn the_suite_of_chunnels_notices_each() {
    let check = |fault| {
        crate::complaint(|sim| {
            let runtime = sim.runtime();
            let connect = async |recorders| connected(&runtime, fault, recorders).await;
            sim.run(bertha_tests::conformance::chunnel(connect, &Bufs));
        })
    };
    assert_eq!(check(Sound), None);
    for fault in [KeepsDrain, SplitsBursts, ReceivesOneByOne, KeepsClose] {
        assert!(check(fault).is_some(), "does not notice {fault:?}");
    }
}
