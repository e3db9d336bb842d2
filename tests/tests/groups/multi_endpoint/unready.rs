//! A stack that does not get ready: a proposed stack, and a stack that the other participants agreed on while
//! they took this participant for gone.

use crate::multi_endpoint::counting::Counting;
use crate::multi_endpoint::crowd::Crowd;
use crate::multi_endpoint::seeds::with_seeds;
use bertha_chunnels::Nothing;
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, make_stack, select,
};
use bertha_negotiation::Pick;
use bertha_negotiation::rendezvous::{Name, Rendezvous};
use futures_util::future::{Either, pending, select as first_of};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A Chunnel that does not get ready while the flag is true.
#[derive(Debug, Clone, Default, Identity)]
struct Stuck(Arc<AtomicBool>);

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Stuck {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        match self.0.load(Ordering::Relaxed) {
            true => pending().await,
            false => Ok(inner),
        }
    }
}

fn message() -> Buf {
    Buf::copy_of(b"still here", 40).unwrap()
}

#[test]
fn a_stack_that_does_not_get_ready_is_refused_and_ends_nothing() {
    for is_proposer_stuck in [true, false] {
        with_seeds(10, async |crowd: &Crowd, _| {
            let mut settings = crowd.settings.clone();
            settings.staging_timeout = Duration::from_secs(15);
            let crowd = &Crowd { settings, ..crowd.clone() };
            let (stuck, well) = (Stuck::default(), Stuck::default());
            let [at_one, at_two] =
                if is_proposer_stuck { [&stuck, &well] } else { [&well, &stuck] }.map(Clone::clone);
            let one = crowd.join(1, make_stack!(select!(Nothing, at_one))).await.unwrap();
            let two = crowd.join(2, make_stack!(select!(Nothing, at_two))).await.unwrap();
            stuck.0.store(true, Ordering::Relaxed);
            let error = one.upgrade(Pick::alternative(1)).await.unwrap_err();
            assert!(error.to_string().contains("did not get ready in time"), "{error}");
            one.send(message()).await.unwrap();
            two.send(message()).await.unwrap();
            assert_eq!(
                (&*one.recv().await.unwrap(), &*two.recv().await.unwrap()),
                (&message()[..], &message()[..])
            );
            stuck.0.store(false, Ordering::Relaxed);
            one.upgrade(Pick::alternative(1)).await.unwrap();
        });
    }
}

/// The participant hears why its connection has ended, and the other participants go on without it.
#[test]
fn who_can_not_run_what_is_in_force_holds_up_no_change() {
    with_seeds(10, async |crowd: &Crowd, _| {
        let (stuck, way) = (Stuck::default(), Counting::new(Arc::new(crowd.store.clone())));
        let cut = way.cut.clone();
        let one = crowd.join(1, make_stack!(select!(Nothing, Stuck::default()))).await.unwrap();
        let stack = make_stack!(select!(Nothing, stuck.clone()));
        let name = Name::new("crowd").unwrap();
        let two = stack.rendezvous(crowd.group(2), way, name).settings(crowd.settings.clone()).await.unwrap();
        crowd.pause(Duration::from_secs(1)).await;
        cut.store(true, Ordering::Relaxed);
        stuck.0.store(true, Ordering::Relaxed);
        let asking = async {
            one.upgrade(Pick::alternative(1)).await.unwrap();
            cut.store(false, Ordering::Relaxed);
            crowd.pause(Duration::from_secs(10)).await;
            one.upgrade(Pick::alternative(0)).await.unwrap();
        };
        let receiving = async {
            let error = two.recv().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            assert!(error.to_string().contains("did not get ready in time"), "{error}");
            one.recv().await
        };
        let (asking, receiving) = (pin!(asking), pin!(receiving));
        assert!(matches!(first_of(asking, receiving).await, Either::Left(_)), "nobody sends");
        assert!(two.recv().await.is_err());
        assert_eq!(one.participants().len(), 1);
    });
}
